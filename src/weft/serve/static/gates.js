// Gates of a recurrent model, and the gradient flow through time.

import { displayToken, element, svg } from "./dom.js";
import { heatmap } from "./heatmap.js";
import { weightLegend } from "./legend.js";

export const title = "Gates";

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [640, 210, 56, 30];

export async function render(system) {
  const { gates, gradients } = await system.inspect("gates", { gradients: true });
  const sides = [...new Set([...gates, ...gradients].map(({ module }) => module.split(".")[0]))];
  return sides.flatMap((side) => [
    ...gateTable(side, gates.filter(({ module }) => module.startsWith(side))),
    ...gradientChart(side, gradients.filter(({ module }) => module.startsWith(side))),
  ]);
}

function gateTable(side, gates) {
  if (!gates.length) return [];
  const rows = gates.map(({ module, name }) => `${module.split(".").slice(1).join(" ")} ${name}`.trim());
  return [element("h3", {}, `Gates of the ${side}: 0 is closed, 1 is open`), weightLegend("activation"), heatmap(`Gates of the ${side}`, rows, gates[0].labels, gates.map(({ activations }) => activations))];
}

function gradientChart(side, flows) {
  const lines = flows.flatMap((flow) => [
    { name: `${flow.module} h`, values: flow.hidden_state },
    ...(flow.cell_state ? [{ name: `${flow.module} c`, values: flow.cell_state }] : []),
  ]);
  const powers = lines.flatMap(({ values }) => values.filter((value) => value > 0).map(Math.log10));
  if (!powers.length) return [];
  const [low, high] = [Math.floor(Math.min(...powers)), Math.ceil(Math.max(...powers, Math.min(...powers) + 0.1))];
  const x = (index) => LEFT + ((index + 0.5) * (WIDTH - LEFT)) / flows[0].labels.length;
  const y = (power) => 8 + ((high - power) * (HEIGHT - BOTTOM - 8)) / (high - low);
  const step = Math.ceil((high - low) / 6);
  const ticks = Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, n) => low + n * step);
  const chart = svg("svg", { class: "curves", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, role: "img", "aria-label": describe(side, flows) });
  chart.append(
    ...ticks.flatMap((power) => [svg("line", { x1: LEFT, x2: WIDTH, y1: y(power), y2: y(power) }), svg("text", { x: LEFT - 6, y: y(power) + 4, "text-anchor": "end" }, `10^${power}`)]),
    ...flows[0].labels.map((name, index) => svg("text", { x: x(index), y: HEIGHT - 8, "text-anchor": "middle" }, displayToken(name))),
    ...lines.map(({ values }, n) => svg("polyline", { class: lineClass(n), points: values.map((value, index) => (value > 0 ? `${x(index)},${y(Math.log10(value))}` : "")).join(" ") })),
  );
  const legend = lines.map(({ name }, n) => element("li", {}, svg("svg", { width: 18, height: 10, "aria-hidden": "true" }, svg("line", { class: lineClass(n), x1: 0, x2: 18, y1: 5, y2: 5, "stroke-width": 3 })), name));
  return [element("h3", {}, `Gradient flow from the last step back to each token (${side})`), element("ul", { class: "legend" }, ...legend), chart];
}

// Six colors; further lines repeat them with dashes.
const lineClass = (n) => `c${n % 6}${n >= 6 ? " dashes" : ""}`;

function describe(side, flows) {
  const parts = flows.map(({ module, hidden_state }) => `${module}: ${hidden_state.map((value) => value?.toPrecision(2)).join(", ")}`);
  return `Gradient flow of the ${side}: the largest singular value of the Jacobian at each token. ${parts.join(". ")}`;
}

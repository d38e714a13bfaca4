// The gates of a recurrent model, and how much of a gradient goes back through time.

import { draw, make, shown } from "./dom.js";
import { heat } from "./heat.js";

export const title = "Gates";

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [640, 210, 56, 30];

export async function see(system) {
  const { gates, gradients } = await system.see("gates", { gradients: true });
  const sides = [...new Set([...gates, ...gradients].map((one) => one.place.split(".")[0]))];
  return sides.flatMap((side) => [
    ...gateTable(side, gates.filter((one) => one.place.startsWith(side))),
    ...curves(side, gradients.filter((one) => one.place.startsWith(side))),
  ]);
}

function gateTable(side, gates) {
  if (!gates.length) return [];
  const rows = gates.map((one) => `${one.place.split(".").slice(1).join(" ")} ${one.name}`.trim());
  return [make("h3", {}, `How far the gates of the ${side} are open`), heat(`Gates of the ${side}`, rows, gates[0].labels, gates.map((one) => one.open))];
}

function curves(side, flows) {
  const lines = flows.flatMap((flow) => [
    { name: `${flow.place} h`, values: flow.hidden },
    ...(flow.cell ? [{ name: `${flow.place} c`, values: flow.cell }] : []),
  ]);
  const powers = lines.flatMap(({ values }) => values.filter((value) => value > 0).map(Math.log10));
  if (!powers.length) return [];
  const [low, high] = [Math.floor(Math.min(...powers)), Math.ceil(Math.max(...powers, Math.min(...powers) + 0.1))];
  const x = (place) => LEFT + ((place + 0.5) * (WIDTH - LEFT)) / flows[0].labels.length;
  const y = (power) => 8 + ((high - power) * (HEIGHT - BOTTOM - 8)) / (high - low);
  const step = Math.ceil((high - low) / 6);
  const levels = Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, n) => low + n * step);
  const picture = draw("svg", { class: "curves", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, role: "img", "aria-label": told(side, flows) });
  picture.append(
    ...levels.flatMap((power) => [draw("line", { x1: LEFT, x2: WIDTH, y1: y(power), y2: y(power) }), draw("text", { x: LEFT - 6, y: y(power) + 4, "text-anchor": "end" }, `10^${power}`)]),
    ...flows[0].labels.map((name, place) => draw("text", { x: x(place), y: HEIGHT - 8, "text-anchor": "middle" }, shown(name))),
    ...lines.map(({ values }, n) => draw("polyline", { class: `c${n % 6}`, points: values.map((value, place) => (value > 0 ? `${x(place)},${y(Math.log10(value))}` : "")).join(" ") })),
  );
  const names = lines.map(({ name }, n) => make("li", {}, draw("svg", { width: 18, height: 10, "aria-hidden": "true" }, draw("line", { class: `c${n % 6}`, x1: 0, x2: 18, y1: 5, y2: 5, "stroke-width": 3 })), name));
  return [make("h3", {}, `How much of a gradient comes back to each piece (${side})`), make("ul", { class: "legend" }, ...names), picture];
}

function told(side, flows) {
  const parts = flows.map((one) => `${one.place}: ${one.hidden.map((value) => value?.toPrecision(2)).join(", ")}`);
  return `Gradients of the ${side}, the largest singular value at each piece. ${parts.join(". ")}`;
}

// Attention between the words of both sides: any layer and head.

import { element, select } from "./dom.js";
import { heatmap } from "./heatmap.js";
import { weightLegend } from "./legend.js";
import { state } from "./state.js";

export const title = "Attention";

export async function render(system, onChange) {
  const { source, target, layers, remarks } = system.attention;
  const weights = selectWeights(system.attention);
  const hasChoice = layers.length > 1 || layers.some((heads) => heads.length > 1);
  const table = heatmap(`Attention of ${system.name()}: rows are words of the translation, columns of the sentence`, target, source, weights);
  system.rows = [...table.querySelectorAll("tbody tr")];
  system.rows.slice(0, -1).forEach((row, index) => {
    row.addEventListener("mouseenter", () => system.highlight(index));
    row.addEventListener("mouseleave", () => system.highlight(null));
  });
  return [...(hasChoice ? [headSelector(layers, onChange)] : []), ...remarks.map((remark) => element("p", { class: "note" }, remark)), weightLegend("attention"), table];
}

// The weights to show: of a head, the mean of a layer, or those that the decoder returns.
export function selectWeights({ weights, layers }) {
  const layer = layers[Number(state.layer) - 1];
  if (!layer) return weights;
  return layer[Number(state.head) - 1] ?? mean(layer);
}

function mean(heads) {
  return heads[0].map((row, r) => row.map((_, c) => heads.reduce((sum, head) => sum + head[r][c], 0) / heads.length));
}

export function highlight(system, index) {
  system.rows?.forEach((row, n) => row.classList.toggle("highlighted", n === index));
}

function headSelector(layers, onChange) {
  const heads = layers[Number(state.layer) - 1];
  const numbered = (items, word) => items.map((_, n) => [String(n + 1), `${word} ${n + 1}`]);
  const set = (values) => {
    Object.assign(state, values);
    onChange();
  };
  const layer = select("Layer", [["", "decoder output"], ...numbered(layers, "layer")], state.layer, (value) => set({ layer: value, head: "" }));
  const head = select("Head", [["", "mean of all"], ...numbered(heads ?? [], "head")], state.head, (value) => set({ head: value }));
  head.querySelector("select").disabled = !heads;
  return element("div", { class: "fields" }, layer, head);
}

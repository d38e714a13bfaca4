// Attention between the words of both sides: any layer and head.

import { element } from "./dom.js";
import { heatmap } from "./heatmap.js";
import { state } from "./state.js";
import { select } from "./system.js";
import { selectWeights } from "./weights.js";

export const title = "Attention";

export async function render(system, onChange) {
  if (!system.attention) return [element("p", { class: "note" }, system.attentionError ?? "Nothing to show yet.")];
  const { source, target, layers, remarks } = system.attention;
  const weights = selectWeights(system.attention);
  const hasChoice = layers.length > 1 || layers.some((heads) => heads.length > 1);
  const table = heatmap(`Attention of ${system.name()}: rows are words of the translation, columns of the sentence`, target, source, weights);
  system.rows = [...table.querySelectorAll("tbody tr")];
  system.rows.slice(0, -1).forEach((row, index) => {
    row.addEventListener("mouseenter", () => system.highlight(index));
    row.addEventListener("mouseleave", () => system.highlight(null));
  });
  return [...(hasChoice ? [headSelector(layers, onChange)] : []), ...remarks.map((remark) => element("p", { class: "note" }, remark)), table];
}

export function highlight(system, index) {
  system.rows?.forEach((row, n) => row.classList.toggle("highlighted", n === index));
}

function headSelector(layers, onChange) {
  const heads = layers[Number(state.layer) - 1];
  const numbered = (items, word) => items.map((_, n) => [String(n + 1), `${word} ${n + 1}`]);
  const set = (name, values) => {
    Object.assign(state, values);
    onChange(name);
  };
  const layer = select("Layer", [["", "decoder output"], ...numbered(layers, "layer")], state.layer, (value) => set("Layer", { layer: value, head: "" }));
  const head = select("Head", [["", "mean of all"], ...numbered(heads ?? [], "head")], state.head, (value) => set("Head", { head: value }));
  head.querySelector("select").disabled = !heads;
  return element("div", { class: "fields" }, layer, head);
}

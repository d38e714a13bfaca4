// The attention between the words: any layer and head.

import { make } from "./dom.js";
import { heat } from "./heat.js";
import { state } from "./state.js";
import { choice } from "./system.js";
import { weightsOf } from "./weights.js";

export const title = "Attention";

export async function see(system, again) {
  if (!system.attention) return [make("p", { class: "note" }, system.blind ?? "Nothing to see yet.")];
  const { source, target, layers, remarks } = system.attention;
  const weights = weightsOf(system.attention);
  const several = layers.length > 1 || layers.some((heads) => heads.length > 1);
  const table = heat(`Attention of ${system.name()}: rows are words of the translation, columns of the sentence`, target, source, weights);
  system.rows = [...table.querySelectorAll("tbody tr")];
  system.rows.slice(0, -1).forEach((row, place) => {
    row.addEventListener("mouseenter", () => system.light(place));
    row.addEventListener("mouseleave", () => system.light(null));
  });
  return [...(several ? [chooser(layers, again)] : []), ...remarks.map((one) => make("p", { class: "note" }, one)), table];
}

export function light(system, place) {
  system.rows?.forEach((row, n) => row.classList.toggle("lit", n === place));
}

function chooser(layers, again) {
  const heads = layers[Number(state.layer) - 1];
  const numbered = (many, word) => many.map((_, n) => [String(n + 1), `${word} ${n + 1}`]);
  const set = (name, some) => {
    Object.assign(state, some);
    again(name);
  };
  const layer = choice("Layer", [["", "as it is given out"], ...numbered(layers, "layer")], state.layer, (value) => set("Layer", { layer: value, head: "" }));
  const head = choice("Head", [["", "mean of all"], ...numbered(heads ?? [], "head")], state.head, (value) => set("Head", { head: value }));
  head.querySelector("select").disabled = !heads;
  return make("div", { class: "choices" }, layer, head);
}

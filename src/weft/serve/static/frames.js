// Class probabilities of each frame of a frame head, for example of CTC.

import { element } from "./dom.js";
import { heatmap } from "./heatmap.js";
import { weightLegend } from "./legend.js";

export const title = "Frames";

export async function render(system) {
  const { classes, best_path, probabilities, text } = await system.inspect("frames");
  return [element("p", { class: "note" }, `The most probable class of each frame is above its column; together they give “${text}”.`), weightLegend("probability"), heatmap("Frames: rows are classes", classes, best_path, probabilities)];
}

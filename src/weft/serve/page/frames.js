// What the frames of a lattice say, as CTC has them.

import { make } from "./dom.js";
import { heat } from "./heat.js";

export const title = "Frames";

export async function see(system) {
  const { classes, symbols, probabilities, text } = await system.see("frames");
  return [make("p", { class: "note" }, `The likeliest class of each frame stands above it; together they are read as “${text}”.`), heat("Frames: rows are classes", classes, symbols, probabilities)];
}

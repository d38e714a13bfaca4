// The vectors that tell where a piece stands: a row for each piece, a column for each dimension.

import { make } from "./dom.js";

export const title = "Positions";

export async function see(system) {
  const { sides } = await system.see("positions");
  return sides.flatMap(({ side, labels, vectors }) => [
    make("h3", {}, `Positions of the ${side}: ${labels.length} rows, ${vectors[0].length} dimensions`),
    painted(vectors, `Positional encodings of the ${side}: a row for each of ${labels.length} pieces, blue above and orange below zero`),
    make("p", { class: "note" }, "A row for each piece, the first above; blue is above zero, orange below."),
  ]);
}

function painted(vectors, label) {
  const [rows, columns] = [vectors.length, vectors[0].length];
  const largest = vectors.flat().reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
  const canvas = make("canvas", { width: columns, height: rows, role: "img", "aria-label": label });
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  vectors.flat().forEach((value, place) => {
    image.data.set([...(value > 0 ? [47, 120, 183] : [217, 96, 30]), (255 * Math.abs(value)) / largest], 4 * place);
  });
  context.putImageData(image, 0, 0);
  canvas.style.setProperty("width", `${Math.min(900, columns * 14)}px`);
  canvas.style.setProperty("height", `${rows * 16}px`);
  return canvas;
}

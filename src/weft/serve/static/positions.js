// Position embeddings: a row for each token, a column for each dimension.

import { element } from "./dom.js";

export const title = "Positions";

export async function render(system) {
  const { sides } = await system.inspect("positions");
  return sides.flatMap(({ side, labels, vectors }) => [
    element("h3", {}, `Positions of the ${side}: ${labels.length} rows, ${vectors[0].length} dimensions`),
    matrixImage(vectors, `Position embeddings of the ${side}: a row for each of ${labels.length} tokens, blue above and orange below zero`),
    element("p", { class: "note" }, "A row for each token, the first at the top; paler colors are closer to zero."),
    element("ul", { class: "legend" }, element("li", {}, element("span", { class: "swatch above" }), "above zero"), element("li", {}, element("span", { class: "swatch below" }), "below zero")),
  ]);
}

function matrixImage(vectors, label) {
  const [rows, columns] = [vectors.length, vectors[0].length];
  const largest = vectors.flat().reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
  const canvas = element("canvas", { width: columns, height: rows, role: "img", "aria-label": label });
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  vectors.flat().forEach((value, index) => {
    image.data.set([...(value > 0 ? [47, 120, 183] : [217, 96, 30] /* as .swatch in style.css */), (255 * Math.abs(value)) / largest], 4 * index);
  });
  context.putImageData(image, 0, 0);
  canvas.style.setProperty("width", `${Math.min(900, columns * 14)}px`);
  canvas.style.setProperty("height", `${rows * 16}px`);
  return canvas;
}

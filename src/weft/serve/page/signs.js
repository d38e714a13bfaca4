// Runs are told apart by colour and by sign: a full one ends a curve, a hollow one is a validation.

import { draw } from "./dom.js";

export const COLOURS = 6;
const SHAPES = [
  (r) => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`,
  (r) => `M0,${-1.25 * r}L${1.15 * r},${0.85 * r}H${-1.15 * r}Z`,
  (r) => `M${-0.9 * r},${-0.9 * r}H${0.9 * r}V${0.9 * r}H${-0.9 * r}Z`,
  (r) => `M0,${-1.3 * r}L${1.1 * r},0L0,${1.3 * r}L${-1.1 * r},0Z`,
  (r) => `M${-r},${-0.35 * r}H${-0.35 * r}V${-r}H${0.35 * r}V${-0.35 * r}H${r}V${0.35 * r}H${0.35 * r}V${r}H${-0.35 * r}V${0.35 * r}H${-r}Z`,
  (r) => `M0,${1.25 * r}L${1.15 * r},${-0.85 * r}H${-1.15 * r}Z`,
];

export function sign(run, x, y, { hollow = false, radius = 4.5 } = {}) {
  const shape = SHAPES[run % COLOURS](radius);
  return draw("path", { class: `r${run % COLOURS} ${hollow ? "hollow" : "full"}`, d: shape, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` });
}

// The same among words.
export function signInText(run, hollow = false) {
  return draw("svg", { class: "sign", viewBox: "-7 -7 14 14", width: 14, height: 14, "aria-hidden": "true" }, sign(run, 0, 0, { hollow }));
}

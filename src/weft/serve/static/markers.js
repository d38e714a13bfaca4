// Runs differ by color and by marker: a filled one ends a curve, a hollow one is a validation.

import { svg } from "./dom.js";

const SHAPES = [
  (r) => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`,
  (r) => `M0,${-1.25 * r}L${1.15 * r},${0.85 * r}H${-1.15 * r}Z`,
  (r) => `M${-0.9 * r},${-0.9 * r}H${0.9 * r}V${0.9 * r}H${-0.9 * r}Z`,
  (r) => `M0,${-1.3 * r}L${1.1 * r},0L0,${1.3 * r}L${-1.1 * r},0Z`,
  (r) => `M${-r},${-0.35 * r}H${-0.35 * r}V${-r}H${0.35 * r}V${-0.35 * r}H${r}V${0.35 * r}H${0.35 * r}V${r}H${-0.35 * r}V${0.35 * r}H${-r}Z`,
  (r) => `M0,${1.25 * r}L${1.15 * r},${-0.85 * r}H${-1.15 * r}Z`,
];

export const colorClass = (run) => `r${run % SHAPES.length}`;

export function marker(run, x, y, { hollow = false, radius = 4.5 } = {}) {
  const shape = SHAPES[run % SHAPES.length](radius);
  return svg("path", { class: `${colorClass(run)} ${hollow ? "hollow" : "filled"}`, d: shape, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` });
}

// A marker inside a line of text.
export function inlineMarker(run, hollow = false) {
  return svg("svg", { class: "marker", viewBox: "-7 -7 14 14", width: 14, height: 14, "aria-hidden": "true" }, marker(run, 0, 0, { hollow }));
}

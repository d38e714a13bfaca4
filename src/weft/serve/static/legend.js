// What the colors mean. The levels are those of inference/probability_scale.py: notebooks and the prompt have the same.

import { element, setVariable } from "./dom.js";

const LEVELS = [
  { name: "high", minimum: 0.75, description: "75 % and more" },
  { name: "medium", minimum: 0.5, description: "50 to 75 %" },
  { name: "low", minimum: 0, description: "below 50 %" },
];
const WEIGHTS = [0, 0.25, 0.5, 0.75, 1];

export function probabilityLevel(probability) {
  return (LEVELS.find(({ minimum }) => probability >= minimum) ?? LEVELS.at(-1)).name;
}

export function probabilityLegend() {
  const items = LEVELS.map(({ name, description }) => element("li", {}, element("span", { class: `probability ${name}` }, name), ` ${description}`));
  return element("ul", { class: "legend", "aria-label": "Probability of a word" }, element("li", { "aria-hidden": "true" }, "probability"), ...items);
}

// The scale of heat maps; what: the quantity.
export function weightLegend(what) {
  const swatches = WEIGHTS.map((weight) => element("li", {}, setVariable(element("span", { class: "swatch", "aria-hidden": "true" }), "--weight", weight), String(weight)));
  return element("ul", { class: "legend", "aria-label": `Colors: ${what}` }, element("li", { "aria-hidden": "true" }, what), ...swatches);
}

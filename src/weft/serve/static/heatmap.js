// Numbers from 0 to 1 as a table of colored cells, which a screen reader reads as a table.

import { displayToken, element, setVariable } from "./dom.js";

const LIGHT_TEXT_FROM = 0.6; // darker cells have light text

export function heatmap(caption, rows, columns, values) {
  const head = columns.map((name) => element("th", { scope: "col" }, element("span", {}, displayToken(name))));
  const body = values.map((row, index) => element("tr", {}, element("th", { scope: "row" }, displayToken(rows[index])), ...row.map(cell)));
  const table = element("table", { class: "heatmap" }, element("caption", { class: "visually-hidden" }, caption));
  table.append(element("thead", {}, element("tr", {}, element("td", { class: "visually-hidden" }), ...head)), element("tbody", {}, ...body));
  return element("div", { class: "scrollable", tabindex: "0", role: "region", "aria-label": caption }, table);
}

function cell(value) {
  const share = Math.min(1, Math.max(0, value));
  return setVariable(element("td", { class: share > LIGHT_TEXT_FROM ? "dark" : false }, value.toFixed(2).replace(/^0/u, "")), "--weight", share);
}

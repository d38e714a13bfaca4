// Numbers from 0 to 1 as a table of tinted squares, which a screen reader reads as a table.

import { make, shown, weigh } from "./dom.js";

const STRONG = 0.6; // from here on, what is written in a square is light

export function heat(caption, rows, columns, values, darkest = 1) {
  const head = columns.map((name) => make("th", { scope: "col" }, make("span", {}, shown(name))));
  const body = values.map((row, place) => make("tr", {}, make("th", { scope: "row" }, shown(rows[place])), ...row.map((value) => cell(value, darkest))));
  const table = make("table", { class: "heat" }, make("caption", { class: "unseen" }, caption));
  table.append(make("thead", {}, make("tr", {}, make("td", { class: "unseen" }), ...head)), make("tbody", {}, ...body));
  return make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption }, table);
}

function cell(value, darkest) {
  const share = Math.min(1, Math.max(0, value / darkest));
  return weigh(make("td", { class: share > STRONG ? "strong" : false }, value.toFixed(2).replace(/^0/u, "")), "--w", share);
}

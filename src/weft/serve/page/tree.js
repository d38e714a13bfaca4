// The search as a tree: a column for each step, the best above; what was kept, dropped and finished.

import { draw, make, shown } from "./dom.js";

export const title = "Search";

const ROW = 46;
const BOX = 36;
const GAP = 34;
const OUTCOMES = {
  output: "the output",
  extended: "went on",
  finished: "has finished: its score → what it was compared by",
  left: "was left when the search stopped",
  dropped: "was dropped",
};

export async function see(system) {
  const tree = await system.see("search");
  const told = make("p", { class: "told" }, "Point at a piece, or go to it with the arrow keys, to read the text up to it; Enter continues from there.");
  const nodes = tree.steps.map((step, column) => step.map((node, row) => ({ ...node, column, row })));
  const picture = pictureOf(system, nodes, told);
  return [legend(), make("div", { class: "wide", role: "region", "aria-label": `Search of ${system.name()}`, tabindex: "-1" }, picture), told];
}

function legend() {
  const key = (outcome) => draw("svg", { class: "tree", width: 18, height: 13, "aria-hidden": "true" }, draw("g", { class: outcome }, draw("rect", { x: 1, y: 1, width: 16, height: 11 })));
  const items = Object.entries(OUTCOMES).map(([outcome, words]) => {
    const box = key(outcome);
    box.style.setProperty("display", "inline");
    return make("li", {}, box, words);
  });
  return make("ul", { class: "legend" }, ...items);
}

function pictureOf(system, nodes, told) {
  const widths = nodes.map((step) => 22 + 8.2 * Math.max(7, ...step.map((one) => Math.max(shown(one.piece).length, 0.8 * numbers(one).length))));
  const lefts = widths.map((_, column) => widths.slice(0, column).reduce((sum, width) => sum + width + GAP, 4));
  const height = ROW * Math.max(...nodes.map((step) => step.length)) + 8;
  const width = lefts.at(-1) + widths.at(-1) + 4;
  const at = { widths, lefts, nodes };
  const lines = nodes.slice(1).flat().map((node) => edge(node, at));
  const groups = nodes.map((step) => step.map((node) => box(node, at, system)));
  wire(groups, nodes, told);
  const order = [...lines].sort((one, other) => one.matches(".output") - other.matches(".output"));
  return draw("svg", { class: "tree", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Tree of the search" }, ...order, ...groups.flat());
}

const numbers = (node) => (node.compared_by === null ? node.score.toFixed(2) : `${node.score.toFixed(2)} → ${node.compared_by.toFixed(3)}`);
const middle = (row) => row * ROW + ROW / 2;

function edge(node, { lefts }) {
  const end = lefts[node.column];
  const start = end - GAP;
  const [from, to] = [middle(node.parent), middle(node.row)];
  node.line = draw("path", { class: node.outcome, d: `M${start} ${from}C${start + GAP / 2} ${from} ${end - GAP / 2} ${to} ${end} ${to}` });
  return node.line;
}

function box(node, { lefts, widths }, system) {
  const [left, width, y] = [lefts[node.column], widths[node.column], middle(node.row)];
  const go = () => node.text.trim() && system.choose({ prefix: node.text });
  node.group = draw(
    "g",
    { class: node.outcome, role: "button", tabindex: -1, "aria-label": `${shown(node.piece)}, score ${node.score.toFixed(2)}, ${OUTCOMES[node.outcome].split(":")[0]}`, onclick: go },
    draw("rect", { x: left, y: y - BOX / 2, width, height: BOX }),
    draw("text", { x: left + width / 2, y: y - 2 }, shown(node.piece)),
    draw("text", { class: "numbers", x: left + width / 2, y: y + 12 }, numbers(node)),
  );
  node.go = go;
  return node.group;
}

// Left: what it extends; right: its best extension; up and down: the others of its step.
function wire(groups, nodes, told) {
  const path = (node) => (node.parent === null ? [node] : [...path(nodes[node.column - 1][node.parent]), node]);
  for (const node of nodes.flat()) {
    const show = () => {
      told.textContent = `${node.text || "(nothing)"}: score ${node.score.toFixed(2)}, ${OUTCOMES[node.outcome].split(":")[0]}`;
      nodes.flat().forEach((one) => one.line?.classList.remove("lit"));
      path(node).forEach((one) => one.line?.classList.add("lit"));
    };
    node.group.addEventListener("mouseenter", show);
    node.group.addEventListener("focus", () => {
      show();
      nodes.flat().forEach((one) => one.group.setAttribute("tabindex", one === node ? 0 : -1));
    });
    node.group.addEventListener("keydown", (event) => {
      const step = nodes[node.column];
      const goal = {
        ArrowLeft: () => nodes[node.column - 1]?.[node.parent],
        ArrowRight: () => nodes[node.column + 1]?.find((one) => one.parent === node.row),
        ArrowUp: () => step[node.row - 1],
        ArrowDown: () => step[node.row + 1],
      }[event.key];
      if (event.key === "Enter" || event.key === " ") node.go();
      else if (goal) goal()?.group.focus();
      else return;
      event.preventDefault();
    });
  }
  nodes[0]?.[0]?.group.setAttribute("tabindex", 0);
}

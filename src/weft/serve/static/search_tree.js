// The search as a tree: a column for each step, the best hypothesis at the top.

import { displayToken, element, svg } from "./dom.js";

export const title = "Search";

const ROW = 46;
const BOX = 36;
const GAP = 34;
const OUTCOMES = {
  output: "the output",
  extended: "extended",
  finished: "finished: log-probability → score for ranking",
  unfinished: "unfinished when the search stopped",
  dropped: "dropped",
};

export async function render(system) {
  const tree = await system.inspect("search");
  const info = element("p", { class: "info" }, "Point at a token, or move to it with the arrow keys, to read the text up to it; Enter continues from there.");
  const nodes = tree.steps.map((step, column) => step.map((node, row) => ({ ...node, column, row })));
  const picture = drawTree(system, nodes, info);
  return [legend(), element("div", { class: "scrollable", role: "region", "aria-label": `Search of ${system.name()}`, tabindex: "-1" }, picture), info];
}

function legend() {
  const items = Object.entries(OUTCOMES).map(([outcome, text]) => {
    const box = svg("svg", { class: "tree inline", width: 26, height: 16, "aria-hidden": "true" }, svg("g", { class: outcome }, svg("rect", { x: 2, y: 2, width: 22, height: 12 })));
    return element("li", {}, box, text);
  });
  return element("ul", { class: "legend" }, ...items);
}

function drawTree(system, nodes, info) {
  const widths = nodes.map((step) => 22 + 8.2 * Math.max(7, ...step.map((node) => Math.max(displayToken(node.token).length, 0.8 * scores(node).length))));
  const lefts = widths.map((_, column) => widths.slice(0, column).reduce((sum, width) => sum + width + GAP, 4));
  const height = ROW * Math.max(...nodes.map((step) => step.length)) + 8;
  const width = lefts.at(-1) + widths.at(-1) + 4;
  const edges = nodes.slice(1).flat().map((node) => drawEdge(node, lefts));
  const boxes = nodes.map((step) => step.map((node) => drawNode(node, lefts, widths, system)));
  addEvents(nodes, info);
  const ordered = [...edges].sort((a, b) => a.matches(".output") - b.matches(".output")); // the output is drawn last, on top
  return svg("svg", { class: "tree", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Search tree" }, ...ordered, ...boxes.flat());
}

const scores = ({ score, ranking_score }) => (ranking_score === null ? score.toFixed(2) : `${score.toFixed(2)} → ${ranking_score.toFixed(3)}`);
const middle = (row) => row * ROW + ROW / 2;

function drawEdge(node, lefts) {
  const end = lefts[node.column];
  const start = end - GAP;
  const [from, to] = [middle(node.parent), middle(node.row)];
  node.edge = svg("path", { class: node.outcome, d: `M${start} ${from}C${start + GAP / 2} ${from} ${end - GAP / 2} ${to} ${end} ${to}` });
  return node.edge;
}

function drawNode(node, lefts, widths, system) {
  const [left, width, y] = [lefts[node.column], widths[node.column], middle(node.row)];
  node.continueFrom = () => node.text.trim() && system.choosePrefix(node.text);
  node.group = svg(
    "g",
    { class: node.outcome, role: "button", tabindex: -1, "data-name": `node-${node.column}-${node.row}`, "aria-label": `${displayToken(node.token)}, score ${node.score.toFixed(2)}, ${OUTCOMES[node.outcome].split(":")[0]}`, onclick: node.continueFrom },
    svg("rect", { x: left, y: y - BOX / 2, width, height: BOX }),
    svg("text", { x: left + width / 2, y: y - 2 }, displayToken(node.token)),
    svg("text", { class: "numbers", x: left + width / 2, y: y + 12 }, scores(node)),
  );
  return node.group;
}

// Arrow keys: left to the parent, right to the best extension, up and down within the step.
function addEvents(nodes, info) {
  const path = (node) => (node.parent === null ? [node] : [...path(nodes[node.column - 1][node.parent]), node]);
  for (const node of nodes.flat()) {
    const show = () => {
      info.textContent = `${node.text || "(empty)"}: score ${node.score.toFixed(2)}, ${OUTCOMES[node.outcome].split(":")[0]}`;
      nodes.flat().forEach((other) => other.edge?.classList.remove("highlighted"));
      path(node).forEach((other) => other.edge?.classList.add("highlighted"));
    };
    node.group.addEventListener("mouseenter", show);
    node.group.addEventListener("focus", () => {
      show();
      nodes.flat().forEach((other) => other.group.setAttribute("tabindex", other === node ? 0 : -1));
    });
    node.group.addEventListener("keydown", (event) => {
      const step = nodes[node.column];
      const target = {
        ArrowLeft: () => nodes[node.column - 1]?.[node.parent],
        ArrowRight: () => nodes[node.column + 1]?.find((other) => other.parent === node.row),
        ArrowUp: () => step[node.row - 1],
        ArrowDown: () => step[node.row + 1],
      }[event.key];
      if (event.key === "Enter" || event.key === " ") node.continueFrom();
      else if (target) target()?.group.focus();
      else return;
      event.preventDefault();
    });
  }
  nodes[0]?.[0]?.group.setAttribute("tabindex", 0);
}

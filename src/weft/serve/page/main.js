// The page: a sentence, one system or two, and a look inside them.

import { models as askModels, training as askTraining, whenKeyed } from "./ask.js";
import * as attention from "./attention.js";
import { make, rove } from "./dom.js";
import * as frames from "./frames.js";
import * as gates from "./gates.js";
import * as positions from "./positions.js";
import { addSystem, read, state, write } from "./state.js";
import { System } from "./system.js";
import { beginTheme } from "./theme.js";
import * as tree from "./tree.js";

const PAUSE = 250; // milliseconds after a key, until what is typed is translated
const VIEWS = { attention, search: tree, gates, positions, frames };
const find = (name) => document.querySelector(name);
const [source, place, view, tabs, compare, share, status] = ["#source", "#systems", "#view", "#tabs", "#compare", "#share", "#status"].map(find);
let models = [];
let systems = [];
let typing = 0;

async function begin() {
  try {
    models = await askModels();
  } catch (error) {
    place.replaceChildren(make("p", { class: "fault" }, error.message));
    return;
  }
  fromAddress();
  find("#training").hidden = !(await askTraining()).length;
}

function fromAddress() {
  read();
  if (!(state.view in VIEWS)) state.view = "attention";
  source.value = state.text;
  showTabs();
  build();
}

function build() {
  systems.forEach((one) => one.leave());
  systems = state.systems.map((own, n) => new System(own, n, models, { changed: write, done, lit }));
  place.replaceChildren(...systems.map((one) => one.element));
  place.classList.toggle("two", systems.length > 1);
  compare.setAttribute("aria-pressed", String(systems.length > 1));
  translate();
}

function translate() {
  write();
  return Promise.all(systems.map((one) => one.translate()));
}

function done(system) {
  if (system.words) status.textContent = `${system.name()}: ${system.words.text}`;
  showView();
}

function lit(system, at) {
  if (state.view === "attention") attention.light(system, at);
}

let showing = 0;

async function showView(focused) {
  const number = (showing += 1);
  const shown = await Promise.all(systems.map((one) => seen(one)));
  if (number !== showing) return;
  view.replaceChildren(make("div", { class: systems.length > 1 ? "pair two" : "pair" }, ...shown));
  if (focused) view.querySelector(`[data-name="${focused}"]`)?.focus();
}

async function seen(system) {
  const heading = systems.length > 1 ? [make("h2", {}, system.name())] : [];
  if (!system.words) return make("div", {}, ...heading, make("p", { class: "note" }, "Type a sentence to look inside the model."));
  try {
    return make("div", {}, ...heading, ...(await VIEWS[state.view].see(system, chosen)));
  } catch (error) {
    return make("div", {}, ...heading, make("p", { class: "note" }, error.message));
  }
}

// Something was chosen in a view: its element is made anew, and keeps the focus.
function chosen(name) {
  write();
  showView(name);
}

function showTabs() {
  const made = Object.entries(VIEWS).map(([name, { title }]) =>
    make("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "view", "aria-selected": String(name === state.view), onclick: () => choose(name), onfocus: () => choose(name) }, title),
  );
  tabs.replaceChildren(...made);
  rove(made, { first: Object.keys(VIEWS).indexOf(state.view) });
  view.setAttribute("aria-labelledby", `tab-${state.view}`);
}

function choose(name) {
  if (name === state.view) return;
  state.view = name;
  for (const tab of tabs.children) tab.setAttribute("aria-selected", String(tab.id === `tab-${name}`));
  view.setAttribute("aria-labelledby", `tab-${name}`);
  write();
  showView();
}

source.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    state.text = source.value.replace(/\s*\n\s*/gu, " ");
    state.systems.forEach((own) => (own.prefix = ""));
    translate();
  }, PAUSE);
});
compare.addEventListener("click", () => {
  if (state.systems.length > 1) state.systems.pop();
  else addSystem(models);
  build();
});
share.addEventListener("click", async () => {
  await navigator.clipboard.writeText(location.href).catch(() => {});
  share.textContent = "Copied";
  setTimeout(() => (share.textContent = "Copy link"), 1500);
});
window.addEventListener("hashchange", fromAddress);
whenKeyed(begin);
beginTheme();
begin();

// The playground: a sentence, one or two systems that translate it, and views of what happens inside them.

import * as attention from "./attention.js";
import { fetchModels, fetchTraining, onKeyEntered } from "./api.js";
import { element, moveFocusWithArrows } from "./dom.js";
import * as frames from "./frames.js";
import * as gates from "./gates.js";
import * as positions from "./positions.js";
import * as search from "./search_tree.js";
import { addSystem, readAddress, state, writeAddress } from "./state.js";
import { System } from "./system.js";
import { initTheme } from "./theme.js";

const TYPING_PAUSE = 250; // milliseconds from the last key to the translation
const VIEWS = { attention, search, gates, positions, frames };
const [source, systemList, view, tabs, compare, share, status] = ["#source", "#systems", "#view", "#tabs", "#compare", "#share", "#status"].map((name) => document.querySelector(name));
let models = [];
let systems = [];
let typingTimer = 0;

async function start() {
  try {
    models = await fetchModels();
  } catch (error) {
    systemList.replaceChildren(element("p", { class: "error" }, error.message));
    return;
  }
  loadAddress();
  document.querySelector("#training").hidden = !(await fetchTraining()).length;
}

function loadAddress() {
  readAddress();
  if (!(state.view in VIEWS)) state.view = "attention";
  source.value = state.text;
  showTabs();
  buildSystems();
}

function buildSystems() {
  systems.forEach((system) => system.cancel());
  systems = state.systems.map((settings, n) => new System(settings, n, models, { onChange: writeAddress, onUpdate, onHighlight }));
  systemList.replaceChildren(...systems.map((system) => system.element));
  systemList.classList.toggle("two", systems.length > 1);
  compare.setAttribute("aria-pressed", String(systems.length > 1));
  translate();
}

function translate() {
  writeAddress();
  return Promise.all(systems.map((system) => system.translate()));
}

function onUpdate(system) {
  if (system.words) status.textContent = `${system.name()}: ${system.words.text}`;
  showView();
}

function onHighlight(system, index) {
  if (state.view === "attention") attention.highlight(system, index);
}

let renderings = 0;

async function showView(focused) {
  const number = (renderings += 1);
  const panels = await Promise.all(systems.map(renderSystem));
  if (number !== renderings) return; // a later call has taken over
  view.replaceChildren(element("div", { class: systems.length > 1 ? "pair two" : "pair" }, ...panels));
  if (focused) view.querySelector(`[data-name="${focused}"]`)?.focus();
}

async function renderSystem(system) {
  const heading = systems.length > 1 ? [element("h2", {}, system.name())] : [];
  if (!system.words) return element("div", {}, ...heading, element("p", { class: "note" }, "Type a sentence to look inside the model."));
  try {
    return element("div", {}, ...heading, ...(await VIEWS[state.view].render(system, onViewChange)));
  } catch (error) {
    return element("div", {}, ...heading, element("p", { class: "note" }, error.message));
  }
}

// Called when something was selected in a view: the view is rendered again, and the same field keeps the focus.
function onViewChange(name) {
  writeAddress();
  showView(name);
}

function showTabs() {
  const buttons = Object.entries(VIEWS).map(([name, { title }]) =>
    element("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "view", "aria-selected": String(name === state.view), onclick: () => selectTab(name), onfocus: () => selectTab(name) }, title),
  );
  tabs.replaceChildren(...buttons);
  moveFocusWithArrows(buttons, { first: Object.keys(VIEWS).indexOf(state.view) });
  view.setAttribute("aria-labelledby", `tab-${state.view}`);
}

function selectTab(name) {
  if (name === state.view) return;
  state.view = name;
  for (const tab of tabs.children) tab.setAttribute("aria-selected", String(tab.id === `tab-${name}`));
  view.setAttribute("aria-labelledby", `tab-${name}`);
  writeAddress();
  showView();
}

source.addEventListener("input", () => {
  clearTimeout(typingTimer);
  typingTimer = setTimeout(() => {
    state.text = source.value.replace(/\s*\n\s*/gu, " ");
    state.systems.forEach((settings) => (settings.prefix = ""));
    translate();
  }, TYPING_PAUSE);
});
compare.addEventListener("click", () => {
  if (state.systems.length > 1) state.systems.pop();
  else addSystem(models);
  buildSystems();
});
share.addEventListener("click", async () => {
  await navigator.clipboard.writeText(location.href).catch(() => {});
  share.textContent = "Copied";
  setTimeout(() => (share.textContent = "Copy link"), 1500);
});
window.addEventListener("hashchange", loadAddress);
onKeyEntered(start);
initTheme();
start();

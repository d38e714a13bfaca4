// The playground: a text, one or two systems that translate it, and views of what happens inside them.

import * as attention from "./attention.js";
import { fetchModels, fetchTraining, onKeyEntered } from "./api.js";
import { copyText } from "./clipboard.js";
import { element, errorMessage, focusKey, moveFocusWithArrows, restoreFocus, waiting } from "./dom.js";
import * as frames from "./frames.js";
import * as gates from "./gates.js";
import * as positions from "./positions.js";
import * as search from "./search_tree.js";
import { addSystem, readAddress, state, writeAddress } from "./state.js";
import { System } from "./system.js";
import { initTheme } from "./theme.js";

const TYPING_PAUSE = 250; // milliseconds from the last key to the translation
const VIEWS = { attention, search, gates, positions, frames };
const [source, example, systemList, views, view, tabs, compare, share, status] = ["#source", "#example", "#systems", "#views", "#view", "#tabs", "#compare", "#share", "#status"].map((name) => document.querySelector(name));
let models = [];
let systems = [];
let typingTimer = 0;
let exampleCount = 0;

async function start() {
  systemList.replaceChildren(waiting("Connecting to the server"));
  try {
    models = await fetchModels();
  } catch (error) {
    systemList.replaceChildren(errorMessage(error.message, start));
    return;
  }
  loadAddress();
  document.querySelector("#training").hidden = !(await fetchTraining().catch(() => [])).length;
}

function loadAddress() {
  readAddress();
  source.value = state.text;
  buildSystems();
}

function buildSystems() {
  systems.forEach((system) => system.cancel());
  systems = state.systems.map((settings, n) => new System(settings, n, models, { onChange: writeAddress, onUpdate, onHighlight, onSelect: selectSentence }));
  systemList.replaceChildren(...systems.map((system) => system.element));
  systemList.classList.toggle("two", systems.length > 1);
  compare.setAttribute("aria-pressed", String(systems.length > 1));
  translate();
}

function translate() {
  writeAddress();
  example.hidden = !examples().length;
  return Promise.all(systems.map((system) => system.translate()));
}

// A sentence was selected in the list of a system: all systems show it.
function selectSentence(index) {
  state.sentence = String(index);
  writeAddress();
  return Promise.all(systems.map((system) => system.inspectSentence()));
}

function onUpdate(system) {
  if (system.words) status.textContent = `${system.label()}: ${system.words.text}`;
  showTabs();
  showView();
}

function onHighlight(system, index) {
  if (currentView() === "attention") attention.highlight(system, index);
}

// The views that some system has; while a system computes, those that it had before.
function availableViews() {
  return Object.keys(VIEWS).filter((name) => systems.some((system) => system.views.includes(name)));
}

function currentView() {
  const available = availableViews();
  return available.includes(state.view) ? state.view : available[0];
}

let renderings = 0;
let focused = null; // the name of the field in the view that had the focus before the view was shown again

// Shows the current view of each system, and a spinner until it is complete. The focus stays on the same field.
async function showView() {
  const number = (renderings += 1);
  const name = currentView();
  views.hidden = !name || !state.text.trim();
  if (views.hidden) return;
  focused = focusKey(view) === "" ? focused : focusKey(view);
  const panels = systems.map((system) => element("div", { "aria-busy": "true" }, ...heading(system), waiting(`${VIEWS[name].title} of the sentence`)));
  view.replaceChildren(element("div", { class: systems.length > 1 ? "pair two" : "pair" }, ...panels));
  if (focused) view.focus({ preventScroll: true });
  await Promise.all(
    systems.map(async (system, n) => {
      if (system.isBusy) return; // shown again when it has finished
      const content = await renderView(system, name);
      if (number !== renderings) return; // a later call has taken over
      panels[n].replaceChildren(...heading(system), ...content);
      panels[n].setAttribute("aria-busy", "false");
      if (document.activeElement === view) restoreFocus(panels[n], focused);
    }),
  );
}

const heading = (system) => (systems.length > 1 ? [element("h2", {}, system.label())] : []);

async function renderView(system, name) {
  if (!system.words) return [element("p", { class: "note" }, "There is nothing to look into: see the message above.")];
  if (!system.views.includes(name)) return [element("p", { class: "note" }, `${system.name()} has no view “${VIEWS[name].title}”.`)];
  try {
    return await VIEWS[name].render(system, onViewChange);
  } catch (error) {
    return [element("p", { class: "note" }, error.message)];
  }
}

// Called when something was selected in a view.
function onViewChange() {
  writeAddress();
  showView();
}

// Tabs are made again only if their names change, so that the focus stays.
function showTabs() {
  const names = availableViews();
  const current = currentView();
  if ([...tabs.children].map((tab) => tab.dataset.name).join() !== names.join()) {
    const focusedTab = focusKey(tabs);
    const buttons = names.map((name) =>
      element("button", { type: "button", role: "tab", id: `tab-${name}`, "data-name": name, "aria-controls": "view", onclick: () => selectTab(name), onfocus: () => selectTab(name) }, VIEWS[name].title),
    );
    tabs.replaceChildren(...buttons);
    moveFocusWithArrows(buttons, { first: names.indexOf(current) });
    restoreFocus(tabs, focusedTab);
  }
  for (const tab of tabs.children) tab.setAttribute("aria-selected", String(tab.dataset.name === current));
  if (current) view.setAttribute("aria-labelledby", `tab-${current}`);
}

function selectTab(name) {
  if (name === currentView()) return;
  state.view = name;
  writeAddress();
  showTabs();
  showView();
}

function examples() {
  return systems[0]?.model.examples ?? [];
}

function setText(text) {
  clearTimeout(typingTimer);
  state.text = text;
  translate();
}

source.addEventListener("input", () => {
  clearTimeout(typingTimer);
  typingTimer = setTimeout(() => setText(source.value), TYPING_PAUSE);
});
example.addEventListener("click", () => {
  source.value = examples()[exampleCount % examples().length];
  exampleCount += 1;
  setText(source.value);
});
compare.addEventListener("click", () => {
  if (state.systems.length > 1) state.systems.pop();
  else addSystem(models);
  buildSystems();
});
share.addEventListener("click", () => copyText(location.href, share));
window.addEventListener("hashchange", loadAddress);
onKeyEntered(start);
initTheme();
start();

// The page of training: runs as they go. It asks again every few seconds, as long as somebody looks.

import { training as ask, whenKeyed } from "./ask.js";
import { Chart } from "./chart.js";
import { make } from "./dom.js";
import { signInText } from "./signs.js";
import { beginTheme } from "./theme.js";

const SOON = 3000; // milliseconds
const LATE = 15000; // once all have ended, or where the server does not answer
const ENDED = ["finished", "patience", "broken"];
const TITLES = { rate: "learning rate", norm: "gradient norm", tokens_per_second: "tokens per second" };
const OF_TOKENS = ["accuracy", "perplexity"];
const find = (name) => document.querySelector(name);
const [trouble, cards, findings, charts, translations, samples, slider, at] = ["#trouble", "#runs", "#findings", "#charts", "#translations", "#samples", "#step", "#at"].map(find);
const drawn = new Map(); // charts by name
const shown = new Map(); // what stands in a place, so that it is made anew only when it is another
const hidden = new Set(); // runs that somebody has hidden
let runs = [];
let pointed = null; // a step, as long as somebody points at it
let chosen = null; // a step that was chosen; null: the latest
let waiting = 0;

async function look() {
  clearTimeout(waiting);
  let pause = LATE;
  try {
    runs = await ask();
    say(runs.length ? "" : "This server shows no training: start it with weft serve --training RUN.");
    show();
    if (!runs.every((run) => ENDED.includes(run.state))) pause = SOON;
  } catch (error) {
    say(error instanceof TypeError ? "The server does not answer. Trying again." : error.message);
  }
  if (!document.hidden) waiting = setTimeout(look, pause);
}

function say(text) {
  trouble.textContent = text;
  trouble.hidden = !text;
}

function show() {
  fill(cards, runs.map(({ training, validation, samples: _, ...rest }) => [rest, latest(training.loss), hidden.has(rest.name)]), () => runs.map(card));
  fill(findings, runs.map((run) => run.findings), () => runs.flatMap((run, n) => run.findings.map((one) => finding(one, n))));
  showAtStep();
}

// What depends on the step that is looked at.
function showAtStep() {
  showCharts();
  showTranslations();
}

function fill(place, data, making) {
  const text = JSON.stringify(data);
  if (shown.get(place) === text) return;
  const focused = place.contains(document.activeElement) ? document.activeElement.id : "";
  shown.set(place, text);
  place.replaceChildren(...making());
  if (focused) document.getElementById(focused)?.focus();
}

function card(run, number) {
  const numbers = [
    run.steps ? `${count(run.step)} of ${count(run.steps)} steps` : `${count(run.step)} steps`,
    run.epoch ? `epoch ${run.epoch}` : "",
    run.training.loss ? `loss ${latest(run.training.loss).toFixed(3)}` : "",
    run.best ? `best ${run.choose} ${run.best.value.toFixed(2)} at ${count(run.best.step)}` : "",
    run.seconds ? `${ENDED.includes(run.state) ? "in " : ""}${clock(run.seconds)}` : "",
  ];
  const toggle = make("button", { type: "button", id: `run-${number}`, "aria-pressed": String(!hidden.has(run.name)), title: "Show or hide its curves", onclick: () => hide(run.name) }, signInText(number), ` ${run.name}`);
  return make(
    "article",
    { class: "run" },
    make("div", { class: "top" }, toggle, make("strong", {}, state(run))),
    make("progress", { max: 1, value: run.share ?? 0, class: `r${number % 6}`, "aria-label": `${run.name}: how much is done` }),
    make("p", { class: "note" }, numbers.filter(Boolean).join(" · ")),
  );
}

function state(run) {
  if (!run.readable) return "its files cannot be read";
  const words = {
    waiting: "not begun",
    training: run.left === null ? "training" : `${clock(run.left)} left`,
    silent: `nothing new for ${clock(run.silence)}`,
    finished: "finished",
    patience: "ended: validation no longer improved",
    broken: "stopped: a number was not finite",
  };
  return words[run.state];
}

function hide(name) {
  if (!hidden.delete(name)) hidden.add(name);
  show();
}

function finding(one, number) {
  return make(
    "article",
    { class: "finding" },
    make("h2", {}, signInText(number), ` ${runs[number].name}: ${one.diagnosis} at step ${count(one.step)}`),
    make("p", {}, `${one.what}.`),
    ...(one.cause ? [make("p", { class: "note" }, `Likely cause: ${one.cause}.`)] : []),
    ...(one.setting ? [make("p", { class: "note" }, `What to change: ${one.setting}.`)] : []),
  );
}

function showCharts() {
  const seen = runs.map((run, number) => ({ run, number })).filter(({ run }) => !hidden.has(run.name));
  const panels = panelsOf(seen);
  const last = Math.max(1, ...panels.flatMap(({ curves }) => curves.map((one) => one.steps.at(-1))));
  for (const { name } of panels) if (!drawn.has(name)) drawn.set(name, new Chart(name, TITLES[name] ?? name, { pointed: point, went: choose }));
  fill(charts, panels.map(({ name }) => name), () => panels.map(({ name }) => drawn.get(name).element));
  for (const { name, curves } of panels) drawn.get(name).show(curves, last, pointed ?? chosen);
}

// The loss, what decides, what else is measured of outputs; then how the run goes.
function panelsOf(seen) {
  const curve = (kind, name, validation) => seen.filter(({ run }) => run[kind][name]).map(({ run, number }) => ({ ...run[kind][name], run: number, name: run.name, validation }));
  const measured = seen.flatMap(({ run }) => Object.keys(run.validation)).sort((a, b) => OF_TOKENS.includes(a) - OF_TOKENS.includes(b));
  const scores = [...new Set([...seen.map(({ run }) => run.choose), ...measured])].filter((name) => name && name !== "loss");
  const panels = [
    { name: "loss", curves: [...curve("training", "loss", false), ...curve("validation", "loss", true)] },
    ...scores.map((name) => ({ name, curves: curve("validation", name, true) })),
    ...Object.keys(TITLES).map((name) => ({ name, curves: curve("training", name, false) })),
  ];
  return panels.filter(({ curves }) => curves.length);
}

function point(step) {
  pointed = step;
  showAtStep();
}

function choose(step) {
  [chosen, pointed] = [step, null];
  showAtStep();
}

// As they were at the step that is looked at.
function showTranslations() {
  const steps = validated();
  translations.hidden = !steps.length;
  if (!steps.length) return;
  const place = Math.max(0, steps.findLastIndex((step) => step <= (pointed ?? chosen ?? Infinity)));
  [slider.max, slider.value, at.value] = [steps.length - 1, place, count(steps[place])];
  slider.setAttribute("aria-valuetext", `step ${count(steps[place])}`);
  fill(samples, [steps[place], runs.map((run) => run.samples)], () => samplesOf(steps[place]));
}

function validated() {
  const steps = runs.flatMap((run) => run.samples.flatMap((one) => one.outputs.map(({ step }) => step)));
  return [...new Set(steps)].sort((a, b) => a - b);
}

// Sentences that several runs translated stand together.
function samplesOf(step) {
  const found = new Map();
  runs.forEach((run, number) =>
    run.samples.forEach((one) => {
      const key = JSON.stringify([one.source, one.reference]);
      if (!found.has(key)) found.set(key, { ...one, by: [] });
      found.get(key).by.push({ number, run, output: one.outputs.findLast((other) => other.step <= step) });
    }),
  );
  return [...found.values()].map(sample);
}

function sample({ source, reference, by }) {
  return make(
    "article",
    { class: "sample" },
    make("p", { class: "source", dir: "auto" }, source),
    make("p", { class: "note", dir: "auto" }, reference),
    make("dl", {}, ...by.flatMap(({ number, run, output }) => [
      make("dt", {}, signInText(number, true), ` ${run.name}${output ? ` at ${count(output.step)}` : ""}`),
      make("dd", { dir: "auto" }, output?.text ?? "not yet"),
    ])),
  );
}

const latest = (curve) => curve?.values.at(-1) ?? null;
const count = (number) => number.toLocaleString("en");

function clock(seconds) {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
  return `${hours ? `${hours}:${String(minutes).padStart(2, "0")}` : minutes}:${String(rest).padStart(2, "0")}`;
}

slider.addEventListener("input", () => choose(slider.value === slider.max ? null : validated()[slider.value]));
new ResizeObserver(() => showCharts()).observe(charts);
document.addEventListener("visibilitychange", () => document.hidden || look());
whenKeyed(look);
beginTheme();
look();

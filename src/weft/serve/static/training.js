// The training page: progress of runs. It updates every few seconds while it is visible.

import { fetchTraining, onKeyEntered } from "./api.js";
import { Chart } from "./chart.js";
import { element } from "./dom.js";
import { colorClass, inlineMarker } from "./markers.js";
import { initTheme } from "./theme.js";

const UPDATE_PAUSE = 3000; // milliseconds
const LONG_PAUSE = 15000; // when all runs have ended, or the server does not answer
const ENDED = ["finished", "patience", "broken"];
const TITLES = { learning_rate: "learning rate", gradient_norm: "gradient norm", tokens_per_second: "tokens per second" };
const TOKEN_METRICS = ["accuracy", "perplexity"];
const [errorMessage, cards, diagnoses, charts, translations, samples, slider, stepOutput] = ["#error", "#runs", "#diagnoses", "#charts", "#translations", "#samples", "#step", "#at"].map((name) => document.querySelector(name));
const chartsByName = new Map();
const shownData = new Map(); // by element, to rebuild it only if its data has changed
const hidden = new Set(); // names of runs that the user has hidden
let runs = [];
let pointedStep = null; // under the mouse
let selectedStep = null; // by keyboard or slider; null: the latest
let timer = 0;

async function update() {
  clearTimeout(timer);
  let pause = LONG_PAUSE;
  try {
    runs = await fetchTraining();
    showError(runs.length ? "" : "This server shows no training. Start it with weft serve --training RUN.");
    show();
    if (!runs.every((run) => ENDED.includes(run.state))) pause = UPDATE_PAUSE;
  } catch (error) {
    showError(error.message);
  }
  if (!document.hidden) timer = setTimeout(update, pause);
}

function showError(text) {
  errorMessage.textContent = text;
  errorMessage.hidden = !text;
}

function show() {
  replaceIfChanged(cards, runs.map(({ training, validation, samples: _, ...rest }) => [rest, lastValue(training.loss), hidden.has(rest.name)]), () => runs.map(runCard));
  replaceIfChanged(diagnoses, runs.map((run) => run.diagnoses), () => runs.flatMap((run, n) => run.diagnoses.map((diagnosis) => diagnosisCard(diagnosis, n))));
  showStep();
}

// Everything that depends on the current step.
function showStep() {
  showCharts();
  showTranslations();
}

// Keeps the focus on the element with the same id.
function replaceIfChanged(container, data, makeChildren) {
  const text = JSON.stringify(data);
  if (shownData.get(container) === text) return;
  const focused = container.contains(document.activeElement) ? document.activeElement.id : "";
  shownData.set(container, text);
  container.replaceChildren(...makeChildren());
  if (focused) document.getElementById(focused)?.focus();
}

function runCard(run, number) {
  const numbers = [
    run.total_steps ? `${formatCount(run.step)} of ${formatCount(run.total_steps)} steps` : `${formatCount(run.step)} steps`,
    run.epoch ? `epoch ${run.epoch}` : "",
    run.training.loss ? `loss ${lastValue(run.training.loss).toFixed(3)}` : "",
    run.best ? `best ${run.best_metric} ${run.best.value.toFixed(2)} at ${formatCount(run.best.step)}` : "",
    run.elapsed_seconds ? `${ENDED.includes(run.state) ? "in " : ""}${formatTime(run.elapsed_seconds)}` : "",
  ];
  const toggle = element("button", { type: "button", id: `run-${number}`, "aria-pressed": String(!hidden.has(run.name)), title: "Show or hide its curves", onclick: () => toggleRun(run.name) }, inlineMarker(number), ` ${run.name}`);
  return element(
    "article",
    { class: "run" },
    element("div", { class: "top" }, toggle, element("strong", {}, describeState(run))),
    element("progress", { max: 1, value: run.progress ?? 0, class: colorClass(number), "aria-label": `Progress of ${run.name}` }),
    element("p", { class: "note" }, numbers.filter(Boolean).join(" · ")),
  );
}

function describeState(run) {
  if (!run.readable) return "its files cannot be read";
  const descriptions = {
    waiting: "not started",
    training: run.remaining_seconds === null ? "training" : `${formatTime(run.remaining_seconds)} left`,
    silent: `nothing new for ${formatTime(run.silent_seconds)}`,
    finished: "finished",
    patience: "stopped: validation no longer improved",
    broken: "stopped: a number was not finite",
  };
  return descriptions[run.state];
}

function toggleRun(name) {
  if (!hidden.delete(name)) hidden.add(name);
  show();
}

function diagnosisCard({ diagnosis, step, observation, cause, advice }, number) {
  return element(
    "article",
    { class: "diagnosis" },
    element("h2", {}, inlineMarker(number), ` ${runs[number].name}: ${diagnosis} at step ${formatCount(step)}`),
    element("p", {}, `${observation}.`),
    ...(cause ? [element("p", { class: "note" }, `Likely cause: ${cause}.`)] : []),
    ...(advice ? [element("p", { class: "note" }, `What to change: ${advice}.`)] : []),
  );
}

function showCharts() {
  const visible = runs.map((run, number) => ({ run, number })).filter(({ run }) => !hidden.has(run.name));
  const panels = makePanels(visible);
  const lastStep = Math.max(1, ...panels.flatMap(({ curves }) => curves.map(({ steps }) => steps.at(-1))));
  for (const { name } of panels) if (!chartsByName.has(name)) chartsByName.set(name, new Chart(name, TITLES[name] ?? name, { onPoint: pointAt, onSelect: selectStep }));
  replaceIfChanged(charts, panels.map(({ name }) => name), () => panels.map(({ name }) => chartsByName.get(name).element));
  for (const { name, curves } of panels) chartsByName.get(name).show(curves, lastStep, pointedStep ?? selectedStep);
}

// The loss, the metric that selects the best checkpoint, the other metrics, then the progress of training.
function makePanels(visible) {
  const curves = (kind, name, validation) => visible.filter(({ run }) => run[kind][name]).map(({ run, number }) => ({ ...run[kind][name], run: number, name: run.name, validation }));
  const metrics = visible.flatMap(({ run }) => Object.keys(run.validation)).sort((a, b) => TOKEN_METRICS.includes(a) - TOKEN_METRICS.includes(b));
  const scores = [...new Set([...visible.map(({ run }) => run.best_metric), ...metrics])].filter((name) => name && name !== "loss");
  const panels = [
    { name: "loss", curves: [...curves("training", "loss", false), ...curves("validation", "loss", true)] },
    ...scores.map((name) => ({ name, curves: curves("validation", name, true) })),
    ...Object.keys(TITLES).map((name) => ({ name, curves: curves("training", name, false) })),
  ];
  return panels.filter((panel) => panel.curves.length);
}

function pointAt(step) {
  pointedStep = step;
  showStep();
}

function selectStep(step) {
  [selectedStep, pointedStep] = [step, null];
  showStep();
}

// The translations of the samples at the current step.
function showTranslations() {
  const steps = sampleSteps();
  translations.hidden = !steps.length;
  if (!steps.length) return;
  const index = Math.max(0, steps.findLastIndex((step) => step <= (pointedStep ?? selectedStep ?? Infinity)));
  [slider.max, slider.value, stepOutput.value] = [steps.length - 1, index, formatCount(steps[index])];
  slider.setAttribute("aria-valuetext", `step ${formatCount(steps[index])}`);
  replaceIfChanged(samples, [steps[index], runs.map((run) => run.samples)], () => sampleCards(steps[index]));
}

function sampleSteps() {
  const steps = runs.flatMap((run) => run.samples.flatMap(({ outputs }) => outputs.map(({ step }) => step)));
  return [...new Set(steps)].sort((a, b) => a - b);
}

// Sentences that several runs translated share a card.
function sampleCards(step) {
  const groups = new Map();
  runs.forEach((run, number) =>
    run.samples.forEach((sample) => {
      const key = JSON.stringify([sample.source, sample.reference]);
      if (!groups.has(key)) groups.set(key, { ...sample, outputs: [] });
      groups.get(key).outputs.push({ number, run, output: sample.outputs.findLast((output) => output.step <= step) });
    }),
  );
  return [...groups.values()].map(sampleCard);
}

function sampleCard({ source, reference, outputs }) {
  return element(
    "article",
    { class: "sample" },
    element("p", { class: "source", dir: "auto" }, source),
    element("p", { class: "note", dir: "auto" }, reference),
    element("dl", {}, ...outputs.flatMap(({ number, run, output }) => [
      element("dt", {}, inlineMarker(number, true), ` ${run.name}${output ? ` at ${formatCount(output.step)}` : ""}`),
      element("dd", { dir: "auto" }, output?.text ?? "not yet"),
    ])),
  );
}

const lastValue = (curve) => curve?.values.at(-1) ?? null;
const formatCount = (number) => number.toLocaleString("en");

function formatTime(seconds) {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
  return `${hours ? `${hours}:${String(minutes).padStart(2, "0")}` : minutes}:${String(rest).padStart(2, "0")}`;
}

slider.addEventListener("input", () => selectStep(slider.value === slider.max ? null : sampleSteps()[slider.value]));
new ResizeObserver(() => showCharts()).observe(charts);
document.addEventListener("visibilitychange", () => document.hidden || update());
onKeyEntered(update);
initTheme();
update();

// A chart of one metric: the curves of all runs. Point at it, or move with the arrow keys, to read its values.

import { element, svg } from "./dom.js";
import { colorClass, inlineMarker, marker } from "./markers.js";
import { makeScale, shortNumber } from "./scale.js";

const HEIGHT = 200;
const [LEFT, RIGHT, TOP, BOTTOM] = [46, 12, 10, 24];
const LOGARITHMIC = ["gradient_norm", "perplexity"];
const FROM_ZERO = ["tokens_per_second"];
const MARKER_DISTANCE = 14; // pixels
const LABEL_DISTANCE = 50; // pixels

export class Chart {
  // onPoint: the mouse is at a step (null: it has left). onSelect: a step was selected by keyboard.
  constructor(name, title, { onPoint, onSelect }) {
    this.name = name;
    this.readout = element("figcaption", {});
    this.picture = svg("svg", { class: "chart", role: "slider", tabindex: 0, "aria-label": `${title} by step` });
    this.element = element("figure", {}, element("h2", {}, title), this.readout, this.picture);
    this.picture.addEventListener("pointermove", (event) => onPoint(this.stepAt(event)));
    this.picture.addEventListener("pointerleave", () => onPoint(null));
    this.picture.addEventListener("keydown", (event) => {
      const step = this.stepForKey(event.key);
      if (step === undefined) return;
      event.preventDefault();
      onSelect(step);
    });
  }

  // curves: each with steps, values, the number and name of its run, and whether it is of validation.
  // lastStep: the end of the axis. cursor: the step to read, or null.
  show(curves, lastStep, cursor) {
    Object.assign(this, { curves, lastStep, cursor, width: Math.max(200, this.picture.clientWidth) });
    this.mixed = curves.some(({ validation }) => validation) && curves.some(({ validation }) => !validation);
    this.element.classList.toggle("mixed", this.mixed);
    const values = curves.flatMap((curve) => curve.values).concat(FROM_ZERO.includes(this.name) ? [0] : []);
    this.xScale = makeScale([0, lastStep], Math.floor(this.width / 90));
    this.yScale = makeScale(values, 4, LOGARITHMIC.includes(this.name));
    this.picture.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    this.picture.replaceChildren(...this.drawAxes(), ...curves.flatMap((curve) => this.drawCurve(curve)), ...this.drawCursor());
    this.showValues();
  }

  x(step) {
    return LEFT + (step / Math.max(1, this.lastStep)) * (this.width - LEFT - RIGHT);
  }

  y(value) {
    return TOP + (1 - this.yScale.position(value)) * (HEIGHT - TOP - BOTTOM);
  }

  drawAxes() {
    const isFree = (tick) => this.cursor === null || Math.abs(this.x(tick) - this.x(this.cursor)) > LABEL_DISTANCE;
    return [
      ...this.yScale.ticks.flatMap((tick) => [
        svg("line", { x1: LEFT, x2: this.width - RIGHT, y1: this.y(tick), y2: this.y(tick) }),
        svg("text", { x: LEFT - 7, y: this.y(tick) + 4, class: "end" }, shortNumber(tick)),
      ]),
      ...this.xScale.ticks.filter(isFree).map((tick) => this.stepLabel(tick, tick ? shortNumber(tick) : "step 0")),
    ];
  }

  stepLabel(step, text, name = "") {
    return svg("text", { x: Math.min(Math.max(this.x(step), LEFT + 14), this.width - RIGHT - 14), y: HEIGHT - 7, class: `middle ${name}` }, text);
  }

  // Next to a training curve, validations are markers without a line.
  drawCurve(curve) {
    const points = curve.steps.map((step, n) => [this.x(step), this.y(curve.values[n])]);
    const line = svg("polyline", { class: colorClass(curve.run), points: points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ") });
    const marked = curve.validation ? thinOut(points) : points.slice(-1);
    return [...(curve.validation && this.mixed ? [] : [line]), ...marked.map(([x, y]) => marker(curve.run, x, y, { hollow: curve.validation }))];
  }

  drawCursor() {
    if (this.cursor === null) return [];
    const x = this.x(this.cursor);
    return [
      svg("line", { class: "cursor", x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }),
      ...this.curves.map(({ run, steps, values }) => {
        const index = indexAt(steps, this.cursor);
        return svg("circle", { class: `${colorClass(run)} filled`, cx: this.x(steps[index]), cy: this.y(values[index]), r: 3 });
      }),
      this.stepLabel(this.cursor, `step ${formatStep(this.cursor)}`, "current"),
    ];
  }

  // The values at the cursor, or the last ones.
  showValues() {
    const step = this.cursor ?? this.lastStep;
    const entries = this.curves.map((curve) => ({ ...curve, text: formatValue(curve.values[indexAt(curve.steps, step)]) }));
    const groups = this.mixed ? [["training ", entries.filter(({ validation }) => !validation)], ["validation ", entries.filter(({ validation }) => validation)]] : [["", entries]];
    this.readout.replaceChildren(...groups.map(([word, group]) => element("span", {}, word, ...group.map(valueLabel))));
    const text = groups.map(([word, group]) => word + group.map((entry) => `${entry.name} ${entry.text}`).join(", ")).join("; ");
    const attributes = { valuemin: 0, valuemax: this.lastStep, valuenow: Math.round(step), valuetext: `step ${formatStep(step)}: ${text}` };
    for (const [name, value] of Object.entries(attributes)) this.picture.setAttribute(`aria-${name}`, value);
  }

  stepAt(event) {
    const box = this.picture.getBoundingClientRect();
    const share = ((event.clientX - box.left) * (this.width / box.width) - LEFT) / (this.width - LEFT - RIGHT);
    return Math.min(1, Math.max(0, share)) * this.lastStep;
  }

  stepForKey(key) {
    const steps = [...new Set(this.curves.flatMap((curve) => curve.steps))].sort((a, b) => a - b);
    const current = this.cursor ?? this.lastStep;
    const previous = steps.findLast((step) => step < current) ?? steps[0];
    const next = steps.find((step) => step > current) ?? steps.at(-1);
    return { ArrowLeft: previous, ArrowRight: next, ArrowDown: previous, ArrowUp: next, Home: steps[0], End: steps.at(-1), Escape: null }[key];
  }
}

// The last point, and those before it that are far enough from the next.
function thinOut(points) {
  const selected = [];
  for (const point of points.toReversed()) if (!selected.length || selected.at(-1)[0] - point[0] >= MARKER_DISTANCE) selected.push(point);
  return selected;
}

// The index of the last step up to this one, or 0.
function indexAt(steps, step) {
  return Math.max(0, steps.findLastIndex((other) => other <= step));
}

function valueLabel({ run, name, validation, text }) {
  return element("span", { class: "number" }, inlineMarker(run, validation), element("span", { class: "visually-hidden" }, `${name} `), text);
}

const formatStep = (step) => Math.round(step).toLocaleString("en");

function formatValue(value) {
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : Math.abs(value) < 0.01 ? shortNumber(value) : value.toFixed(2);
}

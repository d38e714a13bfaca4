// A panel: the curves of all runs over each other. Point at it, or go along it with the arrow keys, to read its numbers.

import { draw, make } from "./dom.js";
import { scaleOf, short } from "./scale.js";
import { sign, signInText } from "./signs.js";

const HEIGHT = 200;
const [LEFT, RIGHT, TOP, BOTTOM] = [46, 12, 10, 24];
const LOGARITHMIC = ["norm", "perplexity"];
const FROM_ZERO = ["tokens_per_second"];
const ROOM = 14; // pixels from one sign to the next
const NEAR = 50; // pixels from one word to the next

export class Chart {
  constructor(name, title, { pointed, went }) {
    this.name = name;
    this.readout = make("figcaption", {});
    this.picture = draw("svg", { class: "chart", role: "slider", tabindex: 0, "aria-label": `${title} by step` });
    this.element = make("figure", {}, make("h2", {}, title), this.readout, this.picture);
    this.picture.addEventListener("pointermove", (event) => pointed(this.stepAt(event)));
    this.picture.addEventListener("pointerleave", () => pointed(null));
    this.picture.addEventListener("keydown", (event) => {
      const goal = this.goal(event.key);
      if (goal === undefined) return;
      event.preventDefault();
      went(goal);
    });
  }

  // curves: of a run (its number and name), values by steps, of validation or not. last: where all axes end.
  show(curves, last, cursor) {
    Object.assign(this, { curves, last, cursor, width: Math.max(200, this.picture.clientWidth) });
    this.mixed = curves.some((one) => one.validation) && curves.some((one) => !one.validation);
    this.element.classList.toggle("mixed", this.mixed);
    const values = curves.flatMap((one) => one.values).concat(FROM_ZERO.includes(this.name) ? [0] : []);
    this.across = scaleOf([0, last], Math.floor(this.width / 90));
    this.up = scaleOf(values, 4, LOGARITHMIC.includes(this.name));
    this.picture.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    this.picture.replaceChildren(...this.axes(), ...curves.flatMap((one) => this.line(one)), ...this.mark());
    this.read();
  }

  x(step) {
    return LEFT + (step / Math.max(1, this.last)) * (this.width - LEFT - RIGHT);
  }

  y(value) {
    return TOP + (1 - this.up.place(value)) * (HEIGHT - TOP - BOTTOM);
  }

  axes() {
    return [
      ...this.up.ticks.flatMap((tick) => [
        draw("line", { x1: LEFT, x2: this.width - RIGHT, y1: this.y(tick), y2: this.y(tick) }),
        draw("text", { x: LEFT - 7, y: this.y(tick) + 4, class: "end" }, short(tick)),
      ]),
      ...this.across.ticks.filter((tick) => this.isFree(tick)).map((tick) => this.below(tick, tick ? short(tick) : "step 0")),
    ];
  }

  // A word below the axis of steps.
  below(step, text, name = "") {
    return draw("text", { x: Math.min(Math.max(this.x(step), LEFT + 14), this.width - RIGHT - 14), y: HEIGHT - 7, class: `middle ${name}` }, text);
  }

  isFree(tick) {
    return this.cursor === null || Math.abs(this.x(tick) - this.x(this.cursor)) > NEAR;
  }

  // Validations beside a curve of training are signs alone.
  line(curve) {
    const places = curve.steps.map((step, n) => [this.x(step), this.y(curve.values[n])]);
    const points = places.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
    const drawn = curve.validation && this.mixed ? [] : [draw("polyline", { class: `r${curve.run % 6}`, points })];
    const signs = curve.validation ? apart(places) : places.slice(-1);
    return [...drawn, ...signs.map(([x, y]) => sign(curve.run, x, y, { hollow: curve.validation }))];
  }

  mark() {
    if (this.cursor === null) return [];
    const x = this.x(this.cursor);
    return [
      draw("line", { class: "cursor", x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }),
      ...this.curves.map((one) => {
        const place = nearest(one.steps, this.cursor);
        return draw("circle", { class: `r${one.run % 6} full`, cx: this.x(one.steps[place]), cy: this.y(one.values[place]), r: 3 });
      }),
      this.below(this.cursor, `step ${count(this.cursor)}`, "here"),
    ];
  }

  // The numbers at the cursor, or the last ones.
  read() {
    const at = this.cursor ?? this.last;
    const told = this.curves.map((one) => ({ ...one, text: value(one.values[nearest(one.steps, at)]) }));
    const groups = this.mixed ? [["training ", told.filter((one) => !one.validation)], ["validation ", told.filter((one) => one.validation)]] : [["", told]];
    this.readout.replaceChildren(...groups.map(([word, ones]) => make("span", {}, word, ...ones.map(number))));
    const spoken = groups.map(([word, ones]) => word + ones.map(({ name, text }) => `${name} ${text}`).join(", ")).join("; ");
    const states = { valuemin: 0, valuemax: this.last, valuenow: Math.round(at), valuetext: `step ${count(at)}: ${spoken}` };
    for (const [name, set] of Object.entries(states)) this.picture.setAttribute(`aria-${name}`, set);
  }

  stepAt(event) {
    const box = this.picture.getBoundingClientRect();
    const share = ((event.clientX - box.left) * (this.width / box.width) - LEFT) / (this.width - LEFT - RIGHT);
    return Math.min(1, Math.max(0, share)) * this.last;
  }

  goal(key) {
    const steps = [...new Set(this.curves.flatMap((one) => one.steps))].sort((a, b) => a - b);
    const at = this.cursor ?? this.last;
    const [before, after] = [steps.findLast((step) => step < at), steps.find((step) => step > at)];
    return { ArrowLeft: before ?? steps[0], ArrowRight: after ?? steps.at(-1), ArrowDown: before ?? steps[0], ArrowUp: after ?? steps.at(-1), Home: steps[0], End: steps.at(-1), Escape: null }[key];
  }
}

// The last, and before it those that are not too near to the next.
function apart(places) {
  const kept = [];
  for (const place of places.toReversed()) if (!kept.length || kept.at(-1)[0] - place[0] >= ROOM) kept.push(place);
  return kept;
}

// The place of the last step up to this one; the first, if there is none.
function nearest(steps, at) {
  return Math.max(0, steps.findLastIndex((step) => step <= at));
}

function number({ run, name, validation, text }) {
  return make("span", { class: "number" }, signInText(run, validation), make("span", { class: "unseen" }, `${name} `), text);
}

const count = (step) => Math.round(step).toLocaleString("en");

function value(number) {
  return Math.abs(number) >= 1000 ? Math.round(number).toLocaleString("en") : Math.abs(number) < 0.01 ? short(number) : number.toFixed(2);
}

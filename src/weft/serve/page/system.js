// One system: a model with a search. It translates the sentence, and shows the translation word by word.

import { inspect, stream } from "./ask.js";
import { make, percent, rove, weigh } from "./dom.js";
import { openOthers } from "./others.js";
import { state } from "./state.js";
import { weightsOf } from "./weights.js";

const BEAMS = ["", "1", "2", "3", "4", "5", "8", "12", "16"];

export class System {
  // changed: is called when the person has chosen something else here. done: when there is something new to see.
  constructor(own, place, models, { changed, done, lit }) {
    Object.assign(this, { own, place, changed, done, lit, models, words: null, attention: null });
    this.name = () => this.own.model || models[0].name;
    this.echo = make("p", { class: "echo", "aria-hidden": "true" });
    this.output = make("p", { class: "translation", role: "group", "aria-label": `Translation by ${this.name()}` });
    this.told = make("p", { class: "told" });
    this.prefix = make("div", { class: "prefix", hidden: true });
    this.element = make("section", { class: "system", "aria-label": `System ${place + 1}` }, this.chooser(), this.echo, this.output, this.told, this.prefix);
  }

  chooser() {
    const named = this.models.map((one) => [one.name, `${one.name} (${one.source} → ${one.target})`]);
    const model = choice("Model", named, this.name(), (value) => this.choose({ model: value, prefix: "" }));
    const beams = BEAMS.map((one) => [one, one === "" ? "its own" : one === "1" ? "greedy" : `beam ${one}`]);
    const beam = choice("Search", beams, this.own.beam, (value) => this.choose({ beam: value }));
    return make("div", { class: "choices" }, model, beam);
  }

  choose(some) {
    Object.assign(this.own, some);
    this.output.setAttribute("aria-label", `Translation by ${this.name()}`);
    this.changed();
    return this.translate();
  }

  get body() {
    const { model, beam, prefix } = this.own;
    return { line: { text: state.text, prefix }, ...(model ? { model } : {}), ...(beam ? { beam: Number(beam) } : {}) };
  }

  // Gives up whatever was asked for.
  leave() {
    this.stop?.abort();
  }

  async translate() {
    this.leave();
    const stop = (this.stop = new AbortController());
    Object.assign(this, { words: null, attention: null, seen: {} });
    this.told.textContent = "";
    this.showPrefix();
    if (!state.text.trim()) {
      this.output.replaceChildren();
      this.echo.replaceChildren();
      this.done(this);
      return;
    }
    this.output.classList.add("coming");
    try {
      const record = await stream(this.body, stop.signal, (text) => (this.output.textContent = text));
      this.output.textContent = record.text;
      this.words = await inspect("words", this.body, stop.signal);
      this.showWords(record);
      this.attention = await inspect("attention", this.body, stop.signal).catch((error) => this.without(error));
      this.showEcho();
    } catch (error) {
      if (stop.signal.aborted) return;
      this.told.replaceChildren(make("span", { class: "fault" }, error.message));
    }
    this.output.classList.remove("coming");
    this.done(this);
  }

  // A model may have no attention, which is told where it would be shown.
  without(error) {
    if (error.name === "AbortError") throw error;
    this.blind = error.message;
    return null;
  }

  // What is to be seen of a kind: asked for once.
  async see(kind, more = {}) {
    this.seen[kind] ??= inspect(kind, { ...this.body, ...more }, this.stop.signal);
    return this.seen[kind];
  }

  showPrefix() {
    this.prefix.hidden = !this.own.prefix;
    const clear = make("button", { type: "button", onclick: () => this.choose({ prefix: "" }) }, "Let it begin freely");
    this.prefix.replaceChildren(`begins with “${this.own.prefix}”`, clear);
  }

  showWords(record) {
    const sure = record.confidence === undefined ? "" : `, confidence ${percent(record.confidence)}`;
    this.summary = `log-probability ${this.words.score?.toFixed(2) ?? "−∞"}${sure}`;
    this.told.textContent = this.summary;
    const parts = this.words.words.map((word, place) => this.word(word, place));
    this.output.replaceChildren(...parts.flatMap(({ space, button }) => [space, button]));
    this.buttons = parts.map(({ button }) => button);
    rove(this.buttons);
  }

  word(word, place) {
    const share = Math.exp(word.scores.reduce((sum, one) => sum + (one ?? -Infinity), 0));
    const space = word.text.match(/^\s*/u)[0];
    const button = make(
      "button",
      {
        type: "button",
        class: "word",
        lang: this.models.find((one) => one.name === this.name())?.target,
        "aria-haspopup": "listbox",
        "aria-expanded": "false",
        "aria-label": `${word.name}, ${percent(share)}`,
        onclick: () => openOthers(this, word, button),
        onmouseenter: () => this.light(place),
        onmouseleave: () => this.light(null),
        onfocus: () => this.light(place),
        onblur: () => this.light(null),
      },
      word.text.slice(space.length),
    );
    return { space, button: weigh(button, "--p", share) };
  }

  showEcho() {
    const words = (this.attention?.source ?? []).slice(0, -1);
    this.echo.replaceChildren(...words.flatMap((word) => [make("span", {}, word), " "]));
  }

  // Shows what the word at this place looked at.
  light(place) {
    const row = place === null || !this.attention ? null : weightsOf(this.attention)[place];
    const spans = [...this.echo.children];
    spans.forEach((span, column) => {
      weigh(span, "--w", row ? row[column] : 0);
      span.classList.toggle("lit", row !== null && row[column] > 0.15);
    });
    this.told.textContent = row ? looked(this.attention, row, this.words.words[place]) : this.summary;
    this.lit(this, place);
  }
}

function looked({ source }, row, word) {
  const best = row.map((weight, column) => [weight, source[column]]).sort((one, other) => other[0] - one[0]);
  return `${word.name} looked at ${best.slice(0, 3).map(([weight, name]) => `${name} ${percent(weight)}`).join(", ")}`;
}

let choices = 0;

// A name, and what can be chosen under it.
export function choice(name, options, value, chosen) {
  const id = `choice-${(choices += 1)}`;
  const items = options.map(([one, name]) => make("option", { value: one, selected: one === value }, name));
  const select = make("select", { id, "data-name": name }, ...items);
  select.addEventListener("change", () => chosen(select.value));
  return make("div", { class: "choice" }, make("label", { for: id }, name), select);
}

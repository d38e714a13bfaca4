// A system: a model with a beam size. It translates the sentence and shows the translation word by word.

import { openAlternatives } from "./alternatives.js";
import { inspect, stream } from "./api.js";
import { selectWeights } from "./attention.js";
import { element, moveFocusWithArrows, percent, select, setVariable } from "./dom.js";
import { state } from "./state.js";

const BEAMS = ["", "1", "2", "3", "4", "5", "8", "12", "16"];
const HIGHLIGHT_FROM = 0.15; // attention weight

export class System {
  // onChange: the user changed a setting. onUpdate: there is something new to show. onHighlight: a word is pointed at.
  constructor(settings, number, models, { onChange, onUpdate, onHighlight }) {
    Object.assign(this, { settings, models, onChange, onUpdate, onHighlight, words: null, attention: null });
    this.name = () => this.settings.model || models[0].name;
    this.sourceWords = element("p", { class: "source-words", "aria-hidden": "true" });
    this.output = element("p", { class: "translation", role: "group", "aria-label": `Translation by ${this.name()}` });
    this.info = element("p", { class: "info" });
    this.prefix = element("div", { class: "prefix", hidden: true });
    this.element = element("section", { class: "system", "aria-label": `System ${number + 1}` }, this.selectors(), this.sourceWords, this.output, this.info, this.prefix);
  }

  selectors() {
    const names = this.models.map(({ name, source, target }) => [name, `${name} (${source} → ${target})`]);
    const model = select("Model", names, this.name(), (value) => this.change({ model: value, prefix: "" }));
    const beams = BEAMS.map((beam) => [beam, beam === "" ? "default" : beam === "1" ? "greedy" : `beam ${beam}`]);
    const beam = select("Search", beams, this.settings.beam, (value) => this.change({ beam: value }));
    return element("div", { class: "fields" }, model, beam);
  }

  change(settings) {
    Object.assign(this.settings, settings);
    this.output.setAttribute("aria-label", `Translation by ${this.name()}`);
    this.onChange();
    return this.translate();
  }

  get body() {
    const { model, beam, prefix } = this.settings;
    return { line: { text: state.text, prefix }, ...(model ? { model } : {}), ...(beam ? { beam: Number(beam) } : {}) };
  }

  // Aborts the requests in progress.
  cancel() {
    this.controller?.abort();
  }

  async translate() {
    this.cancel();
    const controller = (this.controller = new AbortController());
    Object.assign(this, { words: null, attention: null, inspections: {} });
    this.info.textContent = "";
    this.showPrefix();
    if (!state.text.trim()) {
      this.output.replaceChildren();
      this.sourceWords.replaceChildren();
      this.onUpdate(this);
      return;
    }
    this.output.classList.add("pending");
    try {
      const record = await stream(this.body, controller.signal, (text) => (this.output.textContent = text));
      this.output.textContent = record.text;
      this.words = await inspect("words", this.body, controller.signal);
      this.showWords(record);
      this.attention = await inspect("attention", this.body, controller.signal).catch((error) => this.handleNoAttention(error));
      this.showSourceWords();
    } catch (error) {
      if (controller.signal.aborted) return;
      this.info.replaceChildren(element("span", { class: "error" }, error.message));
    }
    this.output.classList.remove("pending");
    this.onUpdate(this);
  }

  // A model may have no attention; the view shows the message instead.
  handleNoAttention(error) {
    if (error.name === "AbortError") throw error;
    this.attentionError = error.message;
    return null;
  }

  // Each kind of inspection is requested once per translation.
  async inspect(kind, options = {}) {
    this.inspections[kind] ??= inspect(kind, { ...this.body, ...options }, this.controller.signal);
    return this.inspections[kind];
  }

  showPrefix() {
    this.prefix.hidden = !this.settings.prefix;
    const clear = element("button", { type: "button", onclick: () => this.change({ prefix: "" }) }, "Remove prefix");
    this.prefix.replaceChildren(`begins with “${this.settings.prefix}”`, clear);
  }

  showWords(record) {
    const confidence = record.confidence === undefined ? "" : `, confidence ${percent(record.confidence)}`;
    this.summary = `log-probability ${this.words.score?.toFixed(2) ?? "−∞"}${confidence}`;
    this.info.textContent = this.summary;
    const parts = this.words.words.map((word, index) => this.wordButton(word, index));
    this.output.replaceChildren(...parts.flatMap(({ space, button }) => [space, button]));
    this.buttons = parts.map(({ button }) => button);
    moveFocusWithArrows(this.buttons);
  }

  wordButton(word, index) {
    const probability = Math.exp(word.scores.reduce((sum, score) => sum + (score ?? -Infinity), 0));
    const space = word.text.match(/^\s*/u)[0];
    const button = element(
      "button",
      {
        type: "button",
        class: "word",
        lang: this.models.find(({ name }) => name === this.name())?.target,
        "aria-haspopup": "listbox",
        "aria-expanded": "false",
        "aria-label": `${word.name}, ${percent(probability)}`,
        onclick: () => openAlternatives(this, word, button),
        onmouseenter: () => this.highlight(index),
        onmouseleave: () => this.highlight(null),
        onfocus: () => this.highlight(index),
        onblur: () => this.highlight(null),
      },
      word.text.slice(space.length),
    );
    return { space, button: setVariable(button, "--probability", probability) };
  }

  showSourceWords() {
    const words = (this.attention?.source ?? []).slice(0, -1);
    this.sourceWords.replaceChildren(...words.flatMap((word) => [element("span", {}, word), " "]));
  }

  // Shows the attention of the word with this index; null: of none.
  highlight(index) {
    const weights = index === null || !this.attention ? null : selectWeights(this.attention)[index];
    [...this.sourceWords.children].forEach((span, column) => {
      setVariable(span, "--weight", weights ? weights[column] : 0);
      span.classList.toggle("highlighted", weights !== null && weights[column] > HIGHLIGHT_FROM);
    });
    this.info.textContent = weights ? describeAttention(this.attention, weights, this.words.words[index]) : this.summary;
    this.onHighlight(this, index);
  }
}

function describeAttention({ source }, weights, word) {
  const best = weights.map((weight, column) => [weight, source[column]]).sort(([a], [b]) => b - a);
  return `${word.name} attends to ${best.slice(0, 3).map(([weight, name]) => `${name} ${percent(weight)}`).join(", ")}`;
}

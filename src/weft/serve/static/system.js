// A system: a model with a beam size. It translates the text, and shows one of its sentences word by word.

import { openAlternatives } from "./alternatives.js";
import { inspect, stream, translateLines, translateText } from "./api.js";
import { selectWeights } from "./attention.js";
import { copyText } from "./clipboard.js";
import { element, errorMessage, moveFocusWithArrows, percent, select, setVariable, waiting } from "./dom.js";
import { directionName } from "./languages.js";
import { probabilityLegend, probabilityLevel } from "./legend.js";
import { SentenceList, joinLines, mayBeSeveral, parseLine } from "./sentences.js";
import { state } from "./state.js";

const BEAMS = ["", "1", "2", "3", "4", "5", "8", "12", "16"];
const HIGHLIGHT_FROM = 0.15; // attention weight

const searchName = (beam) => ({ "": "default", 1: "greedy" })[beam] ?? `beam ${beam}`;

export class System {
  // onChange: the user changed a setting. onUpdate: there is something new to show. onHighlight: a word is pointed at.
  // onSelect: a sentence was selected.
  constructor(settings, number, models, { onChange, onUpdate, onHighlight, onSelect }) {
    Object.assign(this, { settings, models, onChange, onUpdate, onHighlight, lines: [], words: null, views: [], attention: null, isBusy: false });
    this.name = () => this.model.name;
    this.label = () => [this.name(), ...(this.settings.beam ? [searchName(this.settings.beam)] : [])].join(", ");
    this.copy = element("button", { type: "button", class: "small", hidden: true, onclick: () => copyText(joinLines(this.lines), this.copy) }, "Copy translation");
    this.list = new SentenceList(this.model, onSelect);
    this.sourceWords = element("p", { class: "source-words", dir: "auto", "aria-hidden": "true" });
    this.output = element("p", { class: "translation", role: "group", dir: "auto", "aria-label": `Translation by ${this.name()}` });
    this.legend = probabilityLegend();
    this.info = element("p", { class: "info" });
    this.prefix = element("div", { class: "prefix", hidden: true });
    const sentence = element("div", { class: "sentence" }, this.sourceWords, this.output, this.legend, this.info, this.prefix);
    this.element = element("section", { class: "system", "aria-label": `System ${number + 1}` }, this.selectors(), this.list.element, sentence);
  }

  get model() {
    return this.models.find(({ name }) => name === this.settings.model) ?? this.models[0];
  }

  selectors() {
    const names = this.models.map((model) => [model.name, `${directionName(model)} · ${model.name}`]);
    const model = select("Model", names, this.name(), (value) => this.change({ model: value, prefixes: {} }));
    const beams = BEAMS.map((beam) => [beam, searchName(beam)]);
    const beam = select("Search", beams, this.settings.beam, (value) => this.change({ beam: value }));
    return element("div", { class: "fields" }, model, beam, this.copy);
  }

  change(settings) {
    Object.assign(this.settings, settings);
    this.list.languages = this.model;
    this.output.setAttribute("aria-label", `Translation by ${this.name()}`);
    this.onChange();
    return this.translate();
  }

  // Continue the sentence from these words; "": from none.
  choosePrefix(prefix) {
    if (prefix) this.settings.prefixes[this.sentence.source] = prefix;
    else delete this.settings.prefixes[this.sentence.source];
    this.onChange();
    return this.inspectSentence();
  }

  get sentences() {
    return this.lines.flatMap(({ sentences }) => sentences);
  }

  // The selected sentence; the last one if there are not so many.
  get sentence() {
    return this.sentences[this.index];
  }

  get index() {
    return Math.max(0, Math.min(Number(state.sentence) || 0, this.sentences.length - 1));
  }

  get options() {
    const { beam } = this.settings;
    return { model: this.name(), ...(beam ? { beam: Number(beam) } : {}) };
  }

  get body() {
    const { source } = this.sentence;
    return { line: { text: source, prefix: this.settings.prefixes[source] ?? "" }, ...this.options };
  }

  // Aborts the requests in progress.
  cancel() {
    this.controller?.abort();
  }

  // Aborts the requests in progress, removes what they showed, and runs a task with a new signal.
  async run(task) {
    this.cancel();
    const { signal } = (this.controller = new AbortController());
    Object.assign(this, { words: null, attention: null, inspections: {}, isBusy: true });
    this.showEmptySentence();
    this.onUpdate(this);
    try {
      await task(signal);
    } catch (error) {
      if (signal.aborted) return;
      this.output.querySelector(".waiting")?.remove();
      this.info.replaceChildren(errorMessage(error.message, () => this.translate()));
    }
    if (signal.aborted) return;
    this.isBusy = false;
    this.setPending(false);
    this.onUpdate(this);
  }

  translate() {
    return this.run(async (signal) => {
      this.lines = [];
      this.list.show(this.lines);
      this.copy.hidden = true;
      if (!state.text.trim()) return this.showInvitation();
      this.setPending(true);
      this.lines = await this.translateLines(signal);
      this.list.show(this.lines);
      if (this.sentence) await this.showSentence(signal);
    });
  }

  // While the text is translated, nothing: showSentence follows by itself.
  async inspectSentence() {
    if (this.sentence) await this.run((signal) => this.showSentence(signal));
  }

  // The lines of the text, translated; a single sentence is left to showSentence, which shows it word by word.
  async translateLines(signal) {
    const { text } = state;
    if (!mayBeSeveral(text)) return [{ gaps: ["", ""], sentences: [{ source: text.trim(), text: null }] }];
    const texts = text.split("\n");
    const records = await translateText(texts.filter((line) => line.trim()), this.options, signal);
    const translated = records.map(parseLine)[Symbol.iterator]();
    const lines = texts.map((line) => (line.trim() ? translated.next().value : { gaps: [line], sentences: [] }));
    await this.translateChosen(lines.flatMap(({ sentences }) => sentences), signal);
    return lines;
  }

  // Translates the sentences whose first words the user has chosen, such as those of a shared address.
  async translateChosen(sentences, signal) {
    const chosen = sentences.filter(({ source }) => this.settings.prefixes[source]);
    if (!chosen.length) return;
    const lines = chosen.map(({ source }) => ({ text: source, prefix: this.settings.prefixes[source] }));
    const records = await translateLines(lines, this.options, signal);
    chosen.forEach((sentence, n) => (sentence.text = records[n].text));
  }

  async showSentence(signal) {
    const { sentence } = this;
    this.list.select(this.index);
    this.setPending(true);
    this.showPrefix();
    const record = await stream(this.body, signal, (text) => (this.output.textContent = text));
    sentence.text = this.output.textContent = record.text;
    this.list.update(sentence);
    this.copy.hidden = false;
    if (!record.text.trim()) return this.info.replaceChildren("The model's translation is empty.");
    this.words = await inspect("words", this.body, signal);
    this.views = this.words.views;
    this.showWords(record);
    if (this.views.includes("attention")) this.attention = await inspect("attention", this.body, signal);
    this.showSourceWords();
  }

  // Each inspection is requested once per translation, or again if it failed.
  async inspect(kind, options = {}) {
    const { inspections } = this;
    const key = JSON.stringify([kind, options]);
    inspections[key] ??= inspect(kind, { ...this.body, ...options }, this.controller.signal).catch((error) => {
      delete inspections[key];
      throw error;
    });
    return inspections[key];
  }

  setPending(isPending) {
    this.output.classList.toggle("pending", isPending);
    this.output.setAttribute("aria-busy", String(isPending));
    if (isPending && !this.output.hasChildNodes()) this.output.replaceChildren(waiting("Translating"));
  }

  showInvitation() {
    this.output.replaceChildren(element("span", { class: "note" }, "The translation appears here while you type."));
  }

  showEmptySentence() {
    this.output.replaceChildren();
    this.sourceWords.replaceChildren();
    this.info.replaceChildren();
    this.legend.hidden = true;
    this.prefix.hidden = true;
  }

  showPrefix() {
    const prefix = this.settings.prefixes[this.sentence.source] ?? "";
    const remove = () => this.choosePrefix("").then(() => this.focusWord(0));
    this.prefix.hidden = !prefix;
    this.prefix.replaceChildren(`begins with “${prefix}”`, element("button", { type: "button", onclick: remove }, "Remove prefix"));
  }

  showWords(record) {
    const confidence = record.confidence === undefined ? "" : `, confidence ${percent(record.confidence)}`;
    this.summary = `log-probability ${this.words.score?.toFixed(2) ?? "−∞"}${confidence}`;
    this.info.textContent = this.summary;
    this.legend.hidden = false;
    const parts = this.words.words.map((word, index) => this.wordButton(word, index));
    this.output.replaceChildren(...keepPunctuation(parts));
    this.buttons = parts.map(({ button }) => button);
    moveFocusWithArrows(this.buttons);
  }

  // Returns the focus to a word that was replaced, unless the user has moved on.
  focusWord(index) {
    if (this.words && document.activeElement === document.body) this.buttons[Math.min(index, this.buttons.length - 1)]?.focus();
  }

  wordButton(word, index) {
    const probability = Math.exp(word.scores.reduce((sum, score) => sum + (score ?? -Infinity), 0));
    const space = word.text.match(/^\s*/u)[0];
    const button = element(
      "button",
      {
        type: "button",
        class: `word probability ${probabilityLevel(probability)}`,
        lang: this.model.target,
        "aria-haspopup": "listbox",
        "aria-expanded": "false",
        "aria-label": `${word.name}, ${percent(probability)}`,
        onclick: () => openAlternatives(this, word, index, button),
        onmouseenter: () => this.highlight(index),
        onmouseleave: () => this.highlight(null),
        onfocus: () => this.highlight(index),
        onblur: () => this.highlight(null),
      },
      word.text.slice(space.length),
    );
    return { space, button };
  }

  showSourceWords() {
    const words = (this.attention?.source ?? []).slice(0, -1);
    this.sourceWords.replaceChildren(...words.flatMap((word) => [element("span", {}, word), " "]));
  }

  // Shows the probability and the attention of the word with this index; null: of none.
  highlight(index) {
    const weights = index === null || !this.attention ? null : selectWeights(this.attention)[index];
    [...this.sourceWords.children].forEach((span, column) => {
      setVariable(span, "--weight", weights ? weights[column] : 0);
      span.classList.toggle("highlighted", weights !== null && weights[column] > HIGHLIGHT_FROM);
    });
    const label = this.buttons[index]?.getAttribute("aria-label");
    this.info.textContent = [label, weights && describeAttention(this.attention, weights, this.words.words[index])].filter(Boolean).join(": ") || this.summary;
    this.onHighlight(this, index);
  }
}

// Punctuation without a space before it stays on the line of its word.
function keepPunctuation(parts) {
  const groups = [];
  for (const { space, button } of parts) {
    if (space || !groups.length || /[\p{L}\p{N}]/u.test(button.textContent)) groups.push([space, element("span", { class: "unbroken" }, button)]);
    else groups.at(-1)[1].append(button);
  }
  return groups.flat();
}

function describeAttention({ source }, weights, word) {
  const best = weights.map((weight, column) => [weight, source[column]]).sort(([a], [b]) => b - a);
  return `${word.name} attends to ${best.slice(0, 3).map(([weight, name]) => `${name} ${percent(weight)}`).join(", ")}`;
}

// The sentences of a text: how its lines are joined again, and the list of source and translation side by side.

import { element, moveFocusWithArrows } from "./dom.js";

// Whether a text may be several sentences. Only the server splits it; this saves a request for a single sentence.
export function mayBeSeveral(text) {
  const end = text.search(/[\n\p{Sentence_Terminal}]/u);
  return end >= 0 && /[\p{L}\p{N}]/u.test(text.slice(end));
}

// A line of the text: its sentences, and the gaps before, between and after them.
export function parseLine({ source, sentences }) {
  const gaps = [];
  let position = 0;
  for (const sentence of sentences) {
    const start = Math.max(position, source.indexOf(sentence.source, position));
    gaps.push(source.slice(position, start));
    position = start + sentence.source.length;
  }
  return { gaps: [...gaps, source.slice(position)], sentences: sentences.map(({ source: words, text }) => ({ source: words, text })) };
}

// The translation with the lines, empty lines and white space of the text.
export function joinLines(lines) {
  return lines.map(({ gaps, sentences }) => gaps[0] + sentences.map(({ text }, n) => (text ?? "") + gaps[n + 1]).join("")).join("\n");
}

// The list of sentences; a click selects one. Lines without a sentence are gaps between the others.
export class SentenceList {
  constructor(languages, onSelect) {
    Object.assign(this, { languages, onSelect, rows: [] });
    this.element = element("ol", { class: "sentences", "aria-label": "Sentences" });
  }

  // Sentences with a text that is not known yet show a dash.
  show(lines) {
    this.rows = [];
    const groups = lines.map(({ gaps, sentences }) => sentences.map((sentence, n) => this.makeRow(sentence, n ? "" : gaps[0])));
    this.element.replaceChildren(...groups.flatMap((rows) => (rows.length ? rows : [element("li", { class: "gap", "aria-hidden": "true" })])));
    this.element.hidden = this.rows.length < 2;
    moveFocusWithArrows(this.buttons, { keys: ["ArrowUp", "ArrowDown"] });
  }

  get buttons() {
    return this.rows.map(({ button }) => button);
  }

  // start: what a line has before its first sentence, such as spaces and a bullet.
  makeRow(sentence, start) {
    const index = this.rows.length;
    const translation = element("span", {}, sentence.text ?? "–");
    const side = (language, content) => element("span", { dir: "auto", lang: language }, start, content);
    const button = element("button", { type: "button", onclick: () => this.onSelect(index) }, side(this.languages.source, sentence.source), side(this.languages.target, translation));
    this.rows.push({ button, translation, sentence });
    return element("li", {}, button);
  }

  select(index) {
    this.rows.forEach(({ button }, n) => {
      button.toggleAttribute("aria-current", n === index);
      if (n === index) button.setAttribute("aria-current", "true");
      button.tabIndex = n === index ? 0 : -1;
    });
  }

  // The translation of a sentence has changed.
  update(sentence) {
    for (const row of this.rows) if (row.sentence === sentence) row.translation.textContent = sentence.text;
  }
}

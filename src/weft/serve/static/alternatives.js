// Alternatives for a word: a list to choose from, by mouse or by keyboard.

import { displayToken, element, percent } from "./dom.js";

let close = () => {};

export function openAlternatives(system, word, button) {
  close();
  const current = word.alternatives.findIndex(({ token }) => token === word.tokens.find((other) => other !== "▁"));
  const items = word.alternatives.map(({ token, score }, index) =>
    element(
      "li",
      { role: "option", id: `alternative-${index}`, onclick: () => choose(index), onmousemove: () => highlight(index) },
      element("span", {}, displayToken(token), index === current ? element("small", { class: "current" }, " (current)") : ""),
      element("small", {}, percent(Math.exp(score ?? -Infinity))),
    ),
  );
  const list = element("ul", { class: "alternatives", role: "listbox", tabindex: "-1", "aria-label": `Alternatives to ${word.name}`, onkeydown: onKey, onblur: () => close() }, ...items);
  let highlighted = 0;

  function highlight(index) {
    highlighted = Math.min(Math.max(index, 0), items.length - 1);
    items.forEach((item, n) => item.setAttribute("aria-selected", String(n === highlighted)));
    list.setAttribute("aria-activedescendant", items[highlighted].id);
    items[highlighted].scrollIntoView({ block: "nearest" });
  }

  function choose(index) {
    close();
    const { prefix } = word.alternatives[index];
    system.change({ prefix }).then(() => system.buttons?.find((other) => other.tabIndex === 0)?.focus());
  }

  function onKey(event) {
    const target = { ArrowDown: highlighted + 1, ArrowUp: highlighted - 1, Home: 0, End: items.length - 1 }[event.key];
    if (target !== undefined) highlight(target);
    else if (event.key === "Enter" || event.key === " ") choose(highlighted);
    else if (event.key === "Escape") {
      close();
      button.focus();
    } else return;
    event.preventDefault();
  }

  close = () => {
    close = () => {};
    list.remove();
    button.setAttribute("aria-expanded", "false");
  };
  if (!items.length) return close();
  const frame = system.element.getBoundingClientRect();
  const box = button.getBoundingClientRect();
  list.style.setProperty("top", `${box.bottom - frame.top + 4}px`);
  system.element.append(list);
  list.style.setProperty("left", `${Math.max(8, Math.min(box.left - frame.left, frame.width - list.offsetWidth - 8))}px`);
  button.setAttribute("aria-expanded", "true");
  highlight(current === 0 && items.length > 1 ? 1 : 0);
  list.focus();
}

// Alternatives for a word: a list of words to choose from, by mouse or by keyboard.

import { element, percent, waiting } from "./dom.js";

let close = () => {};

export async function openAlternatives(system, word, index, button) {
  close();
  const list = element("ul", { class: "alternatives", role: "listbox", tabindex: "-1", "aria-busy": "true", "aria-label": `Alternatives to ${word.name}`, onkeydown: onKey, onblur: () => close() });
  let [alternatives, items, highlighted] = [[], [], 0];

  function highlight(number) {
    highlighted = Math.min(Math.max(number, 0), items.length - 1);
    items.forEach((item, n) => item.setAttribute("aria-selected", String(n === highlighted)));
    list.setAttribute("aria-activedescendant", items[highlighted].id);
    items[highlighted].scrollIntoView({ block: "nearest" });
  }

  function choose(number) {
    if (!items.length) return;
    close();
    button.focus();
    system.choosePrefix(alternatives[number].prefix).then(() => system.focusWord(index));
  }

  function onKey(event) {
    const target = { ArrowDown: highlighted + 1, ArrowUp: highlighted - 1, Home: 0, End: items.length - 1 }[event.key];
    if (target !== undefined && items.length) highlight(target);
    else if (event.key === "Enter" || event.key === " ") choose(highlighted);
    else if (event.key === "Escape") {
      close();
      button.focus();
    } else return;
    event.preventDefault();
  }

  function show(content) {
    list.replaceChildren(...content);
    place(list, button, system.element);
  }

  close = () => {
    close = () => {};
    list.remove();
    button.setAttribute("aria-expanded", "false");
  };
  system.element.append(list);
  show([element("li", { role: "option", "aria-disabled": "true" }, waiting("Looking for other words"))]);
  button.setAttribute("aria-expanded", "true");
  list.focus();
  try {
    ({ alternatives } = await system.inspect("alternatives", { word: index }));
  } catch (error) {
    if (list.isConnected) show([element("li", { role: "option", "aria-disabled": "true" }, error.message)]);
    return;
  }
  if (!list.isConnected) return; // closed in the meantime
  list.setAttribute("aria-busy", "false");
  items = alternatives.map((alternative, n) => makeItem(alternative, n, () => choose(n), () => highlight(n)));
  show(items.length ? items : [element("li", { role: "option", "aria-disabled": "true" }, "There are no words to choose from here.")]);
  if (items.length) highlight(alternatives[0].is_current && items.length > 1 ? 1 : 0);
}

function makeItem({ name, score, is_current }, number, onclick, onmousemove) {
  return element(
    "li",
    { role: "option", id: `alternative-${number}`, onclick, onmousemove },
    element("span", {}, name, is_current ? element("small", {}, " (current)") : ""),
    element("small", {}, percent(Math.exp(score ?? -Infinity))),
  );
}

// Below the word, within the frame.
function place(list, button, frame) {
  const [outer, box] = [frame.getBoundingClientRect(), button.getBoundingClientRect()];
  list.style.setProperty("top", `${box.bottom - outer.top + 4}px`);
  list.style.setProperty("left", `${Math.max(8, Math.min(box.left - outer.left, outer.width - list.offsetWidth - 8))}px`);
}

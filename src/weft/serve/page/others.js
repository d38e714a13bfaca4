// What else could stand at a place: a list to choose from, by mouse or by keys.

import { make, percent, shown } from "./dom.js";

let close = () => {};

export function openOthers(system, word, button) {
  close();
  const here = word.others.findIndex((one) => one.piece === word.pieces.find((piece) => piece !== "▁"));
  const items = word.others.map((one, place) =>
    make(
      "li",
      { role: "option", id: `other-${place}`, onclick: () => choose(place), onmousemove: () => select(place) },
      make("span", {}, shown(one.piece), place === here ? make("small", { class: "here" }, " (as it is)") : ""),
      make("small", {}, percent(Math.exp(one.score ?? -Infinity))),
    ),
  );
  const list = make("ul", { class: "others", role: "listbox", tabindex: "-1", "aria-label": `Instead of ${word.name}`, onkeydown: pressed, onblur: () => close() }, ...items);
  let chosen = 0;

  function select(place) {
    chosen = Math.min(Math.max(place, 0), items.length - 1);
    items.forEach((item, n) => item.setAttribute("aria-selected", String(n === chosen)));
    list.setAttribute("aria-activedescendant", items[chosen].id);
    items[chosen].scrollIntoView({ block: "nearest" });
  }

  function choose(place) {
    close();
    const { prefix } = word.others[place];
    system.choose({ prefix }).then(() => system.buttons?.find((one) => one.tabIndex === 0)?.focus());
  }

  function pressed(event) {
    const goal = { ArrowDown: chosen + 1, ArrowUp: chosen - 1, Home: 0, End: items.length - 1 }[event.key];
    if (goal !== undefined) select(goal);
    else if (event.key === "Enter" || event.key === " ") choose(chosen);
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
  const place = button.getBoundingClientRect();
  list.style.setProperty("top", `${place.bottom - frame.top + 4}px`);
  system.element.append(list);
  list.style.setProperty("left", `${Math.max(8, Math.min(place.left - frame.left, frame.width - list.offsetWidth - 8))}px`);
  button.setAttribute("aria-expanded", "true");
  select(here === 0 && items.length > 1 ? 1 : 0);
  list.focus();
}

// Creating elements.

const SVG = "http://www.w3.org/2000/svg";

export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

// Sets a CSS variable to a number. The page's security policy forbids style attributes.
export function setVariable(node, name, value) {
  node.style.setProperty(name, value.toFixed(4));
  return node;
}

export const percent = (share) => `${share >= 0.0995 ? Math.round(100 * share) : share < 0.0005 ? "< 0.1" : (100 * share).toFixed(1)} %`;

export const displayToken = (token) => token.replace(/^▁(?=.)/u, "").replaceAll("▁", "␣");

// A spinner, and what it stands for.
export function waiting(text) {
  return element("span", { class: "waiting" }, element("span", { class: "spinner", "aria-hidden": "true" }), `${text} …`);
}

// What went wrong, and a button to try again.
export function errorMessage(text, retry) {
  return element("span", { class: "error", role: "alert" }, `${text} `, element("button", { type: "button", class: "small", onclick: retry }, "Try again"));
}

// The name of the focused element inside a container, "" if it has none, null if the focus is elsewhere.
export function focusKey(container) {
  const focused = document.activeElement;
  return focused !== null && container.contains(focused) ? (focused.dataset.name ?? "") : null;
}

// Moves the focus to the element with this name, if there is one.
export function restoreFocus(container, name) {
  if (name) container.querySelector(`[data-name="${CSS.escape(name)}"]`)?.focus({ preventScroll: true });
}

let selects = 0;

// A labeled select element.
export function select(name, options, value, onSelect) {
  const id = `select-${(selects += 1)}`;
  const items = options.map(([option, label]) => element("option", { value: option, selected: option === value }, label));
  const field = element("select", { id, "data-name": name }, ...items);
  field.addEventListener("change", () => onSelect(field.value));
  return element("div", { class: "field" }, element("label", { for: id }, name), field);
}

// Arrow keys move the focus between these elements; Tab reaches one of them (roving tabindex).
export function moveFocusWithArrows(nodes, { keys = ["ArrowLeft", "ArrowRight"], first = 0 } = {}) {
  nodes.forEach((node, index) => {
    node.tabIndex = index === first ? 0 : -1;
    node.addEventListener("focus", () => nodes.forEach((other) => (other.tabIndex = other === node ? 0 : -1)));
    node.addEventListener("keydown", (event) => {
      const target = { [keys[0]]: index - 1, [keys[1]]: index + 1, Home: 0, End: nodes.length - 1 }[event.key];
      if (target === undefined || !nodes[target]) return;
      event.preventDefault();
      nodes[target].focus();
    });
  });
}

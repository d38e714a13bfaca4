// Making elements.

const SVG = "http://www.w3.org/2000/svg";

export function make(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function draw(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

// A style that depends on a number, as --w; set here, since the policy of the page allows no style in attributes.
export function weigh(element, name, value) {
  element.style.setProperty(name, value.toFixed(4));
  return element;
}

export const percent = (share) => `${share >= 0.0995 ? Math.round(100 * share) : (100 * share).toFixed(1)} %`;

export const shown = (piece) => piece.replace(/^▁(?=.)/u, "").replaceAll("▁", "␣");

// Arrow keys go among these elements, of which one can be reached by Tab.
export function rove(elements, { keys = ["ArrowLeft", "ArrowRight"], first = 0 } = {}) {
  elements.forEach((one, place) => {
    one.tabIndex = place === first ? 0 : -1;
    one.addEventListener("focus", () => elements.forEach((other) => (other.tabIndex = other === one ? 0 : -1)));
    one.addEventListener("keydown", (event) => {
      const goal = { [keys[0]]: place - 1, [keys[1]]: place + 1, Home: 0, End: elements.length - 1 }[event.key];
      if (goal === undefined || !elements[goal]) return;
      event.preventDefault();
      elements[goal].focus();
    });
  });
}

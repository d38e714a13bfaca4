// What the page shows, stored after the # of its address: it can be shared, and is not sent to the server by itself.

const SYSTEM = { model: "", beam: "", prefix: "" };

export const state = { text: "", view: "attention", layer: "", head: "", systems: [{ ...SYSTEM }] };

export function readAddress() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  for (const name of ["text", "view", "layer", "head"]) state[name] = parameters.get(name) ?? (name === "view" ? "attention" : "");
  const count = parameters.has("model2") || parameters.has("beam2") ? 2 : 1;
  state.systems = Array.from({ length: count }, (_, index) => {
    const system = { ...SYSTEM };
    for (const name of Object.keys(SYSTEM)) system[name] = parameters.get(name + (index ? "2" : "")) ?? "";
    return system;
  });
}

export function writeAddress() {
  const parameters = new URLSearchParams();
  for (const name of ["text", "view", "layer", "head"]) if (state[name]) parameters.set(name, state[name]);
  state.systems.forEach((system, index) => {
    for (const name of Object.keys(SYSTEM)) if (system[name] || (index && name === "model")) parameters.set(name + (index ? "2" : ""), system[name]);
  });
  history.replaceState(null, "", `#${parameters}`);
}

// A second system: like the first, but with another model, or with another beam if there is only one model.
export function addSystem(models) {
  const [first] = state.systems;
  const other = models.find(({ name }) => name !== (first.model || models[0].name));
  state.systems.push({ ...SYSTEM, model: other ? other.name : first.model, beam: other ? first.beam : first.beam === "1" ? "5" : "1" });
}

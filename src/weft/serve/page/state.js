// What the page shows, kept behind the # of its address: it can be shared, and is never sent to the server by itself.

const OWN = { model: "", beam: "", prefix: "" };

export const state = { text: "", view: "attention", layer: "", head: "", systems: [{ ...OWN }] };

export function read() {
  const found = new URLSearchParams(location.hash.slice(1));
  for (const name of ["text", "view", "layer", "head"]) state[name] = found.get(name) ?? (name === "view" ? "attention" : "");
  const count = found.has("model2") || found.has("beam2") ? 2 : 1;
  state.systems = Array.from({ length: count }, (_, place) => {
    const own = { ...OWN };
    for (const name of Object.keys(OWN)) own[name] = found.get(name + (place ? "2" : "")) ?? "";
    return own;
  });
}

export function write() {
  const told = new URLSearchParams();
  for (const name of ["text", "view", "layer", "head"]) if (state[name]) told.set(name, state[name]);
  state.systems.forEach((own, place) => {
    for (const name of Object.keys(OWN)) if (own[name] || (place && name === "model")) told.set(name + (place ? "2" : ""), own[name]);
  });
  history.replaceState(null, "", `#${told}`);
}

// A second system: like the first, but by another model, or by another search where there is only one.
export function addSystem(models) {
  const [own] = state.systems;
  const other = models.find((one) => one.name !== (own.model || models[0].name));
  state.systems.push({ ...OWN, model: other ? other.name : own.model, beam: other ? own.beam : own.beam === "1" ? "5" : "1" });
}

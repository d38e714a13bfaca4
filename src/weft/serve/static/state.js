// What the page shows, stored after the # of its address: it can be shared, and is not sent to the server by itself.

const NAMES = ["text", "view", "layer", "head", "sentence"];

// prefixes: by sentence of the source, the words that the user has chosen.
const makeSystem = (settings = {}) => ({ model: "", beam: "", prefixes: {}, ...settings });

export const state = { text: "", view: "", layer: "", head: "", sentence: "", systems: [makeSystem()] };

export function readAddress() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  for (const name of NAMES) state[name] = parameters.get(name) ?? "";
  const suffixes = parameters.has("model2") || parameters.has("beam2") ? ["", "2"] : [""];
  state.systems = suffixes.map((suffix) =>
    makeSystem({ model: parameters.get(`model${suffix}`) ?? "", beam: parameters.get(`beam${suffix}`) ?? "", prefixes: parsePrefixes(parameters.get(`prefixes${suffix}`)) }),
  );
}

function parsePrefixes(text) {
  try {
    return Object.fromEntries(Object.entries(JSON.parse(text ?? "{}")).filter(([, prefix]) => typeof prefix === "string"));
  } catch {
    return {}; // an address may be cut or edited
  }
}

export function writeAddress() {
  const parameters = new URLSearchParams();
  for (const name of NAMES) if (state[name]) parameters.set(name, state[name]);
  state.systems.forEach(({ model, beam, prefixes }, index) => {
    const suffix = index ? "2" : "";
    if (model || index) parameters.set(`model${suffix}`, model);
    if (beam) parameters.set(`beam${suffix}`, beam);
    if (Object.keys(prefixes).length) parameters.set(`prefixes${suffix}`, JSON.stringify(prefixes));
  });
  history.replaceState(null, "", `#${parameters}`);
}

// A second system: like the first, but with another model, or with another beam if there is only one model.
export function addSystem(models) {
  const [first] = state.systems;
  const other = models.find(({ name }) => name !== (first.model || models[0].name));
  state.systems.push(makeSystem(other ? { model: other.name, beam: first.beam } : { model: first.model, beam: first.beam === "1" ? "5" : "1" }));
}

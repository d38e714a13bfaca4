// Requests to the server. If it needs an API key, the page asks for one and keeps it until the tab is closed.

const form = document.querySelector("#key-form");
const input = document.querySelector("#key");

function headers() {
  const key = sessionStorage.getItem("key");
  return { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) };
}

export function onKeyEntered(retry) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("key", input.value);
    form.hidden = true;
    retry();
  });
}

async function request(path, options) {
  const response = await fetch(path, { ...options, headers: headers() }).catch(explainConnection);
  if (response.ok) return response;
  if (response.status === 403) form.hidden = false;
  const { error } = await response.json().catch(() => ({})); // a proxy may have answered
  throw new Error(error ?? `The server answered with status ${response.status}.`);
}

function explainConnection(error) {
  if (error.name === "AbortError") throw error;
  throw new Error("The server does not answer. Check that weft serve is running and that you are connected.");
}

const post = async (path, body, signal) => (await request(path, { method: "POST", body: JSON.stringify(body), signal })).json();

export async function fetchModels() {
  return (await request("v1/models", {})).json();
}

export async function fetchTraining() {
  return (await request("v1/training", {})).json();
}

export function inspect(kind, body, signal) {
  return post(`v1/inspect/${kind}`, body, signal);
}

// Translates lines of any number of sentences: for each, its source and its sentences with their translations.
export async function translateText(lines, options, signal) {
  return (await post("v1/translate", { lines, ...options }, signal)).lines;
}

// Translates lines that are sentences, with constraints.
export async function translateLines(lines, options, signal) {
  return (await post("v1/translate", { lines, split: false, ...options }, signal)).lines;
}

// Calls onPrefix with the text so far, again and again; returns the record of the translation.
export async function stream(body, signal, onPrefix) {
  const response = await request("v1/stream", { method: "POST", body: JSON.stringify(body), signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { value, done } = await reader.read().catch(explainConnection);
    if (done) throw new Error("The connection to the server was lost.");
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const match = event.match(/^event: (\w+)\ndata: (.*)$/su);
      if (!match) continue; // a comment that keeps the connection alive
      const data = JSON.parse(match[2]);
      if (match[1] === "error") throw new Error(data.error);
      if (match[1] === "translation") return data;
      onPrefix(data.text);
    }
  }
}

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
  const response = await fetch(path, { ...options, headers: headers() });
  if (response.ok) return response;
  if (response.status === 403) form.hidden = false;
  throw new Error((await response.json()).error);
}

export async function fetchModels() {
  return (await request("v1/models", {})).json();
}

export async function fetchTraining() {
  return (await request("v1/training", {})).json();
}

export async function inspect(kind, body, signal) {
  return (await request(`v1/inspect/${kind}`, { method: "POST", body: JSON.stringify(body), signal })).json();
}

// Calls onPrefix with the text so far, again and again; returns the record of the translation.
export async function stream(body, signal, onPrefix) {
  const response = await request("v1/stream", { method: "POST", body: JSON.stringify(body), signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { value, done } = await reader.read();
    if (done) throw new Error("The connection was lost.");
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

// What is asked of the server. Where it wants a key, the person is asked for one, which is kept as long as the tab.

const form = document.querySelector("#key-form");
const key = document.querySelector("#key");

function headers() {
  const kept = sessionStorage.getItem("key");
  return { "Content-Type": "application/json", ...(kept ? { Authorization: `Bearer ${kept}` } : {}) };
}

export function whenKeyed(again) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("key", key.value);
    form.hidden = true;
    again();
  });
}

async function answered(path, options) {
  const answer = await fetch(path, { ...options, headers: headers() });
  if (answer.ok) return answer;
  if (answer.status === 403) form.hidden = false;
  throw new Error((await answer.json()).error);
}

export async function models() {
  return (await answered("v1/models", {})).json();
}

export async function training() {
  return (await answered("v1/training", {})).json();
}

export async function inspect(kind, body, signal) {
  return (await answered(`v1/inspect/${kind}`, { method: "POST", body: JSON.stringify(body), signal })).json();
}

// Tells of the text so far, again and again; the last is the record of the translation.
export async function stream(body, signal, tell) {
  const answer = await answered("v1/stream", { method: "POST", body: JSON.stringify(body), signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { value, done } = await reader.read();
    if (done) throw new Error("The server broke off.");
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const [, name, data] = event.match(/^event: (\w+)\ndata: (.*)$/su);
      const told = JSON.parse(data);
      if (name === "error") throw new Error(told.error);
      if (name === "translation") return told;
      tell(told.text);
    }
  }
}

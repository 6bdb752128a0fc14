// Requests to the server that this page came from.
import { t } from "./texts.js";

// base is the path that the server is reached under, without its last slash.
export const base = new URL("..", import.meta.url).pathname.slice(0, -1);

// The key is forgotten with the session, unless who types it wants it to be remembered.
const keyField = document.getElementById("key");
const keepKey = document.getElementById("keep-key");
const showKey = (shown) => [keyField, keepKey].forEach((element) => (element.closest("label").hidden = !shown));
keepKey.checked = localStorage.getItem("key") !== null;
keyField.value = localStorage.getItem("key") || sessionStorage.getItem("key") || "";
showKey(keyField.value); // most servers want none
const storeKey = () => {
  sessionStorage.setItem("key", keyField.value);
  if (keepKey.checked) localStorage.setItem("key", keyField.value);
  else localStorage.removeItem("key");
};
keepKey.addEventListener("change", storeKey);
keyField.addEventListener("change", () => {
  storeKey();
  document.dispatchEvent(new Event("key"));
});

export const hasKey = () => keyField.value !== "";

const patience = 3; // seconds

// The names of the collections that requests are about, and of them the one that what is not asked of all is
// about; none on a server of one.
let chosen = [],
  single;
export const choose = (names, one) => {
  chosen = names;
  single = one;
};
export const chosenNames = () => chosen;
export const singleName = () => single;

// pathOf returns where a path of the API is for a collection, or for those that are chosen: a search goes
// over all of these, everything else is about one.
function pathOf(path, collection) {
  const of = collection || single;
  if (!of || !path.startsWith("/v1/") || path.startsWith("/v1/collections")) return path;
  if (!collection && joins(path)) return path;
  return `/v1/collections/${encodeURIComponent(of)}${path.slice(3)}`;
}

const joins = (path) => chosen.length > 1 && path === "/v1/search";
const valueOf = (path, value, collection) => (!collection && joins(path) ? { ...value, collections: chosen } : value);
const bodyOf = (path, value, collection) => JSON.stringify(valueOf(path, value, collection));

// target returns the address and the value of a request as it is sent.
export const target = (path, value) => ({ url: `${location.origin}${base}${pathOf(path)}`, value: valueOf(path, value) });

// send makes a request and returns the response; an answer that is a problem is thrown.
// A server that has too much to do for a moment is asked again when it says.
export async function send(method, path, { body, headers = {}, signal, collection, tries = 2 } = {}) {
  if (keyField.value) headers["X-API-Key"] = keyField.value;
  const response = await fetch(base + pathOf(path, collection), { method, headers, body, signal }).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw {
      title: t`The server cannot be reached`,
      detail: t`The server may have stopped, or the connection is broken. Try again.`,
    };
  });
  if (response.ok) return response;
  const wait = Number(response.headers.get("Retry-After"));
  if (response.status === 429 && wait > 0 && wait <= patience && tries > 0) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * wait));
    signal?.throwIfAborted();
    return send(method, path, { body, headers, signal, collection, tries: tries - 1 });
  }
  if (response.status === 401) showKey(true);
  const text = await response.text();
  let error;
  try {
    error = JSON.parse(text);
  } catch {
    error = { status: response.status, title: t`The server answered with status ${response.status}`, detail: text.slice(0, 300) };
  }
  error.retryAfter = response.headers.get("Retry-After");
  throw error;
}

export const get = async (path, options) => (await send("GET", path, options)).json();

export const post = async (path, value, { signal, collection } = {}) =>
  (
    await send("POST", path, { body: bodyOf(path, value, collection), headers: { "content-type": "application/json" }, signal, collection })
  ).json();

// stream posts what is answered by events, and returns when all is there but what a model writes: begun is
// that, done resolves to the whole answer, and each is told the text so far whenever it is longer. Where
// no events come, as through some proxies, all is there at once.
export async function stream(path, value, { signal } = {}) {
  const response = await send("POST", path, {
    body: bodyOf(path, value),
    headers: { "content-type": "application/json", accept: "text/event-stream, application/json;q=0.5" },
    signal,
  });
  const writing = { text: "", each: () => {} };
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    writing.begun = await response.json();
    writing.done = Promise.resolve(writing.begun);
    return writing;
  }
  writing.begun = await new Promise((resolve, reject) => {
    writing.done = follow(response.body, signal, (name, data) => {
      if (name === "passages") resolve(data);
      else if (name === "token") writing.each((writing.text += data.text));
    });
    writing.done.then(resolve, reject);
  });
  return writing;
}

// follow tells each event of a stream, and returns the data of the last one, "response".
async function follow(body, signal, told) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      signal?.throwIfAborted();
      throw { title: t`The answer ended early`, detail: t`The connection to the server broke: ${error.message}` };
    });
    if (done) throw { title: t`The answer ended early`, detail: t`The server closed the connection before the answer was complete. Ask again.` };
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const field = (name) => event.split("\n").filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2)).join("\n");
      const [name, data] = [field("event"), JSON.parse(field("data"))];
      if (name === "problem") throw data;
      if (name === "response") return data;
      told(name, data);
    }
  }
}

// perhaps is a request's value, or nothing where the key does not allow it.
export const perhaps = (promise) =>
  promise.catch((error) => {
    if (error.status === 401 || error.status === 403 || error.status === 404) return null;
    throw error;
  });

// Requests to the server that this page came from.

// base is the path that the server is reached under, without its last slash.
export const base = new URL("..", import.meta.url).pathname.slice(0, -1);

const keyField = document.getElementById("key");
const keyLabel = keyField.closest("label");
keyField.value = sessionStorage.getItem("key") || "";
keyLabel.hidden = !keyField.value; // most servers want none
keyField.addEventListener("change", () => {
  sessionStorage.setItem("key", keyField.value);
  document.dispatchEvent(new Event("key"));
});

export const hasKey = () => keyField.value !== "";

const patience = 3; // seconds

// send makes a request and returns the response; an answer that is a problem is thrown.
// A server that has too much to do for a moment is asked again when it says.
export async function send(method, path, { body, headers = {}, signal, tries = 2 } = {}) {
  if (keyField.value) headers["X-API-Key"] = keyField.value;
  const response = await fetch(base + path, { method, headers, body, signal }).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw {
      title: "The server cannot be reached",
      detail: "It may have stopped, or the connection is gone. Try again.",
    };
  });
  if (response.ok) return response;
  const wait = Number(response.headers.get("Retry-After"));
  if (response.status === 429 && wait > 0 && wait <= patience && tries > 0) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * wait));
    signal?.throwIfAborted();
    return send(method, path, { body, headers, signal, tries: tries - 1 });
  }
  if (response.status === 401) keyLabel.hidden = false;
  const text = await response.text();
  let error;
  try {
    error = JSON.parse(text);
  } catch {
    error = { status: response.status, title: `The server answered ${response.status}`, detail: text.slice(0, 300) };
  }
  error.retryAfter = response.headers.get("Retry-After");
  throw error;
}

export const get = async (path, options) => (await send("GET", path, options)).json();

export const post = async (path, value, { signal } = {}) =>
  (
    await send("POST", path, { body: JSON.stringify(value), headers: { "content-type": "application/json" }, signal })
  ).json();

// perhaps is a request's value, or nothing where the key does not allow it.
export const perhaps = (promise) =>
  promise.catch((error) => {
    if (error.status === 401 || error.status === 403 || error.status === 404) return null;
    throw error;
  });

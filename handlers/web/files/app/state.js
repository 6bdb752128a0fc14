// The page's state is its address: who opens it sees the same.
import { base } from "./api.js";

const lists = ["tags", "methods"];

export function read() {
  const query = new URLSearchParams(location.search);
  const state = { view: "ask", q: "", tags: [], methods: [] };
  for (const [name, value] of query) {
    if (lists.includes(name)) state[name] = value ? value.split(",") : [];
    else state[name] = value;
  }
  return state;
}

export function address(state) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    const text = Array.isArray(value) ? value.join(",") : value;
    if (text && !(name === "view" && text === "ask")) query.set(name, text);
  }
  const text = query.toString();
  return text ? `${base}/?${text}` : `${base}/`;
}

// go changes the state; what it does not name stays. A new question is a step of the
// browser's history, what else changes is not.
export function go(change, { replace = false } = {}) {
  const next = { ...read(), ...change };
  const to = address(next);
  if (to !== location.pathname + location.search) history[replace ? "replaceState" : "pushState"](null, "", to);
  document.dispatchEvent(new Event("state"));
}

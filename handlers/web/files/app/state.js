// The page's state is its address: who opens it sees the same.
import { base } from "./api.js";

const joined = ["tags", "methods", "collections", "asked"]; // with commas between; asked led to a document
const repeated = ["before"]; // questions, which have commas themselves
const condition = /^(is|from|to)\.(.+)$/s; // on a field: is.language=de, from.price=10

export function read() {
  const query = new URLSearchParams(location.search);
  const state = { view: "ask", q: "", tags: [], methods: [], before: [], collections: [], asked: [], where: [] };
  for (const [name, value] of query) {
    const [, by, field] = condition.exec(name) || [];
    if (by) state.where.push({ field, by, value });
    else if (joined.includes(name)) state[name] = value ? value.split(",") : [];
    else if (repeated.includes(name)) state[name].push(value);
    else state[name] = value;
  }
  // Comparing shows nothing without numbers.
  if (state.view === "compare") state.tune = "1";
  return state;
}

// address returns the address of a state.
export function address(state) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (repeated.includes(name)) for (const one of value || []) query.append(name, one);
    else if (name === "where") for (const one of value || []) query.append(`${one.by}.${one.field}`, one.value);
    else {
      const text = Array.isArray(value) ? value.join(",") : value;
      if (text && !(name === "view" && text === "ask")) query.set(name, text);
    }
  }
  const text = query.toString();
  return text ? `${base}/?${text}` : `${base}/`;
}

// to returns the address of another page for the person who looks at this one: with the numbers
// where they are shown, and of the same collections, and of the same one of these.
export const to = (state) => {
  const { tune, collections, of } = read();
  return address({ collections, of, ...state, tune });
};

// asking returns what a link to another view keeps of a question, so that it is not lost there.
export const asking = ({ q, before, tags, where, sort, in: within, answer, collections }) => ({ q, before, tags, where, sort, in: within, answer, collections });

// go changes the state; what it does not name stays. A new question is a step of the
// browser's history, what else changes is not.
export function go(change, { replace = false } = {}) {
  const next = { ...read(), ...change };
  const to = address(next);
  if (to !== location.pathname + location.search) history[replace ? "replaceState" : "pushState"](null, "", to);
  document.dispatchEvent(new Event("state"));
}

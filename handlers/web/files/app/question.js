// The box for a question, which two views share.
import { h, problem } from "./dom.js";
import { go, read } from "./state.js";
import { suggesting } from "./suggest.js";
import { t } from "./texts.js";

// What is typed and not yet asked is kept, whatever is drawn anew, until another question is
// answered: draft.of is the question that it was typed over.
const stored = JSON.parse(sessionStorage.getItem("draft") || "null");
let draft = stored && typeof stored.text === "string" ? stored : null;

function keep(text, of) {
  draft = text === of ? null : { text, of };
  if (draft) sessionStorage.setItem("draft", JSON.stringify(draft));
  else sessionStorage.removeItem("draft");
}

// textOf returns what the box has in a state.
const textOf = (state) => (draft?.of === state.q ? draft.text : state.q);

// questionForm asks for a question; what is submitted changes the state, with more.
export function questionForm(state, button, more = {}) {
  const input = h("input", {
    id: "question",
    type: "search",
    autocomplete: "off",
    spellcheck: "true",
    enterkeyhint: "search",
    placeholder: t`Ask a question`,
    value: textOf(state),
    input: () => keep(input.value, read().q),
  });
  const submit = (event) => {
    event.preventDefault();
    const q = input.value.trim();
    keep(q, q);
    go({ q, ...more });
  };
  const form = h(
    "form",
    { role: "search", submit },
    h("label", { for: "question", class: "unseen" }, t`Question`),
    input,
    h("button", { class: "main" }, button),
  );
  const list = suggesting(input, (text) => {
    keep(text, text);
    go({ q: text, ...more });
  });
  input.after(list);
  return form;
}

// answer shows what was asked for when it is there, that one waits when that takes more
// than a moment, and what went wrong unless the view has gone.
export async function answer(asked, body, signal, show) {
  body.setAttribute("aria-busy", "true");
  const waiting = setTimeout(
    () => body.replaceChildren(h("p", { class: "waiting", role: "status" }, t`Searching…`)),
    150,
  );
  try {
    show(await asked);
  } catch (error) {
    if (!signal.aborted) body.replaceChildren(problem(error));
  }
  clearTimeout(waiting);
  body.setAttribute("aria-busy", "false");
}

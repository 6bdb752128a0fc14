// The box for a question, which two views share.
import { h, problem } from "./dom.js";
import { go } from "./state.js";

// questionForm asks for a question; what is submitted changes the state, with more.
export function questionForm(state, button, more = {}) {
  const input = h("input", {
    id: "question",
    type: "search",
    autocomplete: "off",
    spellcheck: "true",
    enterkeyhint: "search",
    placeholder: "Ask a question",
    value: state.q,
  });
  const submit = (event) => {
    event.preventDefault();
    go({ q: input.value.trim(), ...more });
  };
  return h(
    "form",
    { role: "search", submit },
    h("label", { for: "question", class: "unseen" }, "Question"),
    input,
    h("button", { class: "main" }, button),
  );
}

// answer shows what was asked for when it is there, that one waits when that takes more
// than a moment, and what went wrong unless the view has gone.
export async function answer(asked, body, signal, show) {
  body.setAttribute("aria-busy", "true");
  const waiting = setTimeout(
    () => body.replaceChildren(h("p", { class: "waiting", role: "status" }, "Searching…")),
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

// Ask: one box, the answer with its source, and below it the passages.
import { answers } from "./answers.js";
import { get, post } from "./api.js";
import { copyButton } from "./copy.js";
import { h } from "./dom.js";
import { passages } from "./passages.js";
import { answer, questionForm } from "./question.js";
import { saveButton } from "./saved.js";
import { asking, go, to } from "./state.js";
import { typed } from "./typed.js";
import { offersFor, welcome } from "./welcome.js";
import { asked, named } from "./why.js";

export const page = 10;

// requestOf returns what is asked of the server; reader marks the answer, or writes it.
export function requestOf(state, reader) {
  const { question, ...words } = typed(state.q);
  return {
    ...(state.before.length > 0
      ? { messages: [...state.before, question].map((content) => ({ role: "user", content })) }
      : { question }),
    ...words,
    k: page,
    explain: true,
    fields: ["title", "text", "tags", "metadata", "document", "contributions", "sources", "highlights"],
    offsets: "utf16", // as strings of JavaScript are cut
    ...((state.tags.length > 0 || state.in) && {
      filter: { ...(state.tags.length > 0 && { tags_all: state.tags }), ...(state.in && { documents: [state.in] }) },
    }),
    ...(reader && { answer: { reader: reader.name } }),
    ...(state.typed && { correct: false }),
  };
}

// readersOf returns what marks or writes answers here; none where the key does not allow to know.
const readersOf = (signal) =>
  get("/v1/experts", { signal }).then(
    (known) => known.readers || [],
    () => [],
  );

// choose returns the reader that a state names; else the first that marks, for what writes has to
// be asked to.
const choose = (state, readers) =>
  state.answer === "none" ? undefined : readers.find((one) => one.name === state.answer) || readers.find((one) => !one.generates);

export function ask(state, signal) {
  const form = questionForm(state, "Ask", { view: "ask", open: "", typed: "", answer: "", before: [] });
  const body = h("div", { class: "answer", "aria-busy": "false" });
  const view = h(
    "div",
    { class: state.q ? "ask" : "ask first" },
    h("h1", { class: state.q ? "unseen" : "" }, "What do you want to know?"),
    form,
    filters(state),
    body,
  );
  if (state.q) {
    const readers = readersOf(signal);
    const found = readers.then((all) => post("/v1/search", requestOf(state, choose(state, all)), { signal }));
    answer(found, body, signal, async (response) => show(state, body, response, await readers, signal));
  } else {
    welcome(body, signal);
    queueMicrotask(() => form.elements.question.focus());
  }
  return view;
}

function filters(state) {
  if (state.tags.length === 0 && !state.in) return null;
  const removable = (text, label, change) =>
    h(
      "button",
      { type: "button", class: "tag on", "aria-label": label, click: () => go(change) },
      text,
      h("span", { "aria-hidden": "true" }, " ×"),
    );
  return h(
    "div",
    { class: "row filters", "aria-label": "What passages must have", role: "group" },
    h("span", { class: "soft" }, "only"),
    state.in && removable(state.in, `Ask all documents, not ${state.in} alone`, { in: "" }),
    state.tags.map((tag) => removable(tag, `Remove the tag ${tag}`, { tags: state.tags.filter((other) => other !== tag) })),
  );
}

async function show(state, body, found, readers, signal) {
  const sources = named(found);
  const reader = choose(state, readers);
  body.replaceChildren(
    h(
      "div",
      { class: "columns" },
      h(
        "div",
        { class: "main-column" },
        earlier(state, found),
        corrected(found),
        answers(found, state, readers, sources),
        (found.notes || []).map((note) => h("p", { class: "warning" }, note)),
        lacking(found),
        found.results.length > 0 && followUp(state),
        state.tune &&
          h(
            "div",
            { class: "row" },
            h("a", { href: to({ ...asking(state), view: "compare" }) }, "Compare methods"),
            copyButton(() => requestOf(state, reader)),
            readers.length > 0 &&
              h(
                "label",
                { class: "check" },
                h("input", {
                  type: "checkbox",
                  checked: Boolean(reader),
                  change: (event) => go({ answer: event.target.checked ? "" : "none" }),
                }),
                "Mark the answer",
              ),
          ),
        passages(state, found, { sources, signal, request: requestOf(state) }),
        found.verdict === "not_found" && !state.tune && offersFor(signal),
      ),
      state.tune && asked(found, sources),
    ),
  );
}

// earlier lists the questions that this one was asked behind, each with a link to its answer.
function earlier(state, found) {
  if (state.before.length === 0) return null;
  return h(
    "nav",
    { class: "earlier", "aria-label": "Earlier questions" },
    h(
      "ol",
      null,
      state.before.map((q, i) => h("li", null, h("span", { class: "soft" }, "after "), h("a", { href: to({ ...asking(state), q, before: state.before.slice(0, i) }) }, q))),
    ),
    h(
      "p",
      { class: "soft" },
      found.asked ? ["Understood as: ", h("q", null, found.asked), ". "] : "Understood by itself. ",
      h("a", { href: to({ ...asking(state), before: [] }) }, "Ask it without the earlier questions"),
    ),
  );
}

// corrected says which words were searched for in place of those that were typed, and leads to
// the others.
function corrected(found) {
  if (!found.corrected) return null;
  return h(
    "p",
    { class: "corrected" },
    "Searched for ",
    found.corrected.map(({ to }, i) => [i ? ", " : "", h("b", null, to)]),
    " in place of ",
    found.corrected.map(({ from }, i) => [i ? ", " : "", h("i", null, from)]),
    ". ",
    h("button", { type: "button", class: "quiet", click: () => go({ typed: "1" }) }, "Search as typed"),
  );
}

// lacking says what was left out of the answer, and why.
const lacking = (found) =>
  found.degraded.map((one) => h("p", { class: "warning" }, `Answered without ${one.source}: ${one.reason}`));

// followUp asks the next question behind those that were asked.
function followUp(state) {
  const input = h("input", {
    id: "followup",
    type: "search",
    autocomplete: "off",
    enterkeyhint: "search",
    placeholder: "Ask a follow-up",
  });
  const submit = (event) => {
    event.preventDefault();
    const q = input.value.trim();
    if (q) go({ q, before: [...state.before, state.q], open: "", typed: "", answer: "" });
  };
  return h(
    "form",
    { class: "followup row", submit },
    h("label", { for: "followup", class: "unseen" }, "A question that goes on from this one"),
    input,
    h("button", null, "Ask on"),
    saveButton(state),
  );
}

// Ask: one box, the answer with its source, and below it the passages.
import { answers, isUnmarked } from "./answers.js";
import { get } from "./api.js";
import { copyButton } from "./copy.js";
import { h, problem, redraw } from "./dom.js";
import { chips, filterOf, isNarrowed, narrowing, nothingLeft, others, sortOf } from "./narrowing.js";
import { passages } from "./passages.js";
import { answer, questionForm } from "./question.js";
import { saveButton } from "./saved.js";
import { asking, go, read, to } from "./state.js";
import { t } from "./texts.js";
import { typed } from "./typed.js";
import { offersFor, welcome } from "./welcome.js";
import { asked, named } from "./why.js";
import { nowWriting, searched } from "./writing.js";

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
    ...filterOf(state),
    ...sortOf(state),
    ...(reader && !state.sort && { answer: { reader: reader.name } }),
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

// sentTo returns a place for a line on where questions are sent; it stays empty where no model of another server encodes
// or reranks.
function sentTo(signal) {
  const place = h("div");
  get("/v1/experts", { signal }).then(
    (known) => {
      const hosts = [...(known.experts || []), ...(known.rerankers || [])].map((one) => one.endpoint?.host).filter(Boolean);
      const named = [...new Set(hosts)].join(", ");
      if (named) place.append(h("p", { class: "about" }, t`Questions are sent to ${named} as well.`));
    },
    () => {}, // the key does not allow to know
  );
  return place;
}

export function ask(state, signal) {
  const form = questionForm(state, t`Ask`, { view: "ask", open: "", typed: "", answer: "", before: [] });
  const body = h("div", { class: "answer", "aria-busy": "false" });
  const view = h(
    "div",
    { class: state.q ? "ask" : "ask first" },
    h("h1", { class: state.q ? "unseen" : "" }, t`What do you want to know?`),
    form,
    chips(state),
    state.q ? narrowing(state, signal) : sentTo(signal),
    body,
  );
  if (state.q) {
    const readers = readersOf(signal);
    const asking = readers.then((all) => {
      const reader = choose(state, all);
      return searched(requestOf(state, reader), state.sort ? undefined : reader, signal);
    });
    answer(asking, body, signal, async (search) => show(state, body, search, await readers, signal));
  } else {
    welcome(body, signal);
    queueMicrotask(() => form.elements.question.focus());
  }
  return view;
}

async function show(state, body, search, readers, signal) {
  const found = search.begun;
  const sources = named(found);
  const reader = choose(state, readers);
  const told = h("div");
  const answerOf = (response) =>
    response.results.length === 0 && !response.selected && isNarrowed(state)
      ? nothingLeft(state)
      : state.sort
        ? ""
        : answers(response, state, readers, sources);
  const tell = (response, ...before) => redraw(told, ...before, ...remarks(response, answerOf(response)));
  if (search.writing) {
    redraw(told, answers(found, state, readers, sources, nowWriting(search, reader.name)));
    search.writing.done.then(tell, (error) => {
      const { text } = search.writing;
      const sofar = text ? { ...found, generated: { text, reader: reader.name, complete: false } } : found;
      if (search.stopped.aborted) tell(sofar);
      else if (!signal.aborted) tell(sofar, problem(error));
    });
  } else tell(found);
  body.replaceChildren(
    h(
      "div",
      { class: "columns" },
      h(
        "div",
        { class: "main-column" },
        earlier(state, found),
        corrected(found),
        told,
        found.verdict === "not_found" && found.results.length > 0 && others(state),
        found.results.length > 0 && followUp(state),
        state.tune &&
          h(
            "div",
            { class: "row" },
            h("a", { href: to({ ...asking(state), view: "compare" }) }, t`Compare methods`),
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
                t`Mark the answer`,
              ),
          ),
        passages(state, found, { sources, signal, request: requestOf(state), writing: search.writing }),
        found.verdict === "not_found" && !state.tune && offersFor(signal),
      ),
      state.tune && asked(found, sources),
    ),
  );
}

// remarks are an answer, and what is to be known about it.
const remarks = (found, shown) => [shown, ...notesOf(found).map((note) => h("p", { class: "warning" }, note)), ...lacking(found)];

// notesOf returns the notes of an answer as sentences. Why nobody can tell how sure it is, is for who looks at numbers;
// that no words are marked, the answer says itself.
const notesOf = ({ notes = [] }) => {
  const { tune } = read();
  const said = (tune ? notes : notes.filter((note) => !isUnmarked(note))).map((note) => (!tune && /^there is no (confidence|verdict)/.test(note) ? t`No confidence is available here` : note));
  return [...new Set(said)].map((note) => `${note[0].toUpperCase()}${note.slice(1)}${/[.!?]$/.test(note) ? "" : "."}`);
};

// earlier lists the questions that this one was asked behind, each with a link to its answer.
function earlier(state, found) {
  if (state.before.length === 0) return null;
  return h(
    "nav",
    { class: "earlier", "aria-label": t`Earlier questions` },
    h(
      "ol",
      null,
      state.before.map((q, i) => h("li", null, h("span", { class: "soft" }, t`after `), h("a", { href: to({ ...asking(state), q, before: state.before.slice(0, i) }) }, q))),
    ),
    h(
      "p",
      { class: "soft" },
      found.asked ? t`Understood as: ${h("q", null, found.asked)}. ` : t`Understood without the earlier questions. `,
      h("a", { href: to({ ...asking(state), before: [] }) }, t`Ask it without the earlier questions`),
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
    t`Searched for ${found.corrected.map(({ to }, i) => [i ? ", " : "", h("b", null, to)])} instead of ${found.corrected.map(
      ({ from }, i) => [i ? ", " : "", h("i", null, from)],
    )}. `,
    h("button", { type: "button", class: "quiet", click: () => go({ typed: "1" }) }, t`Search as typed`),
  );
}

// lacking says what was left out of the answer, and why.
const lacking = (found) =>
  found.degraded.map((one) => h("p", { class: "warning" }, t`Answered without ${one.source}: ${read().tune ? one.reason : withoutSetting(one.reason)}`));

// withoutSetting returns a reason without the setting that it names in brackets at its end.
const withoutSetting = (reason) => reason.replace(/ \([^()]*\)$/, "");

// followUp asks the next question behind those that were asked.
function followUp(state) {
  const input = h("input", {
    id: "followup",
    type: "search",
    autocomplete: "off",
    enterkeyhint: "search",
    placeholder: t`Ask a follow-up`,
  });
  const submit = (event) => {
    event.preventDefault();
    const q = input.value.trim();
    if (q) go({ q, before: [...state.before, state.q], open: "", typed: "", answer: "" });
  };
  return h(
    "form",
    { class: "followup row", submit },
    h("label", { for: "followup", class: "unseen" }, t`Your follow-up question`),
    input,
    h("button", null, t`Ask`),
    saveButton(state),
  );
}

// Answers: the words that answer, with where they stand, before anything else is shown.
import { placeLine } from "./document.js";
import { h } from "./dom.js";
import { thumbs } from "./judging.js";
import { emphasised, markdown } from "./markdown.js";
import { keyOf, resultOf } from "./results.js";
import { legend, marked, sentenceAround } from "./marks.js";
import { go, to } from "./state.js";
import { t } from "./texts.js";
import { verdict } from "./verdict.js";
import { reasons } from "./why.js";

const percent = (x) => `${Math.round(100 * x)} %`;

// answers shows what was marked or written, or else the passage that comes first; nothing but the
// verdict where the documents do not answer. What a model is writing at the moment stands in its place.
export function answers(found, state, readers, sources, writing) {
  const { answers: marks = [], generated, results } = found;
  const missing = found.verdict === "not_found" || results.length === 0;
  const write = !generated && !writing && readers.find((one) => one.generates);
  const content = missing
    ? [
        !found.verdict && h("p", { class: "words" }, t`The documents do not answer this.`), // which the verdict says
        h("p", { class: "soft" }, t`Ask in other words, or ${h("a", { href: to({ view: "collection" }) }, t`add a document that does`)}.`),
      ]
    : writing || generated
      ? writing || [marks.length > 0 && !supported(generated) && quoted(found, state, sources), written(found, state)]
      : marks.length > 0
        ? quoted(found, state, sources)
        : fitting(found, state, sources);
  return h(
    "section",
    { class: "card answers", "aria-labelledby": "answers-title" },
    h("h2", { id: "answers-title", class: "unseen" }, t`Answer`),
    verdict(found),
    content,
    !missing &&
      write &&
      h("button", { type: "button", class: "quiet", click: () => go({ answer: write.name }, { replace: true }) }, t`Write the answer`),
  );
}

// quoted shows the marked words, the sentence that has them, and the other words that may answer.
function quoted(found, state, sources) {
  const [first, ...others] = found.answers;
  const result = resultOf(found, first);
  return [
    (first.headline || !result) && h("p", { class: "words" }, first.text),
    first.row
      ? tableRow(first.row)
      : result && h("blockquote", { class: first.headline ? "" : "lead" }, sentenceAround(result.text, first)),
    h("p", { class: "source" }, jump(found, first, result?.title || first.passage)),
    placeLine({ ...placed(first), title: result?.title }, state, result),
    thumbs(found, first, { about: first.text, answer: first.text }),
    state.tune && h("p", { class: "soft" }, chance(first)),
    result && why(result, found, state, sources),
    others.length > 0 && [
      h("h3", null, t`Other possible answers`),
      h(
        "ul",
        { class: "others" },
        others.map((one) =>
          h(
            "li",
            null,
            jump(found, one, one.text),
            h("span", { class: "soft" }, t` in ${titleOf(found, one)}`, state.tune && `, ${chance(one)}`),
          ),
        ),
      ),
    ],
  ];
}

// tableRow shows a row of a table with its header, and marks the cell that answers.
const tableRow = ({ header, cells, column }) =>
  h(
    "div",
    { class: "rows scroll", tabindex: "0", role: "region", "aria-label": t`Table` },
    h(
      "table",
      { class: "cells" },
      h("thead", null, h("tr", null, header.map((cell) => h("th", { scope: "col" }, cell)))),
      h("tbody", null, h("tr", null, cells.map((cell, i) => h("td", null, i === column ? h("mark", { class: "answer" }, cell) : cell)))),
    ),
  );

// fits says whether the first passage itself stands in the place of an answer.
export const fits = ({ answers: marks = [], generated, results, verdict }) =>
  verdict !== "not_found" && results.length > 0 && !generated && marks.length === 0;

// isUnmarked says whether the reader marked nothing since it does not read the language; that is a note, in English.
export const isUnmarked = (note) => /: it marks no words$/.test(note);

// fitting shows the first passage, of which no words are sure enough to be the answer, or are marked at all.
function fitting(found, state, sources) {
  const [first] = found.results;
  const text = h("p", { class: "passage" }, marked(first, "text", { functionWords: found.function_words }));
  return [
    h(
      "p",
      { class: "soft lead" },
      found.notes?.some(isUnmarked)
        ? t`Answers are not marked in this language. This passage fits best:`
        : t`No words are marked as the answer. This passage fits best:`,
    ),
    text,
    legend(text),
    h("p", { class: "source" }, first.title || first.id),
    placeLine(first, state, first),
    thumbs(found, { passage: first.id, collection: first.collection }, { about: first.title || first.id }),
    why(first, found, state, sources),
  ];
}

// supported tells whether the passages support a text of a model, as far as that was compared.
const supported = ({ refused, sentences = [] }) =>
  !refused && (sentences.length === 0 || sentences.some((one) => one.supported || one.unchecked));

// doubted tells whether a sentence of a model was compared with the passages, and they do not say it.
const doubted = (one) => !one.supported && !one.unchecked;

// written shows a text of a model as it was written: its citations as links to the passages, and marked
// what these do not say.
function written({ generated, results, asked, question }, state) {
  const found = { results, asked, question };
  const { citations = [], support = [], sentences = [] } = generated;
  const unfounded = [...new Set(sentences.filter(doubted).flatMap((one) => one.unfounded || []))];
  const sources = citations.length > 0 ? citations : support;
  const cites = citations.find((one) => resultOf(found, one));
  return [
    h("div", { class: "words written" }, cited(found, generated), !generated.complete && " […]"),
    sentences.some(doubted) &&
      h("p", { class: "legend" }, h("span", { class: "soft" }, t`Marked: `), h("mark", { class: "unsupported" }, t`not supported by the passages it cites`)),
    unfounded.length > 0 && h("p", { class: "warning" }, t`Found in no passage: ${unfounded.join(", ")}.`),
    h("p", { class: "soft" }, t`A model (${generated.reader}) wrote this. It may contain statements that no passage supports.`),
    cites && thumbs(found, cites, { about: generated.text, answer: generated.text }),
    sources.length > 0 && [
      h("h3", null, citations.length > 0 ? t`Cited passages` : t`Passages it used most`),
      h(
        "ul",
        { class: "others" },
        sources.map((one) =>
          h(
            "li",
            null,
            one.number && `[${one.number}] `,
            jump(found, one, one.title || titleOf(found, one)),
            state.tune && one.share !== undefined && ` ${percent(one.share)}`,
            placeLine(one, state, resultOf(found, one)),
          ),
        ),
      ),
    ],
  ];
}

// cited returns a text in Markdown with each [n] that names a passage as a button that goes there, and what the passages
// do not say marked. Sentences are without their citations, which may stand within them.
function cited(found, { text, citations = [], sentences = [] }) {
  const marks = [];
  let end = 0;
  for (const one of sentences) {
    const start = text.indexOf(one.text, end);
    if (start < 0) continue;
    end = start + one.text.length;
    if (doubted(one)) marks.push({ start, end });
  }
  const plain = (part) => linked(found, part, citations);
  return markdown(text, (from, to) => {
    const out = [];
    let done = from;
    for (const mark of marks) {
      const start = Math.max(mark.start, done);
      const end = Math.min(mark.end, to);
      if (start >= end) continue;
      out.push(emphasised(text.slice(done, start), plain), h("mark", { class: "unsupported" }, emphasised(text.slice(start, end), plain)));
      done = end;
    }
    return [...out, emphasised(text.slice(done, to), plain)];
  });
}

function linked(found, text, citations) {
  const out = [];
  let done = 0;
  for (const { index, 0: whole, 1: n } of text.matchAll(/\[(\d+)\]/g)) {
    const one = citations.find(({ number }) => number === Number(n));
    if (!one) continue;
    out.push(text.slice(done, index), jump(found, one, whole));
    done = index + whole.length;
  }
  return [...out, text.slice(done)];
}

const why = (result, found, state, sources) =>
  h("details", { class: "why" }, h("summary", null, t`Why?`), reasons(result, found, state, sources));

const chance = (one) => (one.chance === null ? t`probability unknown` : t`right in ${percent(one.chance)} of such cases`);

const titleOf = (found, one) => resultOf(found, one)?.title || one.passage;

// placed is an answer with its own place in the document, in that of its passage.
const placed = (one) => ({ ...one, begin: one.at, end: one.at === undefined ? undefined : one.at + one.end - one.start });

// jump goes to a passage: to the words in it that are marked.
function jump(found, one, text) {
  const result = resultOf(found, one);
  if (!result) return text;
  return h(
    "button",
    {
      type: "button",
      class: "quiet",
      click: () => {
        const item = document.querySelector(`.results > li[data-key="${CSS.escape(keyOf(result))}"]`);
        item.closest("details.passages")?.setAttribute("open", "");
        item.focus({ preventScroll: true });
        (item.querySelector("mark.answer") || item).scrollIntoView({ block: "center" });
      },
    },
    text,
  );
}

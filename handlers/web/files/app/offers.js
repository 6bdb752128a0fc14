// Offers: whole questions that the collection answers, made from headings and titles and checked
// by the reader.
import { base, post } from "./api.js";
import { nameOf } from "./collections.js";
import { h } from "./dom.js";
import { go } from "./state.js";

export const mostOffered = 6;

// offers returns questions about some of the passages that the collection answers with words of
// these passages or of their documents. They are found once for each state of the collection, as far as it is seen:
// one that is made again by its name, and another key, have others.
export async function offers(passages, { generation, languages = [] }, signal, collection) {
  const place = `offers:${base}/${collection ?? nameOf()}`;
  const state = `${generation} ${digest(JSON.stringify(passages))}`;
  const kept = JSON.parse(localStorage.getItem(place) || "null");
  if (kept?.state === state) return kept.questions;
  const questions = await checked(passages, languages, signal, collection);
  localStorage.setItem(place, JSON.stringify({ state, questions }));
  return questions;
}

// digest tells texts apart (FNV-1a).
const digest = (text) => [...text].reduce((sum, c) => Math.imul(sum ^ c.codePointAt(0), 0x01000193) >>> 0, 0x811c9dc5);

async function checked(passages, languages, signal, collection) {
  const all = passages.flatMap((passage) => asks(passage, languages).map((question) => ({ passage, question })));
  if (all.length === 0) return [];
  const searches = all.map(({ question }) => ({ question, k: 1, fields: ["document"], answer: { passages: 2 } }));
  const { answers } = await post("/v1/search/batch", { searches }, { signal, collection });
  const good = new Map(); // by topic
  for (const [i, { passage, question }] of all.entries()) {
    const [marked] = answers[i].answers || [];
    const [first] = answers[i].results || [];
    // Where nobody can tell whether the collection answers, the reader's words do.
    const found = answers[i].verdict ? answers[i].verdict === "found" : marked;
    if (!found || !first || !same(first, passage)) continue;
    // Words that answer count more than a passage that does.
    const sure = (answers[i].answerable ?? 0) + (marked && same(marked, passage) ? 1 + (marked.chance ?? marked.score) : 0);
    const topic = topicOf(passage);
    if (sure > (good.get(topic)?.sure ?? 0)) good.set(topic, { question, sure });
  }
  return [...good.values()]
    .toSorted((a, b) => b.sure - a.sure)
    .slice(0, mostOffered)
    .map(({ question }) => question);
}

// same says whether something was found where a question was made from.
const same = (found, { id, document }) =>
  (found.passage ?? found.id) === id || Boolean(found.document && found.document.id === document?.id);

const topicOf = (passage) => (passage.heading || passage.title || "").split(" › ").at(-1).trim();

// asks returns the questions that may be asked about what a passage is headed with, in the languages of
// the collection: the heading itself where it asks something.
function asks(passage, languages) {
  const topic = topicOf(passage);
  if (!topic) return [];
  if (/[?？؟]$/.test(topic)) return [topic];
  return languages.filter((code) => Object.hasOwn(about, code)).map((code) => about[code](topic));
}

// about asks for what is known of a topic, which stands as it is written: the grammar of a heading is
// not known.
const about = {
  en: (x) => `What is known about ‘${x}’?`,
  de: (x) => `Was ist über ‚${x}‘ bekannt?`,
  fr: (x) => `Que sait-on sur ‹ ${x} › ?`,
  es: (x) => `¿Qué se sabe sobre ‘${x}’?`,
  it: (x) => `Che cosa si sa di ‘${x}’?`,
  nl: (x) => `Wat is er bekend over ‘${x}’?`,
  pt: (x) => `O que se sabe sobre ‘${x}’?`,
};

// tryThese offers some of them to who has found nothing, or has asked nothing yet.
export function tryThese(questions) {
  if (questions.length === 0) return "";
  return h(
    "section",
    null,
    h("h2", null, "Try one of these"),
    h(
      "div",
      { class: "examples" },
      questions.map((q) => h("button", { type: "button", class: "example", click: () => go({ q, before: [], answer: "", open: "", typed: "" }) }, q)),
    ),
  );
}

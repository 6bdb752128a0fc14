// Offers: topics that the collection says something about, headings and titles as they are, checked by asking them.
import { base, post } from "./api.js";
import { nameOf } from "./collections.js";
import { h } from "./dom.js";
import { go } from "./state.js";
import { t } from "./texts.js";

export const mostOffered = 6;

// offers returns topics of some of the passages that the collection answers with these passages or with others of their
// documents. They are found once for each state of the collection, as far as it is seen: one that is made again by its
// name, and another key, have others.
export async function offers(passages, { generation }, signal, collection) {
  const place = `offers:${base}/${collection ?? nameOf()}`;
  const state = `${generation} ${digest(JSON.stringify(passages))}`;
  const kept = JSON.parse(localStorage.getItem(place) || "null");
  if (kept?.state === state) return kept.questions;
  const questions = await checked(passages, signal, collection);
  localStorage.setItem(place, JSON.stringify({ state, questions }));
  return questions;
}

// digest tells texts apart (FNV-1a).
const digest = (text) => [...text].reduce((sum, c) => Math.imul(sum ^ c.codePointAt(0), 0x01000193) >>> 0, 0x811c9dc5);

async function checked(passages, signal, collection) {
  const all = passages.map((passage) => ({ passage, question: topicOf(passage) })).filter(({ question }) => question);
  if (all.length === 0) return [];
  const searches = all.map(({ question }) => ({ question, k: 1, fields: ["document"], answer: { passages: 2 } }));
  const { answers } = await post("/v1/search/batch", { searches }, { signal, collection });
  const good = new Map(); // how sure a topic is
  for (const [i, { passage, question }] of all.entries()) {
    const [marked] = answers[i].answers || [];
    const [first] = answers[i].results || [];
    // Where nobody can tell whether the collection answers, its first passage is the one of the heading.
    if ((answers[i].verdict ?? "found") !== "found" || !first || !same(first, passage)) continue;
    // Words that answer count more than a passage that does.
    const sure = (answers[i].answerable ?? 0) + (marked && same(marked, passage) ? 1 + (marked.chance ?? marked.score) : 0);
    good.set(question, Math.max(sure, good.get(question) ?? 0));
  }
  return [...good]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, mostOffered)
    .map(([question]) => question);
}

// same says whether something was found where a question was made from.
const same = (found, { id, document }) =>
  (found.passage ?? found.id) === id || Boolean(found.document && found.document.id === document?.id);

const topicOf = (passage) => (passage.heading || passage.title || "").split(" › ").at(-1).trim();

// tryThese offers some of them to who has found nothing, or has asked nothing yet.
export function tryThese(questions) {
  if (questions.length === 0) return "";
  return h(
    "section",
    null,
    h("h2", null, t`Try one of these`),
    h(
      "div",
      { class: "examples" },
      questions.map((q) => h("button", { type: "button", class: "example", click: () => go({ q, before: [], answer: "", open: "", typed: "" }) }, q)),
    ),
  );
}

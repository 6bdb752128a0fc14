// Offers: whole questions that the collection answers, made from headings and titles and checked
// by the reader.
import { base, post } from "./api.js";
import { h } from "./dom.js";
import { languageOf } from "./languages.js";
import { go } from "./state.js";

const most = 6;

// offers returns questions about some of the passages that the collection answers with words of
// these passages or of their documents. They are found once for each state of the collection.
export async function offers(passages, generation, signal) {
  const kept = JSON.parse(localStorage.getItem(place) || "null");
  if (kept?.generation === generation) return kept.questions;
  const questions = await checked(passages, signal);
  localStorage.setItem(place, JSON.stringify({ generation, questions }));
  return questions;
}

const place = `offers:${base}`;

async function checked(passages, signal) {
  const all = passages.flatMap((passage) => asks(passage).map((question) => ({ passage, question })));
  if (all.length === 0) return [];
  const searches = all.map(({ question }) => ({ question, k: 1, fields: ["document"], answer: { passages: 2 } }));
  const { answers } = await post("/v1/search/batch", { searches }, { signal });
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
    .slice(0, most)
    .map(({ question }) => question);
}

// same says whether something was found where a question was made from.
const same = (found, { id, document }) =>
  (found.passage ?? found.id) === id || Boolean(found.document && found.document.id === document?.id);

const topicOf = (passage) => (passage.heading || passage.title || "").split(" › ").at(-1).trim();

// asks returns the questions that may be asked about what a passage is headed with.
function asks(passage) {
  const topic = topicOf(passage);
  const language = languageOf(passage.text);
  if (!topic || !language?.what) return [];
  if (topic.endsWith("?")) return [topic];
  if (language.begins.test(topic)) return [`${topic}?`];
  const subject = subjectOf(topic, passage.text, language);
  const words = passage.text.toLowerCase().match(/\p{L}+/gu) || [];
  const person = /^\p{Lu}\S* \p{Lu}/u.test(topic) && words.some((word) => language.persons.has(word));
  return [person ? language.who(subject) : language.what(subject), language.about(subject)];
}

const literal = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

// subjectOf returns a topic as the text speaks of it: with the article that it has there, and with
// a small letter where the text writes one. Of a name that the text cuts short, the article is that
// of its first word.
function subjectOf(topic, text, { articles }) {
  const words = topic.split(/\s+/).map(literal);
  const find = (pattern) =>
    new RegExp(`(?<![\\p{L}\\p{N}])(?:(${articles.join("|")})\\s*)?(${pattern})(?![\\p{L}\\p{N}])`, "iu").exec(text);
  const found = find(words.join("\\s+"));
  if (found) {
    const [, article, own] = found;
    // A word that begins a sentence says nothing of its letter.
    const begins = /(^|[.!?…]["”’)]*\s+)$/.test(text.slice(0, found.index));
    return article ? `${article.toLowerCase()} ${own}` : begins ? topic : own;
  }
  const [, article] = find(words[0]) || [];
  return article ? `${article.toLowerCase()} ${topic}` : topic;
}

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

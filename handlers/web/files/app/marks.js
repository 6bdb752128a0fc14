// Marks in a passage: the words that late interaction matched, those that BM25 matched,
// the part that a granularity found most similar to the question, or else the sentence that
// has the most of what late interaction matched, and the words that answer.
import { h } from "./dom.js";
import { t } from "./texts.js";

const word = /[\p{L}\p{N}]+/gu;

// A word that has less than least of what late interaction scored, or BM25, is not marked: every
// question has tokens that match nothing well.
const least = 0.06;

// longestEnding is how many letters a word may have beyond a stem and be a form of it.
const longestEnding = 5;

// tells says whether a term of BM25 is rare enough to carry something, by the rule by which the
// server marks words (commonShare in search/contentwords.go). How many passages there are follows
// from the term's weight and from how many have it.
const many = 100,
  common = 0.15;
function tells({ term, idf, doc_frequency: having }) {
  if (term.includes(" ")) return false; // its words are terms themselves
  const passages = (Math.exp(idf) - 1) * (having + 0.5) + having - 0.5;
  return passages < many || having <= common * passages;
}

// matcher tells of a word whether it has one of the stems that BM25 matched, that carry something
// and make at least their share of its score, and is none of the question's function words. Stems are cut by rules of their own, so that a word
// counts that begins with a stem, or with all but a stem's last letter where that was changed
// (berries, berri).
function matcher(explanation, functionWords = []) {
  const stems = new Set();
  explanation = (explanation || []).filter((term) => !term.near);
  const all = explanation.reduce((sum, term) => sum + term.score, 0);
  for (const term of explanation || []) if (term.score >= least * all && tells(term)) stems.add(term.term.toLowerCase());
  return (one) => {
    const lower = one.toLowerCase();
    if (functionWords.includes(lower)) return false;
    for (const stem of stems) {
      if (lower.length > stem.length + longestEnding) continue;
      if (stem.length < 4 ? lower === stem || lower === stem + "s" : lower.startsWith(stem)) return true;
      if (stem.length > 3 && stem.endsWith("i") && lower.startsWith(stem.slice(0, -1) + "y")) return true;
    }
    return false;
  };
}

// sharedWords returns the words of a question that a passage has, in this form or in another, and that
// carry something.
export function sharedWords(question, { explanation }, functionWords) {
  const own = matcher((explanation || []).map((one) => ({ ...one, term: one.for || one.term })), functionWords);
  return [...new Set((question.match(word) || []).filter(own))];
}

// matched are the highlights of a field, with their shares of what late interaction scored.
function matched(field, highlights) {
  const all = highlights.reduce((sum, one) => sum + one.score, 0);
  return highlights
    .filter((one) => one.field === field)
    .map((one) => ({ start: one.start, end: one.end, share: one.score / all }));
}

const sentencesOf = (text) =>
  [...text.matchAll(/\S[^.!?…]*(?:[.!?…]+["'”’)\]]*(?=\s|$)|$|[.!?…])+/gu)].map(({ index, 0: { length } }) => ({
    start: index,
    end: index + length,
  }));

// sentenceAround returns the sentences of a text that have some of its words, which are marked.
export function sentenceAround(text, { start, end }) {
  const touched = sentencesOf(text).filter((sentence) => sentence.start < end && sentence.end > start);
  const from = Math.min(start, ...touched.map((sentence) => sentence.start));
  const to = Math.max(end, ...touched.map((sentence) => sentence.end));
  return [
    from > 0 && "… ",
    nested(text, from, to, [[{ start, end, kind: "answer" }]]),
    to < text.trimEnd().length && " …",
  ];
}

// best is the sentence with the largest share, where it is the better part of a text of several.
function best(text, found) {
  const sentences = sentencesOf(text);
  const share = (sentence) =>
    found.reduce((sum, one) => sum + (one.start >= sentence.start && one.end <= sentence.end ? one.share : 0), 0);
  const [first] = sentences.toSorted((a, b) => share(b) - share(a));
  return sentences.length > 1 && share(first) > 0 ? first : null;
}

// part is where a granularity found a field most similar, unless that is all of it.
function part(text, field, { highlight }) {
  if (highlight?.field !== field) return null;
  const { start, end } = highlight;
  return end - start < text.trim().length ? { start, end } : null;
}

// marked is a field of a result with its marks, and the answers that are in it. The question's function words are
// not marked.
export function marked(result, field, { answers = [], functionWords } = {}) {
  const text = result[field] || "";
  const byWords = matcher(result.explanation, functionWords);
  const found = matched(field, result.highlights || []);
  const spans = found
    .filter((one) => one.share >= least)
    .map(({ start, end, share }) => ({ start, end, kind: share >= 3 * least ? "strong" : "some" }));
  for (const { index, 0: one } of text.matchAll(word)) {
    const [start, end] = [index, index + one.length];
    if (!byWords(one)) continue;
    const same = spans.find((span) => span.start <= start && span.end >= end);
    if (same) same.kind += " word";
    else spans.push({ start, end, kind: "word" });
  }
  const stretch = part(text, field, result) || (field === "text" && best(text, found));
  const layers = [
    stretch ? [{ ...stretch, tag: "span", kind: "stretch" }] : [],
    answers.map(({ start, end }) => ({ start, end, kind: "answer" })),
    spans,
  ];
  return nested(text, 0, text.length, layers);
}

// legend says what the marks in an element mean; null where it has none.
export function legend(element) {
  const has = (what) => element.querySelector(what);
  const entries = [
    has("mark.answer") && h("mark", { class: "answer" }, t`words that answer`),
    has("mark.word") && h("mark", { class: "word" }, t`words of the question`),
    has("mark.strong, mark.some") && h("mark", { class: "strong" }, t`near in meaning`),
    has(".stretch") && h("span", { class: "stretch" }, t`the part that fits best`),
  ].filter(Boolean);
  return entries.length > 0 && h("p", { class: "legend" }, h("span", { class: "soft" }, t`Marked: `), entries.map((one, i) => [i > 0 && " · ", one]));
}

// nested is a stretch of a text with the first layer's spans around what lies in them of
// the others, in the fewest nodes. A span that reaches out of the stretch is cut there.
function nested(text, from, to, [layer, ...others]) {
  if (!layer) return [text.slice(from, to)];
  const out = [];
  let done = from;
  for (const { start, end, tag = "mark", kind } of layer.toSorted((a, b) => a.start - b.start)) {
    const [first, last] = [Math.max(start, from), Math.min(end, to)];
    if (first < done || first >= last) continue;
    out.push(...nested(text, done, first, others), h(tag, { class: kind }, nested(text, first, last, others)));
    done = last;
  }
  return [...out, ...nested(text, done, to, others)];
}

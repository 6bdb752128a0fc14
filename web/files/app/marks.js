// Marks in a passage: the words that late interaction matched, those that BM25 matched,
// and the sentence that has the most of what late interaction matched.
import { h } from "./dom.js";

const word = /[\p{L}\p{N}]+/gu;

// matcher tells of a word whether it has one of the stems that BM25 matched. Stems are
// cut by rules of their own, so that a word counts that begins with a stem, or with all
// but a stem's last letter where that was changed (berries, berri).
function matcher(explanation) {
  const stems = new Set();
  for (const term of explanation || []) for (const stem of term.term.split(" ")) stems.add(stem.toLowerCase());
  return (text) => {
    const lower = text.toLowerCase();
    for (const stem of stems) {
      if (stem.length < 4 ? lower === stem || lower === stem + "s" : lower.startsWith(stem)) return true;
      if (stem.length > 3 && stem.endsWith("i") && lower.startsWith(stem.slice(0, -1) + "y")) return true;
    }
    return false;
  };
}

// A word that has less than least of what late interaction scored is not marked: every
// question has tokens that match nothing well.
const least = 0.06;

// matched are the highlights of a field by where they are in a string of JavaScript.
function matched(text, field, highlights) {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const units = (at) => decoder.decode(bytes.subarray(0, at)).length;
  const all = highlights.reduce((sum, one) => sum + one.score, 0);
  return highlights
    .filter((one) => one.field === field)
    .map((one) => ({ start: units(one.start), end: units(one.end), share: one.score / all }));
}

// best is the sentence with the largest share, where it is the better part of a text of several.
function best(text, found) {
  const sentences = [...text.matchAll(/\S[^.!?…]*(?:[.!?…]+["'”’)\]]*(?=\s|$)|$|[.!?…])+/gu)].map(({ index, 0: { length } }) => ({
    start: index,
    end: index + length,
  }));
  const share = (sentence) =>
    found.reduce((sum, one) => sum + (one.start >= sentence.start && one.end <= sentence.end ? one.share : 0), 0);
  const [first] = sentences.toSorted((a, b) => share(b) - share(a));
  return sentences.length > 1 && share(first) > 0 ? first : null;
}

// marked is a field of a result with its marks, in the fewest nodes.
export function marked(result, field) {
  const text = result[field] || "";
  const byWords = matcher(result.explanation);
  const found = matched(text, field, result.highlights || []);
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
  spans.sort((a, b) => a.start - b.start);
  const nodes = (from, to) => {
    const out = [];
    let done = from;
    for (const span of spans) {
      if (span.start < from || span.end > to || span.start < done) continue;
      out.push(text.slice(done, span.start), h("mark", { class: span.kind }, text.slice(span.start, span.end)));
      done = span.end;
    }
    out.push(text.slice(done, to));
    return out;
  };
  const sentence = field === "text" && best(text, found);
  if (!sentence) return nodes(0, text.length);
  return [
    ...nodes(0, sentence.start),
    h("span", { class: "stretch" }, nodes(sentence.start, sentence.end)),
    ...nodes(sentence.end, text.length),
  ];
}

// Marks the question's words in a passage.
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

// marked is a text with its matching words marked, in the fewest nodes.
export function marked(text, explanation) {
  const matches = matcher(explanation);
  const nodes = [];
  let done = 0;
  for (const found of text.matchAll(word)) {
    if (!matches(found[0])) continue;
    nodes.push(text.slice(done, found.index), h("mark", null, found[0]));
    done = found.index + found[0].length;
  }
  nodes.push(text.slice(done));
  return nodes;
}

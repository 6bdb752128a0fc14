// typed reads what somebody typed into the box, as search.Typed does for GET: words in double
// quotes have to stand so in each passage, and a word or quotes with - before them must not.
const ends = /["”“]/u;
const letterOrDigit = /[\p{L}\p{Nd}]/u;
// White space as Go has it: \s lacks U+0085, and has U+FEFF.
const space = /\p{White_Space}/u;
const spaces = /\p{White_Space}+/u;

export function typed(text) {
  const must = [],
    not = [];
  let rest = text,
    out = "",
    begins = true;
  while (rest !== "") {
    const quoted = begins && quotedAt(rest);
    if (quoted) {
      must.push(quoted.phrase);
      out += quoted.phrase;
      rest = quoted.after;
      begins = false;
      continue;
    }
    if (begins && rest[0] === "-") {
      const without = quotedAt(rest.slice(1));
      const word = /^-(\p{L}\P{White_Space}*)/u.exec(rest);
      if (without || word) {
        not.push(without ? without.phrase : word[1].replace(/[.,;:!?]+$/, ""));
        rest = without ? without.after : rest.slice(word[0].length);
        begins = false;
        continue;
      }
    }
    const [one] = rest;
    out += one;
    rest = rest.slice(one.length);
    begins = space.test(one);
  }
  const question = out.split(spaces).filter(Boolean).join(" ");
  if (must.length + not.length === 0 || !letterOrDigit.test(question)) return { question: text };
  return { question, ...(must.length > 0 && { must }), ...(not.length > 0 && { must_not: not }) };
}

function quotedAt(text) {
  if (!/^["“„]/u.test(text)) return null;
  const end = text.slice(1).search(ends);
  if (end < 0) return null;
  const phrase = text.slice(1, end + 1).replace(/^\p{White_Space}+|\p{White_Space}+$/gu, ""),
    after = text.slice(end + 2);
  const [next] = after;
  if (!letterOrDigit.test(phrase) || (next && letterOrDigit.test(next))) return null;
  return { phrase, after };
}

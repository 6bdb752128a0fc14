// The page's own texts in the language of who reads it: texts.de.js and its like have them, by the English text.

// The languages that the page speaks besides English.
const spoken = ["de", "es", "fr", "ja", "zh"];

// language is the first of the browser's languages that the page speaks; English where it speaks none.
export const language =
  navigator.languages.map((one) => one.split("-")[0].toLowerCase()).find((one) => one === "en" || spoken.includes(one)) ?? "en";

const texts = language === "en" ? {} : (await import(`./texts.${language}.js`)).texts;

// t returns a text of the page in the reader's language: t`Delete ${id}`. Where a value is an element, it returns a list of
// texts and elements. A translation has {} in the place of each value, or {1}, {2} in another order.
export function t(parts, ...values) {
  const english = parts.join("{}");
  let next = 0;
  const pieces = (texts[english] ?? english)
    .split(/\{(\d*)\}/)
    .map((piece, i) => (i % 2 === 0 ? piece : values[piece === "" ? next++ : Number(piece) - 1]));
  return pieces.every((piece) => typeof piece === "string" || typeof piece === "number") ? pieces.join("") : pieces;
}

// translate puts the texts that stand in an element, and its labels, into the reader's language.
export function translate(element) {
  const all = document.createTreeWalker(element, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let node = all.currentNode; node; node = all.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE) {
      const text = node.data.trim();
      if (Object.hasOwn(texts, text)) node.data = node.data.replace(text, texts[text]);
    } else if (Object.hasOwn(texts, node.ariaLabel ?? "")) node.ariaLabel = texts[node.ariaLabel];
  }
}

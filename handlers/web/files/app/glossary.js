// Glossary: what the words of the page mean.
import { base } from "./api.js";
import { h } from "./dom.js";

const dialog = document.getElementById("glossary");

const words = [
  ["Document", "A file or text that was put in here: a PDF, a page of a wiki, a mail."],
  ["Passage", "A piece of a document, of a few sentences, that can answer a question."],
  ["Collection", "Documents that are kept and asked together. A server may have several; a question can go to more than one."],
  ["Answer", "Words that a reader marked in a passage, or a text that a model wrote. Marked words stand in the document; what is written may not."],
  ["Verdict", "Whether the documents answer: found, doubtful, or not found."],
  ["Confidence", "How probable it is that the first passage answers. Of the answers with a confidence of seventy in a hundred, seventy in a hundred are right, where this was calibrated."],
  ["Source", "What looks for passages: by meaning, by words, by phrases, or by comparing word with word."],
  ["Expert", "A model that finds passages by meaning. The base is one for everything, a specialist one for a subject."],
  ["bm25", "Looks for passages that have the words of the question, rare words first."],
  ["Late interaction", "Compares each word of the question with each word of a passage, by meaning."],
  ["Reader", "A model that reads the first passages and marks the words that answer."],
  ["Method", "How what the sources found is put in one order. The gate weighs the sources anew for each question."],
  ["Weight", "How much a source counts for this question."],
  ["Calibration", "Fitting weights and confidences to questions whose passages are known: those that you judged here, or a file of them."],
  ["Evaluation", "Asking questions whose passages are known, and counting how often they are found."],
  ["Recall@10", "Of the passages that an exact search finds first, the share that the index finds among ten."],
];

export function openGlossary() {
  dialog.replaceChildren(
    h("h2", { id: "glossary-title" }, "Words on this page"),
    h(
      "div",
      { class: "glossary", tabindex: "0", role: "group", "aria-label": "Words" },
      h("dl", null, words.map(([word, meaning]) => h("div", null, h("dt", null, word), h("dd", null, meaning)))),
    ),
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: "main", click: () => dialog.close() }, "Close"),
      h("a", { href: `${base}/guide/` }, "The guide explains more"),
    ),
  );
  dialog.showModal();
}

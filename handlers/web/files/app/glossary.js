// Glossary: what the words of the page mean.
import { base } from "./api.js";
import { h } from "./dom.js";
import { t } from "./texts.js";

const dialog = document.getElementById("glossary");

const words = [
  [t`Document`, t`A file or text that was put in here: a PDF, a page of a wiki, a mail.`],
  [t`Passage`, t`A piece of a document, of a few sentences, that can answer a question.`],
  [t`Collection`, t`Documents that are kept and asked together. A server may have several; a question can go to more than one.`],
  [t`Answer`, t`Words that a reader marked in a passage, or a text that a model wrote. Marked words stand in the document; what is written may not.`],
  [t`Verdict`, t`Whether the documents answer: found, doubtful, or not found.`],
  [t`Confidence`, t`How probable it is that the first passage answers. Of the answers with a confidence of seventy in a hundred, seventy in a hundred are right, where this was calibrated.`],
  [t`Source`, t`What looks for passages: by meaning, by words, by phrases, or by comparing word with word.`],
  [t`Expert`, t`A model that finds passages by meaning. The base is one for everything, a specialist one for a subject.`],
  ["bm25", t`Looks for passages that have the words of the question, rare words first.`],
  [t`Late interaction`, t`Compares each word of the question with each word of a passage, by meaning.`],
  [t`Reader`, t`A model that reads the first passages and marks the words that answer.`],
  [t`Method`, t`How what the sources found is put in one order. The gate weighs the sources anew for each question.`],
  [t`Weight`, t`How much a source counts for this question.`],
  [t`Calibration`, t`Fitting weights and confidences to questions whose passages are known: those that you judged here, or a file of them.`],
  [t`Evaluation`, t`Asking questions whose passages are known, and counting how often they are found.`],
  ["Recall@10", t`Of the passages that an exact search finds first, the share that the index finds among ten.`],
];

export function openGlossary() {
  dialog.replaceChildren(
    h("h2", { id: "glossary-title" }, t`Words on this page`),
    h(
      "div",
      { class: "glossary", tabindex: "0", role: "group", "aria-label": t`Words` },
      h("dl", null, words.map(([word, meaning]) => h("div", null, h("dt", null, word), h("dd", null, meaning)))),
    ),
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: "main", click: () => dialog.close() }, t`Close`),
      h("a", { href: `${base}/guide/` }, t`The guide explains more`),
    ),
  );
  dialog.showModal();
}

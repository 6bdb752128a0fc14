// Glossary: what the words of the page mean.
import { base } from "./api.js";
import { h } from "./dom.js";
import { t } from "./texts.js";

const dialog = document.getElementById("glossary");

const words = [
  [t`Document`, t`A file or text that was added here, such as a PDF, a wiki page or a mail.`],
  [t`Passage`, t`A piece of a document, a few sentences long, that can answer a question.`],
  [t`Collection`, t`Documents that are kept and asked together. A server may have several; a question can go to more than one.`],
  [t`Answer`, t`Words that a reader marked in a passage, or a text that a model wrote. Marked words are in the document; a written text may say other things.`],
  [t`Verdict`, t`Whether the documents answer: found, doubtful, or not found.`],
  [t`Confidence`, t`The probability that the first passage answers the question. In a calibrated collection, seventy of a hundred answers with a confidence of seventy percent are right.`],
  [t`Source`, t`A part of the search that finds passages: by meaning, by words, by phrases, or by comparing each word.`],
  [t`Expert`, t`A model that finds passages by meaning. The base is for every subject, a specialist is for one.`],
  ["bm25", t`Finds passages that have the words of the question. Rare words count more.`],
  [t`Late interaction`, t`Compares each word of the question with each word of a passage, by meaning.`],
  [t`Reader`, t`A model that reads the first passages and marks the words that answer.`],
  [t`Method`, t`The rule that combines the results of the sources into one list. The gate chooses their weights for each question.`],
  [t`Weight`, t`How much a source counts for this question.`],
  [t`Calibration`, t`Fitting weights and confidences to questions whose passages are known: questions judged here, or questions from a file.`],
  [t`Evaluation`, t`Asking questions whose passages are known, and counting how often the search finds these.`],
  ["Recall@10", t`The share of the first ten passages of an exact search that the index finds, too.`],
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

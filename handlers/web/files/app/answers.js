// Answers: the words of a passage that a reader marked, or a text that a generator wrote.
import { get } from "./api.js";
import { placeLine } from "./document.js";
import { h } from "./dom.js";
import { go } from "./state.js";

const percent = (x) => `${Math.round(100 * x)} %`;

// readersOf are what marks or writes answers here, the default first; none where the key
// does not allow to know.
export const readersOf = (signal) =>
  get("/v1/experts", { signal }).then(
    (known) => known.readers || [],
    () => [],
  );

// switchFor asks for answers, where there is a reader; its place stays empty until that is known.
export function switchFor(state, readers) {
  const place = h("div", { class: "row" });
  readers.then(([first]) => {
    if (!first) return;
    const box = h("input", {
      type: "checkbox",
      id: "mark",
      checked: Boolean(state.answer),
      change: (event) => go({ answer: event.target.checked ? "true" : "" }),
    });
    place.append(h("label", { class: "check" }, box, first.generates ? "Write an answer" : "Mark the answer"));
  });
  return place;
}

// answers shows what was marked or written above the passages; null where nothing was.
export function answers({ answers: found = [], generated, results }, state) {
  if (generated)
    return box(
      "Generated answer",
      h("p", { class: "text" }, generated.text, !generated.complete && " […]"),
      h("p", { class: "warning" }, `A model wrote this (${generated.reader}). It may say what is in no passage.`),
      h("p", { class: "soft" }, "It looked most at:"),
      list(generated.support, (one) => [to(results, one.passage, titleOf(results, one.passage)), ` ${percent(one.share)}`, placeLine(one, state)]),
    );
  if (found.length === 0) return null;
  return box(
    found.length > 1 ? "Possible answers" : "Possible answer",
    list(found, (one) => [
      to(results, one.passage, one.text),
      h(
        "span",
        { class: "soft" },
        one.chance === null ? " how sure is not known" : ` right with ${percent(one.chance)}`,
        `, from ${titleOf(results, one.passage)}`,
      ),
      placeLine({ ...one, begin: one.at, end: one.at === undefined ? undefined : one.at + one.end - one.start }, state),
    ]),
  );
}

const box = (title, ...content) =>
  h("section", { class: "card answers", "aria-labelledby": "answers-title" }, h("h2", { id: "answers-title" }, title), content);

const list = (all, entry) => h("ul", null, all.map((one) => h("li", null, entry(one))));

const titleOf = (results, id) => results.find((result) => result.id === id)?.title || id;

// to goes to a passage: to the words in it that are marked.
function to(results, id, text) {
  const at = results.findIndex((result) => result.id === id);
  if (at < 0) return text;
  return h(
    "button",
    {
      type: "button",
      class: "quiet",
      click: () => {
        const item = document.querySelectorAll(".results > li")[at];
        item.focus({ preventScroll: true });
        (item.querySelector("mark.answer") || item).scrollIntoView({ block: "center" });
      },
    },
    text,
  );
}

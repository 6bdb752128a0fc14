// Judging: thumbs on answers and passages, which the server keeps.
import { base, chosenNames, post } from "./api.js";
import { nameOf as collectionName } from "./collections.js";
import { h, problem } from "./dom.js";
import { resultOf } from "./results.js";
import { t } from "./texts.js";

const place = `judged:${base}`;
const mine = () => JSON.parse(localStorage.getItem(place) || "{}");
const nameOf = (...parts) => JSON.stringify(parts);

// keep remembers in this browser what was said here; so many of the last.
const most = 500;
function keep(name, grade) {
  const all = Object.entries(mine()).filter(([other]) => other !== name);
  if (grade !== undefined) all.push([name, grade]);
  localStorage.setItem(place, JSON.stringify(Object.fromEntries(all.slice(-most))));
}

const hand =
  "M7 10v10H4a1 1 0 0 1-1-1v-8a1 1 0 0 1 1-1h3zm2 0 4-7c1.4 0 2.4 1 2.4 2.4 0 .9-.4 2.2-1 3.6H20a1.6 1.6 0 0 1 1.6 1.9l-1.4 7.6A1.9 1.9 0 0 1 18.3 20H9V10z";

// questionOf returns the question that a judgment of an answer is about: one that stands alone.
export const questionOf = (found) => found.asked || found.question;

// thumbs says whether a passage answers a question; with an answer, whether these words of it do, which is a judgment
// of its own. What is said again is taken back.
export function thumbs(found, one, { about, answer } = {}) {
  const { passage } = one;
  const question = questionOf(found);
  const collection = resultOf(found, one)?.collection || collectionName();
  const name = nameOf(question, passage, collection, ...(answer ? [answer] : []));
  const said = h("span", { class: "soft", role: "status" });
  const button = (grade, label) => {
    const one = h(
      "button",
      { type: "button", class: `thumb ${grade ? "up" : "down"}`, "aria-label": `${label}: ${about}`, title: label, click: () => say(grade) },
      h("svg", { viewBox: "0 0 24 24", width: 18, height: 18, "aria-hidden": "true" }, h("path", { d: hand })),
    );
    one.dataset.grade = grade;
    return one;
  };
  const buttons = answer
    ? [button(1, t`These words answer the question`), button(0, t`These words do not answer the question`)]
    : [button(1, t`This answers the question`), button(0, t`This does not answer the question`)];
  const show = () => {
    const now = mine()[name];
    for (const one of buttons) one.setAttribute("aria-pressed", String(now) === one.dataset.grade);
  };
  const say = async (grade) => {
    const next = mine()[name] === grade ? undefined : grade;
    try {
      await post("/v1/judgments", { question, passage, ...(next !== undefined && { grade: next }), ...(answer && { answer }) }, { collection: chosenNames().length > 0 ? collection : undefined });
      keep(name, next);
      said.replaceChildren(next === undefined ? t`Your judgment is removed.` : t`Thank you. Your judgment is saved.`);
    } catch (error) {
      said.replaceChildren(problem(error));
    }
    document.dispatchEvent(new CustomEvent("judged", { detail: name }));
  };
  const box = h("span", { class: "thumbs", role: "group", "aria-label": answer ? t`Do these words answer? ${about}` : t`Does this answer? ${about}` }, buttons, said);
  // The same passage may have thumbs of its own and in the answer.
  const again = ({ detail }) => {
    if (!box.isConnected) document.removeEventListener("judged", again);
    else if (detail === name) show();
  };
  document.addEventListener("judged", again);
  show();
  return box;
}

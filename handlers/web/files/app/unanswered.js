// Asked: the questions that were not answered, for who adds documents, and those that were, which are suggested to others.
import { get, perhaps, send } from "./api.js";
import { h, problem, redraw } from "./dom.js";
import { inWords } from "./inwords.js";
import { address, read } from "./state.js";
import { language, t } from "./texts.js";

const shown = 20; // questions at first
const day = (time) => new Date(time).toLocaleDateString(language, { day: "numeric", month: "long", year: "numeric" });
const times = (n, last) => (n === 1 ? t`asked once, on ${last}` : n === 2 ? t`asked twice, last on ${last}` : t`asked ${inWords(n)} times, last on ${last}`);

// unansweredQuestions is a card of those that were not answered.
export const unansweredQuestions = (signal) =>
  askedQuestions(signal, {
    name: "unanswered",
    title: t`Questions without an answer`,
    about: t`Questions that the documents do not answer, or may not answer. A question leaves this list when a later search finds an answer.`,
    empty: t`All questions so far were answered.`,
    told: (one) => (one.verdict === "doubtful" ? t`doubtful` : t`not found`),
    more: (one) => one.filtered && `; ${t`only a part of the passages was searched`}`,
  });

// answeredQuestions is a card of those that were answered.
export const answeredQuestions = (signal) =>
  askedQuestions(signal, {
    name: "answered",
    title: t`Questions with an answer`,
    about: t`Questions that the documents answer. A question that several people asked is suggested while others type.`,
    empty: t`No question has been answered yet.`,
    told: (one) => (one.offered ? t`suggested` : t`not suggested yet`),
    more: (one) => one.restricted && `; ${t`only to keys with the same filter`}`,
  });

// askedQuestions is a card of questions; hidden where none are kept, or the key may not read them.
function askedQuestions(signal, { name, title, about, empty, told, more }) {
  const card = h("section", { class: `card ${name}`, "aria-labelledby": `${name}-title`, hidden: true });
  const list = h("ul", { class: "jobs" });
  const out = h("div", { role: "status" });
  let all = false;
  const tell = (error) => {
    if (!signal.aborted) out.replaceChildren(problem(error));
  };
  const forget = (question) => async () => {
    try {
      await send("DELETE", `/v1/admin/${name}${question === undefined ? "" : `?question=${encodeURIComponent(question)}`}`, { signal });
      await load();
      out.replaceChildren(h("p", null, t`Forgotten.`));
    } catch (error) {
      tell(error);
    }
  };
  const row = (one) =>
    h(
      "li",
      { class: "row", "data-id": one.question },
      h("a", { href: address({ collections: read().collections, tune: read().tune, q: one.question }) }, one.question),
      h(
        "small",
        null,
        `${told(one)}, ${times(one.asked, day(one.last))}`,
        more(one),
      ),
      h("button", { type: "button", class: "quiet", "aria-label": t`Forget ${one.question}`, click: forget(one.question) }, t`Forget`),
    );
  const load = async () => {
    const { keep, questions } = (await perhaps(get(`/v1/admin/${name}`, { signal }))) || { keep: 0, questions: [] };
    card.hidden = keep === 0;
    const part = all ? questions : questions.slice(0, shown);
    redraw(
      list,
      ...part.map(row),
      ...(part.length < questions.length
        ? [h("li", null, h("button", { type: "button", click: () => ((all = true), load().catch(tell)) }, t`Show all ${questions.length}`))]
        : []),
    );
    none.hidden = questions.length > 0;
    clear.hidden = questions.length === 0;
  };
  const none = h("p", null, empty);
  const clear = h("button", { type: "button", class: "quiet", click: forget() }, t`Forget all`);
  card.append(
    h("h2", { id: `${name}-title` }, title),
    h("p", null, about),
    none,
    list,
    h("div", { class: "row" }, clear),
    out,
  );
  load().catch(tell);
  return card;
}

// Unanswered: the questions that were asked and not answered, for who adds documents.
import { get, perhaps, send } from "./api.js";
import { h, problem, redraw } from "./dom.js";
import { inWords } from "./inwords.js";
import { address, read } from "./state.js";

const shown = 20; // questions at first
const day = (time) => new Date(time).toLocaleDateString("en", { day: "numeric", month: "long", year: "numeric" });
const times = (n) => (n === 1 ? "once" : n === 2 ? "twice" : `${inWords(n)} times`);

// unansweredQuestions is a card of them; hidden where none are kept, or the key may not read them.
export function unansweredQuestions(signal) {
  const card = h("section", { class: "card unanswered", "aria-labelledby": "unanswered-title", hidden: true });
  const list = h("ul", { class: "jobs" });
  const out = h("div", { role: "status" });
  let all = false;
  const tell = (error) => {
    if (!signal.aborted) out.replaceChildren(problem(error));
  };
  const forget = (question) => async () => {
    try {
      await send("DELETE", `/v1/admin/unanswered${question === undefined ? "" : `?question=${encodeURIComponent(question)}`}`, { signal });
      await load();
      out.replaceChildren(h("p", null, "Forgotten."));
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
        `${one.verdict === "doubtful" ? "doubtful" : "not in here"}, asked ${times(one.asked)}, ${one.asked > 1 ? "last " : ""}on ${day(one.last)}`,
        one.filtered && "; only a part of the passages was searched",
      ),
      h("button", { type: "button", class: "quiet", "aria-label": `Forget ${one.question}`, click: forget(one.question) }, "Forget"),
    );
  const load = async () => {
    const { keep, questions } = (await perhaps(get("/v1/admin/unanswered", { signal }))) || { keep: 0, questions: [] };
    card.hidden = keep === 0;
    const part = all ? questions : questions.slice(0, shown);
    redraw(
      list,
      ...part.map(row),
      ...(part.length < questions.length
        ? [h("li", null, h("button", { type: "button", click: () => ((all = true), load().catch(tell)) }, `Show all ${questions.length}`))]
        : []),
    );
    none.hidden = questions.length > 0;
    clear.hidden = questions.length === 0;
  };
  const none = h("p", null, "Every question that was asked so far was answered.");
  const clear = h("button", { type: "button", class: "quiet", click: forget() }, "Forget all");
  card.append(
    h("h2", { id: "unanswered-title" }, "Questions without an answer"),
    h("p", null, "What people asked and the documents do not answer, or not for sure. A question that is answered later goes from here."),
    none,
    list,
    h("div", { class: "row" }, clear),
    out,
  );
  load().catch(tell);
  return card;
}

// Chosen: results that an administrator has chosen for some questions.
import { get, perhaps, send } from "./api.js";
import { h, problem, redraw } from "./dom.js";
import { address, read } from "./state.js";
import { t } from "./texts.js";

const linesOf = (field) => field.value.split("\n").map((line) => line.trim()).filter(Boolean);
const listed = (all) => all.map((one) => `“${one}”`).join(", ");

// chosenResults is a card of them, with a form for another; hidden where the key may not change settings.
export function chosenResults(signal) {
  const card = h("section", { class: "card chosen", "aria-labelledby": "chosen-title", hidden: true });
  const list = h("ul", { class: "jobs" });
  const none = h("p", null, t`No results are chosen: every question gets what the search finds.`);
  const out = h("div", { role: "status" });
  let settings = null;
  const tell = (error) => {
    if (!signal.aborted) out.replaceChildren(problem(error));
  };
  const show = () => {
    card.hidden = !settings;
    if (!settings) return;
    none.hidden = settings.overrides.length > 0;
    redraw(list, ...settings.overrides.map(row));
  };
  // change puts what edit makes of the newest entries, so that what others changed meanwhile stays.
  const change = async (edit, done) => {
    try {
      const { synonyms, fields, overrides } = await get("/v1/admin/settings", { signal });
      const body = JSON.stringify({ synonyms, fields, overrides: edit(overrides) });
      settings = await (await send("PUT", "/v1/admin/settings", { body, headers: { "content-type": "application/json" }, signal })).json();
      show();
      out.replaceChildren(h("p", null, done));
      return true;
    } catch (error) {
      tell(error);
      return false;
    }
  };
  const row = (entry) => {
    const text = JSON.stringify(entry);
    const { questions = [], contains = [], pin = [], hide = [] } = entry;
    const about = [...questions, ...contains][0];
    return h(
      "li",
      { class: "row", "data-id": text },
      questions.map((q) => h("a", { href: address({ collections: read().collections, tune: read().tune, q }) }, q)),
      contains.length > 0 && h("span", null, t`questions with ${listed(contains)}`),
      h("small", null, [pin.length > 0 && t`first: ${pin.join(", ")}`, hide.length > 0 && t`hidden: ${hide.join(", ")}`].filter(Boolean).join("; ")),
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": t`Remove the choice for ${about}`,
          click: () => change((all) => all.filter((one) => JSON.stringify(one) !== text), t`Removed.`),
        },
        t`Remove`,
      ),
    );
  };
  const question = h("textarea", { id: "chosen-questions", rows: "2", required: true });
  const pin = h("textarea", { id: "chosen-pin", rows: "2" });
  const hide = h("textarea", { id: "chosen-hide", rows: "2" });
  const submit = async (event) => {
    event.preventDefault();
    const entry = { questions: linesOf(question), pin: linesOf(pin), hide: linesOf(hide) };
    if (await change((all) => [...all, entry], t`The next search uses it.`)) event.target.reset();
  };
  card.append(
    h("h2", { id: "chosen-title" }, t`Chosen results`),
    h("p", null, t`Choose which documents or passages come first for some questions, and which are hidden. The verdict stays that of the search.`),
    none,
    list,
    h(
      "details",
      null,
      h("summary", null, t`Choose results for a question`),
      h(
        "form",
        { class: "stacked", submit },
        h("label", { for: "chosen-questions" }, t`Questions, one per line`),
        question,
        h("label", { for: "chosen-pin" }, t`First: ids of documents or passages, one per line`),
        pin,
        h("label", { for: "chosen-hide" }, t`Hidden: ids of documents or passages, one per line`),
        hide,
        h("button", null, t`Choose`),
      ),
    ),
    out,
  );
  perhaps(get("/v1/admin/settings", { signal })).then((found) => {
    settings = found || null;
    show();
  }, tell);
  return card;
}

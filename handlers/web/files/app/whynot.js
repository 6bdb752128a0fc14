// Why not: where a passage fell that is not among the first, under each method and in
// each source.
import { chosenNames, get, perhaps, post } from "./api.js";
import { h, number, problem } from "./dom.js";
import { keyOf } from "./results.js";
import { contributions } from "./why.js";
import { typed } from "./typed.js";

export function whyNot(state, rankings, sources, signal) {
  const input = h("textarea", { id: "whynot", rows: "2", spellcheck: "false", placeholder: "health/0002, or a piece of its text" });
  const out = h("div", { role: "status" });
  const look = async (event) => {
    event.preventDefault();
    const given = input.value.trim();
    if (!given) return;
    out.replaceChildren(h("p", { class: "waiting" }, "Looking…"));
    try {
      out.replaceChildren(...(await told(given, state, rankings, sources, signal)));
    } catch (error) {
      if (!signal.aborted) out.replaceChildren(problem(error));
    }
  };
  return h(
    "form",
    { class: "whynot", submit: look },
    h("h2", null, "Why not this passage?"),
    h(
      "div",
      { class: "row" },
      h("label", { for: "whynot" }, "Its id, or some of its text"),
      input,
      h("button", null, "Look"),
    ),
    out,
  );
}

async function told(given, state, rankings, sources, signal) {
  const limits = await get("/v1/limits", { signal });
  const found = await find(given, limits, signal);
  if (found.length === 0) return [h("p", null, "No passage has this id, and none has these words.")];
  // Every source is asked for as many as it may return, so that its rank is known further down.
  const { rankings: all } = await post(
    "/v1/search",
    {
      ...typed(state.q),
      k: limits.k,
      candidates: limits.candidates,
      fusion: rankings.map((ranking) => ranking.fusion),
      fields: ["contributions"],
    },
    { signal },
  );
  return found.map((passage) =>
    h(
      "section",
      { "aria-label": passage.id },
      h("p", null, passage.collection && [h("span", { class: "collection-name" }, passage.collection), " · "], h("strong", null, passage.title || passage.id), " ", h("span", { class: "id" }, passage.id)),
      !passage.exact && h("p", { class: "warning" }, "No passage has exactly this text; this one has most of its words."),
      h(
        "div",
        { class: "fallen" },
        all.map((ranking) => h("section", null, h("h3", null, ranking.fusion), fell(passage, ranking, sources))),
      ),
    ),
  );
}

// find returns the passages of an id, of each collection that is asked, or else the one that has a text, or most of
// its words.
async function find(given, limits, signal) {
  if (!/\s/.test(given)) {
    const names = chosenNames().length > 1 ? chosenNames() : [undefined];
    const stored = await Promise.all(
      names.map(async (collection) => {
        const one = await perhaps(get(`/v1/passages/${encodeURIComponent(given)}`, { signal, collection }));
        return one && { ...one, collection, exact: true };
      }),
    );
    if (stored.some(Boolean)) return stored.filter(Boolean);
  }
  const bytes = new TextEncoder().encode(given).slice(0, limits.question_bytes);
  const question = new TextDecoder().decode(bytes).replace(/\uFFFD+$/, "");
  const { results } = await post(
    "/v1/search",
    { question, experts: [], fusion: "sum", k: Math.min(20, limits.k), fields: ["title", "text"] },
    { signal },
  );
  const plain = (text) => text.replace(/\s+/g, " ").trim().toLowerCase();
  const same = results.find((result) => plain(`${result.title || ""} ${result.text}`).includes(plain(given)));
  return same ? [{ ...same, exact: true }] : results.slice(0, 1);
}

function fell(passage, ranking, sources) {
  const result = ranking.results.find((other) => keyOf(other) === keyOf(passage));
  if (!result) return h("p", null, "No source of this method has the passage among its candidates.");
  const behind = ranking.results[0].score - result.score;
  return [
    h(
      "p",
      null,
      result.rank === 1
        ? "The passage ranks first."
        : `Rank ${result.rank.toLocaleString("en")}, ${number(behind)} below the first.`,
    ),
    contributions(result, sources, ` under ${ranking.fusion}`),
  ];
}

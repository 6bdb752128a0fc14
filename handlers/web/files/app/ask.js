// Ask: one box, and the passages that answer.
import { answers, readersOf, switchFor } from "./answers.js";
import { base, get, perhaps, post } from "./api.js";
import { copyButton } from "./copy.js";
import { placeLine } from "./document.js";
import { count, h, number, problem } from "./dom.js";
import { marked } from "./marks.js";
import { answer, questionForm } from "./question.js";
import { go } from "./state.js";
import { typed } from "./typed.js";
import { verdict } from "./verdict.js";
import { asked, bar, contributions } from "./why.js";

const page = 10;

const requestOf = (state) => ({
  ...typed(state.q),
  k: page,
  explain: true,
  fields: ["title", "text", "tags", "document", "contributions", "sources", "highlights"],
  offsets: "utf16", // as strings of JavaScript are cut
  ...((state.tags.length > 0 || state.in) && {
    filter: { ...(state.tags.length > 0 && { tags_all: state.tags }), ...(state.in && { documents: [state.in] }) },
  }),
  ...(state.answer && { answer: true }),
  ...(state.typed && { correct: false }),
});

export function ask(state, signal) {
  const form = questionForm(state, "Ask", { view: "ask", open: "", typed: "" });
  const body = h("div", { class: "answer", "aria-busy": "false" });
  const readers = readersOf(signal);
  const found = async () => {
    if (state.answer && (await readers).length === 0) state.answer = ""; // nothing here marks it
    return post("/v1/search", requestOf(state), { signal });
  };
  const view = h(
    "div",
    { class: "ask" },
    h("h1", { class: state.q ? "unseen" : "" }, "Ask the collection"),
    form,
    switchFor(state, readers),
    filters(state),
    body,
  );
  if (state.q) answer(found(), body, signal, (response) => show(state, body, response, signal));
  else {
    examples(body, signal);
    queueMicrotask(() => form.elements.question.focus());
  }
  return view;
}

function filters(state) {
  if (state.tags.length === 0 && !state.in) return null;
  return h(
    "div",
    { class: "row", "aria-label": "What passages must have", role: "group" },
    h("span", { class: "soft" }, "only"),
    state.in &&
      h(
        "button",
        { type: "button", class: "tag on", "aria-label": `Ask all documents, not ${state.in} alone`, click: () => go({ in: "" }) },
        state.in,
        h("span", { "aria-hidden": "true" }, " ×"),
      ),
    state.tags.map((tag) =>
      h(
        "button",
        {
          type: "button",
          class: "tag on",
          "aria-label": `Remove the tag ${tag}`,
          click: () => go({ tags: state.tags.filter((other) => other !== tag) }),
        },
        tag,
        h("span", { "aria-hidden": "true" }, " ×"),
      ),
    ),
  );
}

// examples offers titles of the collection's own passages.
async function examples(body, signal) {
  try {
    const [list, ready] = await Promise.all([
      perhaps(get("/v1/passages?limit=100", { signal })),
      get("/readyz", { signal }),
    ]);
    const titles = [...new Set((list?.passages || []).map((passage) => passage.title).filter(Boolean))];
    const step = Math.max(1, Math.floor(titles.length / 6));
    const some = titles.filter((_, i) => i % step === 0).slice(0, 6);
    body.replaceChildren(
      h("p", { class: "soft" }, `${count(ready.passages ?? 0, "passage")} can be searched.`),
      some.length > 0
        ? h(
            "div",
            { class: "examples" },
            h("h2", null, "The collection knows about"),
            some.map((title) =>
              h("button", { type: "button", class: "example", click: () => go({ q: title }) }, title),
            ),
          )
        : "",
    );
  } catch (error) {
    if (!signal.aborted) body.replaceChildren(problem(error));
  }
}

function show(state, body, found, signal) {
  const sources = found.sources.map((source) => source.name);
  const highest = Math.max(1e-9, ...found.results.map((result) => result.score));
  const list = h(
    "ol",
    { class: "results" },
    found.results.map((result) => item(state, result, highest, sources, found.answers)),
  );
  body.replaceChildren(
    h(
      "div",
      { class: "columns" },
      h(
        "div",
        null,
        corrected(found),
        verdict(found),
        answers(found, state),
        (found.notes || []).map((note) => h("p", { class: "warning" }, note)),
        h(
          "div",
          { class: "row" },
          h("a", { href: `${base}/?view=compare&q=${encodeURIComponent(state.q)}` }, "Compare methods"),
          copyButton(() => requestOf(state)),
        ),
        list,
        found.results.length === page && more(state, list, highest, sources, signal),
      ),
      asked(found, sources),
    ),
  );
}

// corrected says which words were searched for in place of those that were typed, and leads to
// the others.
function corrected(found) {
  if (!found.corrected) return null;
  return h(
    "p",
    { class: "corrected" },
    "Searched for ",
    found.corrected.map(({ to }, i) => [i ? ", " : "", h("b", null, to)]),
    " in place of ",
    found.corrected.map(({ from }, i) => [i ? ", " : "", h("i", null, from)]),
    ". ",
    h("button", { type: "button", click: () => go({ typed: "1" }) }, "Search as typed"),
  );
}

function item(state, result, highest, sources, marks = []) {
  const open = state.open === result.id;
  const details = h(
    "details",
    {
      open,
      toggle: (event) =>
        event.target.open !== (new URLSearchParams(location.search).get("open") === result.id) &&
        remember(result.id, event.target.open),
    },
    h("summary", null, `Why rank ${result.rank}`),
    contributions(result, sources),
  );
  return h(
    "li",
    { value: result.rank, tabindex: "-1" },
    h(
      "article",
      { "aria-labelledby": `title-${result.rank}` },
      h("h2", { id: `title-${result.rank}` }, result.title ? marked(result, "title") : result.id),
      placeLine(result, state),
      h("p", { class: "text" }, marked(result, "text", marks.filter((one) => one.passage === result.id))),
      h(
        "div",
        { class: "row" },
        h("span", { class: "id" }, result.id),
        result.copies && h("span", { class: "soft", title: result.copies.join(", ") }, `and ${count(result.copies.length, "copy", "copies")}`),
        (result.tags || []).map((tag) =>
          h(
            "button",
            {
              type: "button",
              class: "tag",
              "aria-label": `Only passages with the tag ${tag}`,
              click: () => go({ tags: [...new Set([...state.tags, tag])] }),
            },
            tag,
          ),
        ),
      ),
      bar(result, highest, sources),
      details,
    ),
  );
}

// remember puts the opened passage into the address without a new search.
function remember(id, open) {
  const query = new URLSearchParams(location.search);
  if (open) query.set("open", id);
  else query.delete("open");
  history.replaceState(null, "", `${base}/?${query}`);
}

// more loads the next page when its button comes into sight.
function more(state, list, highest, sources, signal) {
  const button = h("button", { type: "button", class: "more", click: load }, "More passages");
  let loading = false,
    offset = page;
  async function load() {
    if (loading) return;
    loading = true;
    try {
      const next = await post("/v1/search", { ...requestOf(state), answer: false, offset }, { signal });
      list.append(...next.results.map((result) => item(state, result, highest, sources)));
      offset += page;
      if (next.results.length < page) button.remove();
    } catch (error) {
      if (!signal.aborted) button.replaceWith(problem(error));
    }
    loading = false;
  }
  const watcher = new IntersectionObserver(
    (entries) => entries.some((entry) => entry.isIntersecting) && scrollY > 0 && load(),
    { rootMargin: "200px" },
  );
  watcher.observe(button);
  signal.addEventListener("abort", () => watcher.disconnect());
  return button;
}

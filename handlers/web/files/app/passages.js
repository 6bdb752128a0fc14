// Passages: what was found, below the answer; folded where the documents do not answer.
import { fits } from "./answers.js";
import { base, post } from "./api.js";
import { placeLine } from "./document.js";
import { count, h, problem } from "./dom.js";
import { thumbs } from "./judging.js";
import { legend, marked } from "./marks.js";
import { isFor, keyOf } from "./results.js";
import { sortedBy } from "./narrowing.js";
import { inTables } from "./rows.js";
import { go } from "./state.js";
import { t } from "./texts.js";
import { bar, reasons } from "./why.js";

const page = 10;

// passages lists the results of a search; request asks for the next of them. What is writing an answer
// cites any of them.
export function passages(state, found, { sources, signal, request, writing }) {
  if (found.results.length === 0) return null;
  const highest = Math.max(1e-9, ...found.results.map((result) => result.score));
  const show = (response) => response.results.map((result) => item(state, result, { found: response, highest, sources }));
  // Who came to read needs no passage twice.
  const again = fits(found) && !state.tune && !writing && !state.sort ? 1 : 0;
  const list = h("ol", { class: "results" }, show(found).slice(again));
  if (found.results.length === again) return null;
  const inside = [
    !again && legend(list),
    list,
    found.results.length === page && more(list, show, request, signal),
  ];
  if (found.verdict === "not_found" && !state.sort)
    return h("details", { class: "passages" }, h("summary", null, t`Closest passages`), inside);
  return h("section", { "aria-labelledby": "passages-title", class: "passages" }, h("h2", { id: "passages-title" }, again ? t`Other passages` : sortedBy(state) ? t`Passages by ${sortedBy(state)}` : t`Passages`), inside);
}

function item(state, result, { found, highest, sources }) {
  const opened = () => new URLSearchParams(location.search).get("open") === keyOf(result);
  const details = h(
    "details",
    {
      class: "why",
      open: state.open === keyOf(result),
      toggle: (event) => event.target.open !== opened() && remember(keyOf(result), event.target.open),
    },
    h("summary", null, state.tune ? t`Why rank ${result.rank}` : t`Why this passage?`),
    reasons(result, found, state, sources),
  );
  const marks = (found.answers || []).filter((one) => isFor(result, one));
  const functionWords = found.function_words;
  const title = `title-${result.rank}`;
  return h(
    "li",
    { "data-id": result.id, "data-key": keyOf(result), tabindex: "-1" },
    h(
      "article",
      { "aria-labelledby": title },
      h("h3", { id: title }, result.title ? marked(result, "title", { functionWords }) : state.tune || !result.document ? result.id : result.document.title),
      placeLine(result, state, result),
      inTables(h("p", { class: "text" }, marked(result, "text", { answers: marks, functionWords }))),
      h(
        "div",
        { class: "row" },
        thumbs(found, { passage: result.id, collection: result.collection }, { about: result.title || result.id }),
        state.tune && h("span", { class: "id" }, result.id),
        result.pinned && h("span", { class: "soft" }, t`chosen for this question`),
        result.copies &&
          h(
            "span",
            { class: "soft", title: result.copies.map((id, i) => keyOf({ id, collection: result.copies_in?.[i] })).join(", ") },
            state.tune ? t`and ${count(result.copies.length, "copy", "copies")}` : t`also in other places`,
          ),
        (result.tags || []).map((tag) =>
          h(
            "button",
            {
              type: "button",
              class: "tag",
              "aria-label": t`Only passages with the tag ${tag}`,
              click: () => go({ tags: [...new Set([...state.tags, tag])] }),
            },
            tag,
          ),
        ),
      ),
      state.tune && bar(result, highest, sources),
      details,
    ),
  );
}

// remember puts the opened passage, by its key, into the address without a new search.
function remember(key, open) {
  const query = new URLSearchParams(location.search);
  if (open) query.set("open", key);
  else query.delete("open");
  history.replaceState(null, "", `${base}/?${query}`);
}

// more loads the next page when its button comes into sight.
function more(list, show, request, signal) {
  const button = h("button", { type: "button", class: "more", click: load }, t`More passages`);
  let loading = false,
    offset = page;
  async function load() {
    if (loading) return;
    loading = true;
    try {
      const next = await post("/v1/search", { ...request, offset }, { signal });
      list.append(...show(next));
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

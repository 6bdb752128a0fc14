// The page at /: its views, one at a time, as its address says.
import { base } from "./api.js";
import { ask } from "./ask.js";
import { collection } from "./collection.js";
import { chooser, collectionsView, load, none, settle } from "./collections.js";
import { compare } from "./compare.js";
import { documentView } from "./document.js";
import { redraw } from "./dom.js";
import { openGlossary } from "./glossary.js";
import { address, asking, go, read } from "./state.js";
import { language, translate } from "./texts.js";

const views = { ask, compare, collection, collections: collectionsView, document: documentView };
const main = document.getElementById("content");
const tune = document.getElementById("tune");
const chooserPlace = document.getElementById("chooser");
let running = new AbortController();

document.documentElement.lang = language;
translate(document.body);

function render() {
  running.abort();
  running = new AbortController();
  const state = read();
  settle(state);
  const known = state.view !== "document" && Object.hasOwn(views, state.view) ? state.view : "ask";
  const name = none() ? "collections" : state.document ? "document" : known;
  chooserPlace.replaceChildren(chooser(state));
  for (const link of document.querySelectorAll("nav a[data-view]")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    link.href = address({ view: link.dataset.view, ...asking(state), tune: state.tune });
  }
  document.querySelector(".brand").href = address({ collections: state.collections, tune: state.tune });
  document.querySelector('nav a[data-view="compare"]').hidden = !state.tune;
  tune.checked = Boolean(state.tune);
  main.className = state.tune ? "tuning" : "plain";
  document.title = state.q ? `${state.q} · conclave` : "conclave";
  redraw(main, views[name](state, running.signal));
}

// Who puts the numbers away has nothing to compare.
tune.addEventListener("change", () =>
  go({ tune: tune.checked ? "1" : "", ...(!tune.checked && read().view === "compare" && { view: "ask" }) }, { replace: true }),
);
document.getElementById("words").addEventListener("click", openGlossary);
document.addEventListener("click", (event) => {
  const open = chooserPlace.querySelector("details[open]");
  if (open && !open.contains(event.target)) open.open = false;
  const link = event.target.closest?.(`a[href^="${base}/?"], a[href="${base}/"]`);
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  history.pushState(null, "", link.getAttribute("href"));
  render();
  scrollTo(0, 0);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, textarea")) return;
  const input = document.getElementById("question");
  if (!input) return;
  event.preventDefault();
  input.focus();
  input.select();
});
document.addEventListener("state", render);
document.addEventListener("key", () => load().then(render));
addEventListener("popstate", render);
load().then(render);

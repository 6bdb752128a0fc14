// Collections: which there are, which are asked, and how one comes and goes.
import { chosenNames, choose, get, perhaps, post, send, singleName } from "./api.js";
import { count, h, problem } from "./dom.js";
import { twice } from "./documents.js";
import { address, asking, read } from "./state.js";
import { language, t } from "./texts.js";

// known is what the server lists for this key; null where it does not say.
let known = null;

// load asks which collections there are.
export async function load() {
  known = await get("/v1/collections").catch(() => null);
}

// nameOf returns the name of the collection that what is not asked of all chosen ones is about.
export const nameOf = () => singleName() ?? known?.default;

// about describes it: its passages, languages, the fields of its metadata, and what searches do not see yet.
export const about = ({ signal, name = nameOf() } = {}) => get(`/v1/collections/${encodeURIComponent(name)}`, { signal });

// aboutAll describes all that are asked.
export const aboutAll = ({ signal } = {}) =>
  Promise.all((chosenNames().length > 0 ? chosenNames() : [nameOf()]).map((name) => about({ signal, name })));

// oneOf offers which of the chosen collections a view is about; nothing where there is one.
export const oneOf = (state) =>
  chosenNames().length > 1 &&
  h(
    "nav",
    { class: "row one-of", "aria-label": t`Collection` },
    chosenNames().map((name) =>
      h("a", { href: address({ view: state.view, ...asking(state), tune: state.tune, of: name }), "aria-current": name === nameOf() ? "true" : undefined }, name),
    ),
  );

// backlog returns what searches do not see yet; nothing on a server that only reads.
export const backlog = async (signal) => (chosenNames().length > 0 ? await about({ signal }) : await get("/readyz", { signal })).backlog;

// none says whether the server has no collection for this key, so that there is nothing to ask.
export const none = () => Boolean(known?.several) && known.collections.length === 0 && read().collections.length === 0;

// settle lets requests be about the collections that a state names: without a name, about the one that
// the server takes, or the first. What is about one is about the one that the state names, or the first.
export function settle({ collections: named, of }) {
  if (!known?.several) return choose([]);
  const usual = known.collections.find((one) => one.default) || known.collections[0];
  const names = named.length > 0 ? named : usual ? [usual.name] : [];
  choose(names, names.includes(of) ? of : names[0]);
}

const list = new Intl.ListFormat(language);
const foldFrom = 8; // collections, from which on they are found by typing

// chooser offers the collections; nothing on a server of one.
export function chooser(state) {
  if (!known?.several) return "";
  const chosen = chosenNames();
  const link = (collections) => address({ view: state.view, ...asking(state), in: "", collections, tune: state.tune });
  const rows = known.collections.map(({ name, status, detail, settings }) => {
    const on = chosen.includes(name);
    const others = on ? chosen.filter((other) => other !== name) : [...chosen, name];
    return h(
      "li",
      { "data-name": name },
      h("a", { href: link([name]), "aria-current": on && chosen.length === 1 ? "true" : undefined }, name),
      settings?.description && h("span", { class: "soft" }, settings.description),
      status === "failed" && h("span", { class: "warning" }, detail || t`The collection cannot be opened.`),
      chosen.length > 0 &&
        !(on && chosen.length === 1) &&
        h("a", { class: "also", href: link(others), "aria-label": on ? t`Leave out ${name}` : t`Also ask ${name}` }, on ? t`Leave out` : t`Also ask`),
    );
  });
  const find = h("input", {
    type: "search",
    "aria-label": t`Find a collection`,
    placeholder: "name",
    input: () => {
      for (const row of rows) row.hidden = !row.dataset.name.toLowerCase().includes(find.value.trim().toLowerCase());
    },
  });
  const close = (event) => event.key === "Escape" && panel.open && ((panel.open = false), panel.querySelector("summary").focus());
  const panel = h(
    "details",
    { class: "chooser", keydown: close },
    h("summary", { title: chosen.join(", ") }, h("span", { class: "unseen" }, t`Collection: `), chosen.length === 0 ? t`No collection` : chosen.length > 2 ? t`${chosen[0]} and others` : list.format(chosen)),
    h(
      "div",
      { class: "panel" },
      known.collections.length >= foldFrom && find,
      h("ul", null, rows),
      h("a", { href: address({ view: "collections", collections: state.collections, tune: state.tune }) }, t`All collections`),
    ),
  );
  return panel;
}

// collectionsView lists the collections with what can be done with them.
export function collectionsView(state, signal) {
  const out = h("div", { role: "status" });
  const body = h("div", null, h("p", { class: "waiting", role: "status" }, t`Loading…`));
  draw(state, body, out, signal);
  return h("div", { class: "collections" }, h("h1", null, t`Collections`), body, out);
}

// written are the languages that a new collection may be made for, by their codes.
const written = ["en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "fi", "ru", "zh", "ja", "ko"];

const changed = () => load().then(() => document.dispatchEvent(new Event("state")));

async function draw(state, body, out, signal) {
  // Whose key sees jobs may make and remove collections; where there is none, the server says.
  const [limits, jobs] = none() ? [{}, {}] : await Promise.all(["/v1/limits", "/v1/jobs"].map((path) => perhaps(get(path, { signal })).catch(() => null)));
  if (signal.aborted) return;
  const may = jobs && !limits?.read_only;
  const words = { open: "", closed: "", opening: t`being opened`, failed: t`cannot be opened` };
  const items = (known?.collections || []).map(({ name, status, detail, passages, settings }) =>
    h(
      "li",
      { class: "card", "data-name": name },
      h(
        "div",
        { class: "row" },
        h("a", { href: address({ collections: [name], tune: state.tune }) }, h("strong", null, name)),
        settings?.description && h("span", null, settings.description),
        words[status] && h("span", { class: `status ${status}` }, words[status]),
        state.tune && passages !== undefined && h("span", { class: "soft" }, count(passages, "passage")),
        may &&
          twice(
            name,
            async () => {
              await send("DELETE", `/v1/collections/${encodeURIComponent(name)}`, { signal });
              await changed();
            },
            out,
            signal,
          ),
      ),
      detail && h("p", { class: "warning" }, detail),
    ),
  );
  body.replaceChildren(
    items.length > 0 ? h("ul", { class: "jobs" }, items) : h("p", { class: "lead" }, t`There is no collection yet.`),
    may ? making(out, signal) : "",
  );
}

// making is a form for a new collection.
function making(out, signal) {
  const name = h("input", { id: "new-name", autocomplete: "off", spellcheck: "false", required: true, placeholder: "handbook" });
  const description = h("input", { id: "new-description", autocomplete: "off", placeholder: t`what the collection is about` });
  const names = new Intl.DisplayNames(language, { type: "language" });
  const inLanguage = h("select", { id: "new-language" }, written.map((code) => h("option", { value: code }, names.of(code))));
  const submit = async (event) => {
    event.preventDefault();
    out.replaceChildren(t`Creating the collection…`);
    const settings = {
      name: name.value.trim(),
      ...(description.value.trim() && { description: description.value.trim() }),
      ...(inLanguage.value !== "en" && { languages: [inLanguage.value] }),
    };
    try {
      const made = await post("/v1/collections", settings, { signal });
      await load();
      history.pushState(null, "", address({ view: "collection", collections: [made.name], tune: read().tune }));
      document.dispatchEvent(new Event("state"));
    } catch (error) {
      if (!signal.aborted) out.replaceChildren(problem(error));
    }
  };
  return h(
    "section",
    { class: "card" },
    h("h2", null, t`Create a collection`),
    h(
      "form",
      { class: "stacked", submit },
      h("label", { for: "new-name" }, t`Name: letters, digits, dots and dashes`),
      name,
      h("label", { for: "new-description" }, t`Description`),
      description,
      h("label", { for: "new-language" }, t`Language of the documents`),
      inLanguage,
      h("div", { class: "row" }, h("button", { class: "main" }, t`Create`)),
    ),
  );
}

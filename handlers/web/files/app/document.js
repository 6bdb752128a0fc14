// Document: its text as it was read, opened at a place, which is marked.
import { chosenNames, get } from "./api.js";
import { h, problem } from "./dom.js";
import { encodeID, remove, replace } from "./documents.js";
import { whenInWords } from "./inwords.js";
import { original, shows } from "./original.js";
import { inTables, pagesOf } from "./rows.js";
import { go, to } from "./state.js";
import { language, t } from "./texts.js";

// placeAddress is the page of a document, opened where a passage or words of it stand; offsets
// says what at and end count. With a page, its PDF is shown there too.
export const placeAddress = (id, { at, end, offsets, q, before, collection, page } = {}) =>
  to({
    document: id,
    ...(collection && { collections: [collection], asked: chosenNames() }),
    ...(at !== undefined && at !== null && { at: String(at), offsets, ...(end !== undefined && end !== null && { end: String(end) }) }),
    q,
    before,
    page,
  });

const web = /^https?:\/\/([^\s"<>/?#]+)[^\s"<>]*$/;

// linkOf returns the address on the web that a passage's metadata name, or that its document was
// read from; nothing where there is none.
const linkOf = (passage) => [passage?.metadata?.url, passage?.link, passage?.document?.source].find((text) => typeof text === "string" && web.test(text));

const outside = (link) => link && h("a", { class: "outside", href: link, rel: "noreferrer" }, web.exec(link)[1], h("span", { "aria-hidden": "true" }, " ↗"));

// placeLine names the document, the headings and the page of a result, and leads there, and to where
// passage, the result or the one that has it, is on the web; null where neither is known.
export function placeLine(result, state, passage) {
  const link = linkOf(passage) || linkOf(result);
  const collection = passage?.collection || result.collection;
  const from = collection && [h("span", { class: "collection-name" }, collection), " · "];
  if (!result.document) return link || collection ? h("p", { class: "place" }, link ? [from, outside(link)] : h("span", { class: "collection-name" }, collection)) : null;
  const { id, title } = result.document;
  // Titles of passages say the headings, unless somebody chose others.
  const said = result.title?.endsWith(result.heading || "");
  const heading = result.heading && !said ? result.heading.split(" › ").filter((part) => part !== title) : [];
  const place = { ...state, collection, at: result.begin, end: result.end, offsets: "utf16", page: undefined };
  const metadata = result.metadata || passage?.metadata || {};
  const pages = result.page && pagesOf({ media_type: metadata.media_type, page: result.page, page_end: result.page_end });
  return h(
    "p",
    { class: "place" },
    from,
    h("a", { href: placeAddress(id, place) }, id),
    heading.length > 0 && h("span", { class: "heading" }, ` › ${heading.join(" › ")}`),
    pages && [h("span", { class: "soft" }, ", "), shows(metadata) ? h("a", { href: placeAddress(id, { ...place, page: String(result.page) }) }, pages) : h("span", { class: "soft" }, pages)],
    link && [" · ", outside(link)],
  );
}

export function documentView(state, signal) {
  const body = h("div", { class: "document", "aria-busy": "true" }, h("p", { class: "waiting", role: "status" }, t`Loading…`));
  load(state, body, signal);
  return body;
}

async function load(state, body, signal) {
  try {
    const [found, limits] = await Promise.all([
      get(`/v1/documents/${encodeID(state.document)}?text=true&passages=true`, { signal }),
      get("/v1/limits", { signal }),
    ]);
    document.title = `${found.title || found.id} · conclave`;
    body.replaceChildren(...shown(state, found, limits, signal));
    const place = body.querySelector("mark.found");
    if (place) {
      place.scrollIntoView({ block: "center" });
      place.focus({ preventScroll: true });
    }
  } catch (error) {
    if (!signal.aborted) body.replaceChildren(h("h1", null, state.document), problem(error));
  }
  body.setAttribute("aria-busy", "false");
}

function shown(state, found, limits, signal) {
  const facts = [
    [t`Source`, found.source && (web.test(found.source) ? h("a", { href: found.source, rel: "noreferrer" }, found.source) : found.source)],
    [t`Type`, found.media_type],
    [t`Passages`, state.tune && (found.passages || found.passage_list.length).toLocaleString(language)],
    [t`Changed`, state.tune ? found.modified?.slice(0, 10) : whenInWords(found.modified)],
    [t`Tags`, (found.tags || []).join(", ")],
  ].filter(([, value]) => value);
  const out = h("div", { role: "status" });
  const back = state.q ? to({ q: state.q, before: state.before, ...(state.asked.length > 0 && { collections: state.asked }) }) : to({ view: "collection" });
  return [
    h("h1", null, found.title || found.id),
    h("dl", null, facts.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)))),
    h(
      "div",
      { class: "row" },
      h("a", { href: back }, state.q ? t`Back to the answers` : t`All documents`),
      h("a", { href: to({ in: found.id, q: state.q }) }, t`Ask only this document`),
      !limits.read_only && replace(found.id, out, signal),
      !limits.read_only && remove(found.id, out, signal, () => go({ view: "collection", document: "", at: "", end: "", offsets: "" })),
    ),
    out,
    h("div", { class: "beside" }, original(found, shownPage(state, found), signal), text(state, found)),
  ];
}

// shownPage says which page of the original is shown, which passage is marked there, and whether that was asked for.
function shownPage(state, found) {
  const units = found.passage_list.map(({ metadata }) => placeOf(metadata, found.text));
  const [first, last] = wanted(state, found.text, units);
  const within = found.passage_list.filter((_, i) => units[i][0] < last && first < units[i][1]);
  const page = /^\d+$/.test(state.page || "") ? Number(state.page) : within[0]?.metadata.page;
  return { page, passage: within[0]?.id, open: Boolean(state.page) };
}

// text shows what was read: the passages, and what stands between them, such as headings. What the
// address names is marked; without an end that is the passage that stands there.
function text(state, found) {
  const whole = found.text;
  const units = found.passage_list.map(({ metadata }) => placeOf(metadata, whole));
  const [first, last] = wanted(state, whole, units);
  const parts = [];
  const piece = (begin, end, kind) => {
    const from = Math.max(begin, first);
    const to = Math.min(end, last);
    if (from >= to) return h("p", { class: kind }, whole.slice(begin, end));
    const mark = h("mark", { class: "found", tabindex: "-1" }, whole.slice(from, to));
    return h("p", { class: kind }, whole.slice(begin, from), mark, whole.slice(to, end));
  };
  let done = 0,
    page = 0;
  for (const [i, [begin, end]] of units.entries()) {
    if (whole.slice(done, begin).trim()) parts.push(...between(whole, done, begin, piece));
    const { page: now, media_type: type } = found.passage_list[i].metadata;
    if (now && now !== page) parts.push(h("p", { class: "soft page" }, pagesOf({ page: now, media_type: type })));
    page = now || page;
    const read = piece(begin, end, "text");
    parts.push(read.querySelector("mark") ? read : inTables(read)); // what is marked stays one element
    done = end;
  }
  if (whole.slice(done).trim()) parts.push(...between(whole, done, whole.length, piece));
  return h("section", { class: "card read", "aria-label": t`Text` }, parts);
}

// between are the headings between two passages.
const between = (whole, begin, end, piece) =>
  [...whole.slice(begin, end).matchAll(/[^\n]+/g)].map(({ index, 0: { length } }) =>
    piece(begin + index, begin + index + length, "above"),
  );

// placeOf is where a passage stands in the text, in units of UTF-16.
function placeOf({ begin, end, begin_utf16 }, whole) {
  const first = begin_utf16 ?? begin;
  return [first, first + unitsIn(whole, first, end - begin)];
}

// unitsIn is how many units of UTF-16 so many bytes of UTF-8 are, from a place on.
function unitsIn(text, from, bytes) {
  let at = from;
  while (bytes > 0 && at < text.length) {
    const code = text.codePointAt(at);
    bytes -= code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    at += code > 0xffff ? 2 : 1;
  }
  return at - from;
}

// wanted is the stretch of the text that the address names; an empty one where it names none.
function wanted(state, whole, units) {
  if (!/^\d+$/.test(state.at || "")) return [0, 0];
  const place = (text) => {
    if (state.offsets === "utf16") return Math.min(Number(text), whole.length);
    if (state.offsets === "codepoints") return [...whole].slice(0, Number(text)).join("").length;
    return unitsIn(whole, 0, Number(text));
  };
  const at = place(state.at);
  if (/^\d+$/.test(state.end || "")) return [at, place(state.end)];
  return units.find(([begin, end]) => begin <= at && at < end) || units.find(([begin]) => begin >= at) || [0, 0];
}

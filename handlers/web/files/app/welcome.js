// Welcome: what the collection is, and questions that it answers; for an empty one a door for files.
import { chosenNames, get, perhaps } from "./api.js";
import { about as aboutCollection } from "./collections.js";
import { count, h, problem } from "./dom.js";
import { upload } from "./files.js";
import { inWords, whenInWords } from "./inwords.js";
import { mostOffered, offers, tryThese } from "./offers.js";
import { savedQuestions } from "./saved.js";
import { read, to } from "./state.js";
import { language, t } from "./texts.js";

// mostListed documents are looked at to say which is the newest; sampled passages, to say what they
// answer.
const mostListed = 1000,
  sampled = 16;

export async function welcome(body, signal) {
  const names = chosenNames();
  if (names.length > 1) return several(names, body, signal);
  const questions = h("div");
  try {
    const found = await look(signal);
    if (found.standing.passages === 0) {
      await empty(body, signal);
      return;
    }
    body.replaceChildren(...about(found), savedQuestions(), questions);
    await offer(questions, [found], signal);
  } catch (error) {
    if (!signal.aborted) body.replaceChildren(problem(error));
  }
}

// several says what is in each of the collections that are asked together, and what they answer.
async function several(names, body, signal) {
  const places = names.map(() => h("div"));
  const questions = h("div");
  body.replaceChildren(
    h("p", { class: "about" }, t`Questions go to ${list.format(names)}. Each answer names its collection.`),
    ...names.map((name, i) => h("section", { "aria-label": name }, h("h2", { class: "collection-name" }, name), places[i])),
    savedQuestions(),
    questions,
  );
  const looked = await Promise.all(
    names.map(async (name, i) => {
      try {
        const found = await look(signal, name);
        places[i].replaceChildren(...(found.standing.passages > 0 ? about(found) : [h("p", { class: "about soft" }, t`This collection is empty.`)]));
        return found;
      } catch (error) {
        if (!signal.aborted) places[i].replaceChildren(problem(error));
      }
    }),
  );
  await offer(questions, looked.filter((found) => found?.standing.passages > 0), signal);
}

// look returns what is told of a collection: its documents, up to so many, and passages from all over it.
async function look(signal, name) {
  const [standing, listed] = await Promise.all([
    aboutCollection({ signal, name }),
    perhaps(get(`/v1/documents?limit=${mostListed}`, { signal, collection: name })),
  ]);
  const documents = listed?.documents || [];
  return { name, standing, documents, more: Boolean(listed?.next), passages: await sample(documents, signal, name) };
}

// offer shows questions that some collections answer, of each as many.
async function offer(place, all, signal) {
  const each = await Promise.all(all.map(({ name, passages, standing }) => offers(passages, standing, signal, name).catch(() => [])));
  const questions = each.flatMap((some) => some.slice(0, Math.ceil(mostOffered / all.length)));
  if (!signal.aborted) place.replaceChildren(tryThese([...new Set(questions)]));
}

// offersFor returns a place where questions that the collections answer appear when they are found.
export function offersFor(signal) {
  const place = h("div");
  const names = chosenNames().length > 1 ? chosenNames() : [undefined];
  Promise.all(names.map((name) => look(signal, name))).then(
    (all) => offer(place, all, signal),
    () => {}, // who asked has an answer already
  );
  return place;
}

async function empty(body, signal) {
  const limits = await get("/v1/limits", { signal });
  body.replaceChildren(
    h("p", { class: "lead" }, t`This collection is empty.`, " ", limits.read_only ? t`This server does not accept changes.` : t`Add documents, then ask questions about them.`),
    limits.read_only ? "" : upload(limits, signal, () => document.dispatchEvent(new Event("state"))),
  );
}

// sample returns passages from all over the collection.
async function sample(documents, signal, collection) {
  if (documents.length === 0) {
    const { passages = [] } = (await perhaps(get("/v1/passages?limit=200", { signal, collection }))) || {};
    return spread(passages);
  }
  const ids = spread(documents).map(({ id, passages }, i) => `${id}#${1 + ((7 * i) % passages)}`);
  const found = await Promise.all(ids.map((id) => perhaps(get(`/v1/passages/${encodeURIComponent(id)}`, { signal, collection }))));
  return found.filter(Boolean);
}

const spread = (all) => {
  const step = Math.max(1, all.length / sampled);
  return Array.from({ length: Math.min(sampled, all.length) }, (_, i) => all[Math.floor(i * step)]);
};

const list = new Intl.ListFormat(language);
const languageNames = new Intl.DisplayNames(language, { type: "language" });

function about({ name, standing, documents, more }) {
  const { tune } = read();
  const link = (one) => h("a", { href: to({ document: one.id, ...(name && { of: name }) }) }, one.title || one.id);
  const languages = (standing.languages || []).map((code) => languageNames.of(code));
  const newest = documents.filter((one) => one.modified).toSorted((a, b) => (a.modified < b.modified ? 1 : -1))[0];
  const passages = count(standing.passages, "passage");
  const inAll = count(documents.length, "document");
  const what = documents.length === 0 ? t` ${passages} can be searched.` : more ? t` ${passages} of more than ${inAll} can be searched.` : t` ${passages} of ${inAll} can be searched.`;
  const sentences = [
    documents.length > 1
      ? more
        ? t`More than ${inWords(documents.length)} documents, such as ${listed(some(documents), link)}. `
        : t`${capital(inWords(documents.length))} documents, such as ${listed(some(documents), link)}. `
      : documents.length === 1
        ? t`One document: ${link(documents[0])}. `
        : standing.passages === 1
          ? t`One passage. `
          : t`${capital(inWords(standing.passages))} passages. `,
    !more && newest && documents.length > 1 && t`The newest is ${link(newest)}, from ${whenInWords(newest.modified)}. `,
    languages.length > 0 && t`In ${list.format(languages)}.`,
  ];
  const unread = (standing.unread || []).map((code) => languageNames.of(code));
  return [
    h("p", { class: "about" }, sentences.filter(Boolean), tune && h("span", { class: "soft" }, what)),
    unread.length > 0 &&
      h("p", { class: "warning" }, t`No encoder here reads ${list.format(unread)}, so such passages are found only by their words. Create a collection for this language.`),
  ].filter(Boolean);
}

// listed returns links to documents, with what stands between them in a list.
const listed = (documents, link) =>
  list.formatToParts(documents.map((_, i) => String(i))).map(({ type, value }) => (type === "element" ? link(documents[Number(value)]) : value));

const capital = (text) => text[0].toUpperCase() + text.slice(1);

// some are three documents from all over.
const some = (documents) => {
  const step = Math.max(1, documents.length / 3);
  return [0, 1, 2].map((i) => documents[Math.floor(i * step)]).filter((one, i, all) => one && all.indexOf(one) === i);
};

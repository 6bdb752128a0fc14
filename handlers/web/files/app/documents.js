// Documents: a list of them with a search, and what can be done with one.
import { get, send } from "./api.js";
import { count, h, problem } from "./dom.js";
import { whenInWords } from "./inwords.js";
import { read, to } from "./state.js";
import { t } from "./texts.js";

const page = 20;

export const encodeID = (id) => encodeURIComponent(id);

// documentList is a card of the collection's documents; refresh shows what has changed.
export function documentList(limits, signal) {
  const list = h("ul", { class: "jobs documents" });
  const more = h("div");
  const input = h("input", { id: "find", type: "search", autocomplete: "off", placeholder: t`name or title` });
  let turn = 0;
  const load = async (after = "") => {
    const mine = ++turn;
    const query = new URLSearchParams({ limit: page, ...(input.value.trim() && { q: input.value.trim() }), ...(after && { after }) });
    try {
      const { documents, next } = await get(`/v1/documents?${query}`, { signal });
      if (mine !== turn) return; // another search has begun
      const items = documents.map((one) => item(one, limits, signal, refresh));
      if (after) list.append(...items);
      else list.replaceChildren(...(items.length > 0 || next ? items : [h("li", { class: "soft" }, t`None.`)]));
      more.replaceChildren(
        next ? h("button", { type: "button", class: "more", click: () => load(next) }, t`More documents`) : "",
      );
    } catch (error) {
      if (!signal.aborted && mine === turn) list.replaceChildren(h("li", null, problem(error)));
    }
  };
  const refresh = () => load();
  let typing;
  input.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(refresh, 200);
  });
  refresh();
  const card = h(
    "section",
    { class: "card" },
    h("h2", null, t`Documents`),
    h("div", { class: "row" }, h("label", { for: "find" }, t`Find`), input),
    list,
    more,
  );
  return { card, refresh };
}

function item(one, limits, signal, refresh) {
  const { tune } = read();
  const out = h("div", { role: "status" });
  const named = one.title && one.title !== one.id;
  return h(
    "li",
    { "data-id": one.id },
    h(
      "div",
      { class: "row" },
      h("a", { href: to({ document: one.id }) }, one.title || one.id),
      named && h("span", { class: "id" }, one.id),
      tune && one.passages > 0 && h("span", { class: "soft" }, count(one.passages, "passage")),
      one.modified && h("span", { class: "soft" }, tune ? one.modified.slice(0, 10) : whenInWords(one.modified)),
      !limits.read_only && replace(one.id, out, signal, refresh),
      !limits.read_only && remove(one.id, out, signal, refresh),
    ),
    out,
  );
}

// put stores a file as a document. Searches see it when that is waited for.
export async function put(id, file, { signal, wait = false } = {}) {
  const query = new URLSearchParams(wait ? { refresh: "wait" } : {});
  if (file.lastModified) query.set("modified", new Date(file.lastModified).toISOString().replace(/\.\d+Z$/, "Z"));
  const headers = { "content-type": file.type || "application/octet-stream" };
  return (await send("PUT", `/v1/documents/${encodeID(id)}?${query}`, { body: file, headers, signal })).json();
}

// replace puts another file in the place of a document.
export function replace(id, out, signal, done = () => document.dispatchEvent(new Event("state"))) {
  const input = h("input", {
    type: "file",
    class: "unseen",
    tabindex: "-1",
    "aria-label": t`A file to replace ${id}`,
    change: async () => {
      const [file] = input.files;
      if (!file) return;
      out.replaceChildren(t`Storing ${file.name}…`);
      try {
        await put(id, file, { signal, wait: true });
        out.replaceChildren();
        done();
      } catch (error) {
        if (!signal.aborted) out.replaceChildren(problem(error));
      }
    },
  });
  return h(
    "span",
    null,
    h("button", { type: "button", class: "quiet", "aria-label": t`Replace ${id}`, click: () => input.click() }, t`Replace`),
    input,
  );
}

// remove deletes a document when its button is pressed twice.
export const remove = (id, out, signal, done) =>
  twice(
    id,
    async () => {
      await send("DELETE", `/v1/documents/${encodeID(id)}?refresh=wait`, { signal });
      done();
    },
    out,
    signal,
  );

// twice is a button that deletes when it is pressed twice.
export function twice(id, act, out, signal) {
  let sure = false;
  return h(
    "button",
    {
      type: "button",
      class: "quiet",
      "aria-label": t`Delete ${id}`,
      blur: (event) => {
        sure = false;
        event.target.textContent = t`Delete`;
      },
      click: async (event) => {
        const button = event.currentTarget;
        if (!sure) {
          sure = true;
          button.textContent = t`Delete for good?`;
          return;
        }
        button.disabled = true;
        try {
          await act();
        } catch (error) {
          button.disabled = false;
          if (!signal.aborted) out.replaceChildren(problem(error));
        }
      },
    },
    t`Delete`,
  );
}

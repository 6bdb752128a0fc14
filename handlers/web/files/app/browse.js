// Browse: the passages one after the other, or those that have some words; edited and deleted in place.
import { get, post, send, singleName } from "./api.js";
import { encodeID, twice } from "./documents.js";
import { h, problem } from "./dom.js";
import { placeAddress } from "./document.js";
import { inTables } from "./rows.js";
import { read } from "./state.js";
import { t } from "./texts.js";

const page = 20;

// passageList is a card of passages, folded until it is opened.
export function passageList(limits, signal) {
  const list = h("ul", { class: "jobs documents passagelist" });
  const more = h("div");
  const input = h("input", { id: "find-passage", type: "search", autocomplete: "off", placeholder: t`words or an id` });
  let turn = 0;
  const load = async (after = "") => {
    const mine = ++turn;
    const words = input.value.trim();
    try {
      const { passages, next } = words ? { passages: await having(words, signal) } : await get(`/v1/passages?${new URLSearchParams({ limit: page, ...(after && { after }) })}`, { signal });
      if (mine !== turn) return; // another search has begun
      const items = passages.map((one) => item(one, limits, signal));
      if (after) list.append(...items);
      else list.replaceChildren(...(items.length > 0 ? items : [h("li", { class: "soft" }, t`None.`)]));
      more.replaceChildren(next ? h("button", { type: "button", class: "more", click: () => load(next) }, t`More passages`) : "");
    } catch (error) {
      if (!signal.aborted && mine === turn) list.replaceChildren(h("li", null, problem(error)));
    }
  };
  let typing;
  input.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(load, 200);
  });
  return h(
    "details",
    { class: "card", toggle: (event) => event.target.open && list.childElementCount === 0 && load() },
    h("summary", null, h("h2", null, t`Passages`)),
    h("div", { class: "row" }, h("label", { for: "find-passage" }, t`Find`), input),
    list,
    more,
  );
}

// having returns the passage of an id, or those that have some words.
async function having(words, signal) {
  const own = !/\s/.test(words) && (await get(`/v1/passages/${encodeURIComponent(words)}`, { signal }).catch((error) => {
    if (error.status === 404) return null;
    throw error;
  }));
  if (own) return [own];
  const { results } = await post("/v1/search", { question: words, experts: [], fusion: "sum", k: page, fields: ["title", "text", "tags", "metadata", "document"] }, { signal, collection: singleName() });
  return results;
}

function item(passage, limits, signal) {
  const { tune } = read();
  const out = h("div", { role: "status" });
  const body = h("div");
  const place = h("li", { "data-id": passage.id }, body, out);
  const show = () =>
    body.replaceChildren(
      h("strong", null, passage.title || (passage.document ? passage.document.title : passage.id)),
      tune ? h("span", { class: "id" }, ` ${passage.id}`) : "",
      inTables(h("p", { class: "text" }, passage.text)),
      h(
        "div",
        { class: "row" },
        passage.document && h("a", { href: placeAddress(passage.document.id, { at: passage.begin, offsets: "bytes" }) }, t`In its document`),
        !limits.read_only && h("button", { type: "button", class: "quiet", "aria-label": t`Edit ${passage.id}`, click: edit }, t`Edit`),
        !limits.read_only && twice(passage.id, async () => {
          await send("DELETE", `/v1/passages/${encodeID(passage.id)}?refresh=wait`, { signal });
          place.remove();
        }, out, signal),
      ),
    );
  const edit = () => {
    const field = (name, element) => [h("label", { for: `edit-${name}` }, { title: t`Title`, text: t`Text`, tags: t`Tags, with commas between` }[name]), element];
    const title = h("input", { id: "edit-title", value: passage.title || "" });
    const text = h("textarea", { id: "edit-text", rows: "8" });
    const tags = h("input", { id: "edit-tags", value: (passage.tags || []).join(", ") });
    text.value = passage.text;
    const submit = async (event) => {
      event.preventDefault();
      const changed = {
        title: title.value,
        text: text.value,
        tags: tags.value.split(",").map((tag) => tag.trim()).filter(Boolean),
        metadata: passage.metadata || {},
      };
      try {
        await send("PUT", `/v1/passages/${encodeID(passage.id)}?refresh=wait`, {
          body: JSON.stringify(changed),
          headers: { "content-type": "application/json" },
          signal,
        });
        Object.assign(passage, changed);
        out.replaceChildren();
        show();
      } catch (error) {
        if (!signal.aborted) out.replaceChildren(problem(error));
      }
    };
    body.replaceChildren(
      h(
        "form",
        { class: "stacked", submit },
        field("title", title),
        field("text", text),
        field("tags", tags),
        h("div", { class: "row" }, h("button", { class: "main" }, t`Store`), h("button", { type: "button", click: show }, t`Cancel`)),
      ),
    );
    text.focus();
  };
  show();
  return place;
}

// Paste: a text that becomes a document.
import { send } from "./api.js";
import { encodeID } from "./documents.js";
import { h, problem } from "./dom.js";
import { to } from "./state.js";
import { t } from "./texts.js";

// fileNameOf returns what a document of a title is called.
const fileNameOf = (title) =>
  title
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "") || "text";

const mostTries = 100;

// store puts a text as a document under a name that no other has.
async function store(title, text, signal) {
  for (let n = 1; ; n++) {
    const id = `${fileNameOf(title)}${n > 1 ? `-${n}` : ""}.md`;
    try {
      await send("PUT", `/v1/documents/${encodeID(id)}?refresh=wait`, {
        body: `# ${title}\n\n${text}\n`,
        headers: { "content-type": "text/markdown; charset=utf-8", "If-None-Match": "*" },
        signal,
      });
      return id;
    } catch (error) {
      if (error.status !== 412 || n === mostTries) throw error;
    }
  }
}

// pasting is a form for a text, folded until it is wanted.
export function pasting(signal, changed) {
  const title = h("input", { id: "paste-title", autocomplete: "off", required: true });
  const text = h("textarea", { id: "paste-text", rows: "8", required: true });
  const out = h("div", { role: "status" });
  const submit = async (event) => {
    event.preventDefault();
    out.replaceChildren(t`Storing…`);
    try {
      const id = await store(title.value.trim(), text.value, signal);
      out.replaceChildren(...t`Stored as ${h("a", { href: to({ document: id }) }, id)}; searches find it now.`);
      event.target.reset();
      changed();
    } catch (error) {
      if (!signal.aborted) out.replaceChildren(problem(error));
    }
  };
  return h(
    "details",
    { class: "paste" },
    h("summary", null, t`Paste a text`),
    h(
      "form",
      { class: "stacked", submit },
      h("label", { for: "paste-title" }, t`Title`),
      title,
      h("label", { for: "paste-text" }, t`Text or Markdown`),
      text,
      h("div", { class: "row" }, h("button", { class: "main" }, t`Store`)),
    ),
    out,
  );
}

// Writing: a search whose answer a model writes, shown while it writes.
import { post, stream } from "./api.js";
import { h } from "./dom.js";
import { emphasised, markdown } from "./markdown.js";
import { t } from "./texts.js";

// searched asks, and returns what was found as begun. Where a model writes, writing goes on with it until
// another question is asked, or stop is called.
export async function searched(request, reader, signal) {
  if (!reader?.generates) return { begun: await post("/v1/search", request, { signal }) };
  const stopping = new AbortController();
  const writing = await stream("/v1/search", request, { signal: AbortSignal.any([signal, stopping.signal]) });
  return { begun: writing.begun, writing, stop: () => stopping.abort(), stopped: stopping.signal };
}

// nowWriting shows the text as it comes, with a way to end it.
export function nowWriting({ writing, stop }, reader) {
  const said = h("p", { class: "soft", role: "status" }, t`${reader} reads the passages…`);
  const text = h("div", { class: "words written", "aria-busy": "true" });
  writing.each = (now) => {
    text.replaceChildren(...markdown(now, (from, to) => emphasised(now.slice(from, to), (part) => part).flat(Infinity)));
    said.textContent = t`${reader} is writing…`;
  };
  if (writing.text) writing.each(writing.text);
  // Above the text, whose lines would carry the button away from who is about to press it.
  return [h("div", { class: "row" }, said, h("button", { type: "button", click: stop }, t`Stop`)), text];
}

// Original: the file that a document was read from; of a PDF a page, with the words of a passage marked.
import { send } from "./api.js";
import { encodeID } from "./documents.js";
import { h, problem } from "./dom.js";
import { t } from "./texts.js";

const pdf = "application/pdf";

// shows reports whether this page can show the original that metadata of a passage, or a document, tell of.
export const shows = ({ document_original: kept, original = kept, media_type: type }) => Boolean(original) && type === pdf;

// original is a card with the file of a document: a PDF is shown at a page when open says so, or when its button is
// pressed, with the passage of an id marked. Every file can be saved. Null where the file is not kept.
export function original(found, { page, passage, open }, signal) {
  if (!found.original) return null;
  const body = h("div", { class: "sheet" });
  const act = (what) => async () => {
    body.replaceChildren(h("p", { class: "waiting", role: "status" }, t`Loading…`));
    try {
      body.replaceChildren(...((await what()) || []));
    } catch (error) {
      if (!signal.aborted) body.replaceChildren(problem(error.title ? error : { title: t`The PDF cannot be shown`, detail: error.message }));
    }
  };
  const show = act(() => sheets(found.id, page || 1, passage, signal));
  if (open && shows(found)) show();
  return h(
    "section",
    { class: "card original", "aria-label": t`Original` },
    h(
      "div",
      { class: "row" },
      shows(found) && h("button", { type: "button", class: "quiet", click: show }, t`Show the PDF`),
      h("button", { type: "button", class: "quiet", click: act(() => save(found.id, signal)) }, t`Save the file`),
    ),
    body,
  );
}

// save hands a file to the browser's downloads.
async function save(id, signal) {
  const response = await send("GET", `/v1/originals/${encodeID(id)}`, { signal });
  const address = URL.createObjectURL(new Blob([await response.arrayBuffer()], { type: "application/octet-stream" }));
  const link = h("a", { href: address, download: id.split("/").at(-1) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

// sheets returns a canvas with one page of a PDF as the server draws it, with a passage marked, and buttons for the
// others.
async function sheets(id, page, passage, signal) {
  const canvas = h("canvas", { role: "img" });
  const said = h("span", { class: "soft", role: "status" });
  const back = h("button", { type: "button", class: "quiet", click: () => turn(page - 1) }, t`Previous page`);
  const on = h("button", { type: "button", class: "quiet", click: () => turn(page + 1) }, t`Next page`);
  let turning = Promise.resolve();
  const turn = (to) => {
    turning = turning.then(async () => {
      const query = new URLSearchParams({ page: to, ...(passage && { passage }) });
      const response = await send("GET", `/v1/originals/${encodeID(id)}?${query}`, { signal });
      const pages = Number(response.headers.get("X-Pages"));
      const picture = await createImageBitmap(await response.blob());
      canvas.width = picture.width;
      canvas.height = picture.height;
      canvas.getContext("2d").drawImage(picture, 0, 0);
      page = to;
      said.textContent = t`Page ${page} of ${pages}`;
      canvas.setAttribute("aria-label", said.textContent);
      back.disabled = page === 1;
      on.disabled = page === pages;
    });
    return turning;
  };
  await turn(page);
  return [h("div", { class: "row" }, back, said, on), canvas];
}

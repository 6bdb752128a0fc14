// Original: the file that a document was read from; of a PDF a page, with the words of a passage marked.
import { send } from "./api.js";
import { encodeID } from "./documents.js";
import { h, problem } from "./dom.js";

const pdf = "application/pdf";

// shows reports whether this page can show the original that metadata of a passage, or a document, tell of.
export const shows = ({ document_original: kept, original = kept, media_type: type }) => Boolean(original) && type === pdf;

// original is a card with the file of a document: a PDF is shown at a page when open says so, or when its button is
// pressed; words are marked in it. Every file can be saved. Null where the file is not kept.
export function original(found, { page, words, open }, signal) {
  if (!found.original) return null;
  const body = h("div", { class: "sheet" });
  const act = (what) => async () => {
    body.replaceChildren(h("p", { class: "waiting", role: "status" }, "Loading…"));
    try {
      const response = await send("GET", `/v1/originals/${encodeID(found.id)}`, { signal });
      body.replaceChildren(...((await what(response)) || []));
    } catch (error) {
      if (!signal.aborted) body.replaceChildren(problem(error.title ? error : { title: "The PDF cannot be shown", detail: error.message }));
    }
  };
  const show = act((response) => sheets(response, page || 1, words, signal));
  if (open && shows(found)) show();
  return h(
    "section",
    { class: "card original", "aria-label": "Original" },
    h(
      "div",
      { class: "row" },
      shows(found) && h("button", { type: "button", class: "quiet", click: show }, "Show the PDF"),
      h("button", { type: "button", class: "quiet", click: act((response) => save(response, found.id)) }, "Save the file"),
    ),
    body,
  );
}

// save hands a file to the browser's downloads.
async function save(response, id) {
  const address = URL.createObjectURL(new Blob([await response.arrayBuffer()], { type: "application/octet-stream" }));
  const link = h("a", { href: address, download: id.split("/").at(-1) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

// sheets returns a canvas with one page of a PDF, and buttons for the others.
async function sheets(response, page, words, signal) {
  const reader = await import("../pdf/pdf.min.mjs");
  reader.GlobalWorkerOptions.workerSrc = new URL("../pdf/pdf.worker.min.mjs", import.meta.url).href;
  const task = reader.getDocument({ data: await response.arrayBuffer(), useWasm: false, enableXfa: false, verbosity: reader.VerbosityLevel.ERRORS });
  signal.addEventListener("abort", () => task.destroy());
  const file = await task.promise;
  const canvas = h("canvas", { role: "img" });
  const said = h("span", { class: "soft", role: "status" });
  const back = h("button", { type: "button", class: "quiet", click: () => turn(page - 1) }, "Previous page");
  const on = h("button", { type: "button", class: "quiet", click: () => turn(page + 1) }, "Next page");
  let turning = Promise.resolve();
  const turn = (to) => {
    page = Math.min(Math.max(to, 1), file.numPages);
    turning = turning.then(async () => {
      const marked = await draw(reader, await file.getPage(page), canvas, words);
      canvas.setAttribute("aria-label", `Page ${page} of ${file.numPages}${marked ? `, marked: ${marked}` : ""}`);
      said.textContent = `Page ${page} of ${file.numPages}`;
      back.disabled = page === 1;
      on.disabled = page === file.numPages;
    });
    return turning;
  };
  await turn(page);
  return [h("div", { class: "row" }, back, said, on), canvas];
}

const sharpness = 2; // pixels of the canvas for each of a page in its own size

// draw draws a page and marks words on it. It returns the text that is marked.
async function draw(reader, page, canvas, words) {
  const viewport = page.getViewport({ scale: sharpness });
  canvas.width = viewport.width;
  canvas.height = viewport.height;
  const context = canvas.getContext("2d");
  await page.render({ canvas, canvasContext: context, viewport }).promise;
  const { items } = await page.getTextContent();
  const found = marked(items.map(({ str }) => str || ""), words || "").map((i) => items[i]);
  context.globalCompositeOperation = "multiply"; // so that the letters stay black
  context.fillStyle = "#ffe07a";
  for (const { transform, width } of found) {
    const [a, b, c, d, x, y] = reader.Util.transform(viewport.transform, transform);
    const height = Math.hypot(c, d);
    context.setTransform(1, 0, 0, 1, x, y);
    context.rotate(Math.atan2(b, a));
    context.fillRect(0, -height, width * sharpness, 1.25 * height);
  }
  return found.map(({ str }) => str).join(" ");
}

const lettersOf = (text) => text.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");

const run = 12; // letters that have to be the same

// marked returns which of the strings of a page belong to a text: those of which most letters stand in a run that the
// text has too. Both differ in hyphens, spaces and line breaks.
export function marked(strings, text) {
  const wanted = lettersOf(text);
  const size = Math.min(run, wanted.length);
  if (size === 0) return [];
  const runs = new Set();
  for (let i = 0; i + size <= wanted.length; i++) runs.add(wanted.slice(i, i + size));
  const each = strings.map(lettersOf);
  const all = each.join("");
  const inside = new Uint8Array(all.length);
  for (let i = 0; i + size <= all.length; i++) if (runs.has(all.slice(i, i + size))) inside.fill(1, i, i + size);
  let at = 0;
  return each.flatMap((letters, i) => {
    const count = inside.subarray(at, at + letters.length).reduce((sum, one) => sum + one, 0);
    at += letters.length;
    return count > 0 && 2 * count > letters.length ? [i] : [];
  });
}

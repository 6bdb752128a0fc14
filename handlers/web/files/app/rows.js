// Rows of tables in the text of a passage, and what a page of a document is called.
import { h } from "./dom.js";
import { t } from "./texts.js";

// split divides nodes where their text has a separator. Of an element that has one inside, each part has a copy.
function split(nodes, separator) {
  const parts = [[]];
  for (const node of nodes) {
    for (const [i, text] of node.textContent.split(separator).entries()) {
      if (i > 0) parts.push([]);
      if (!text) continue;
      if (text === node.textContent) parts.at(-1).push(node);
      else if (node.nodeType === Node.TEXT_NODE) parts.at(-1).push(document.createTextNode(text));
      else {
        const copy = node.cloneNode(false);
        copy.textContent = text;
        parts.at(-1).push(copy);
      }
    }
  }
  return parts;
}

// inTables returns an element with the text of a passage whose lines with " | " between cells, two or more in a row, are shown as
// a table; the element itself where it has none.
export function inTables(element) {
  const lines = split([...element.childNodes], "\n");
  const isRow = (line) => line?.some((node) => node.textContent.includes(" | "));
  if (!lines.some((line, i) => isRow(line) && isRow(lines[i + 1]))) return element;
  const out = h("div", { class: element.className });
  for (let i = 0; i < lines.length; ) {
    let end = i;
    while (isRow(lines[end])) end++;
    if (end - i < 2) {
      out.append(h("p", null, lines[i]));
      i++;
      continue;
    }
    const rows = lines.slice(i, end).map((line) => h("tr", null, split(line, " | ").map((cell) => h("td", null, cell))));
    out.append(h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t`Table` }, h("table", { class: "cells" }, h("tbody", null, rows))));
    i = end;
  }
  return out;
}

// pagesOf names the page of a passage, or its pages where it ends on another one: slides or sheets by the media type.
export function pagesOf({ page, page_end: end, media_type: type = "" }) {
  if (!page) return "";
  const many = end > page && `${page}–${end}`;
  if (type.includes("presentation")) return many ? t`slides ${many}` : t`slide ${page}`;
  if (type.includes("spreadsheet")) return many ? t`sheets ${many}` : t`sheet ${page}`;
  return many ? t`pages ${many}` : t`page ${page}`;
}

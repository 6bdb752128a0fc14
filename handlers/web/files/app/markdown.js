// Markdown that a model writes: paragraphs, headings, lists, tables, code and emphasis. Nothing in it becomes a link, an
// image or HTML.
import { h } from "./dom.js";

const fence = /^ {0,3}(```|~~~)/;
const heading = /^ {0,3}#{1,6}\s+/;
const item = /^(\s*)([-*+•]|\d{1,3}[.)])\s+/;
const row = /^\s*\|/;
const separator = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

// markdown returns a text as elements. inline returns the nodes of text.slice(start, end).
export function markdown(text, inline) {
  const out = [];
  let at = 0;
  const lines = text.split("\n").map((line) => {
    const start = at;
    at += line.length + 1;
    return { line, start };
  });
  for (let i = 0; i < lines.length; ) {
    const { line, start } = lines[i];
    const next = (matches) => {
      const first = i;
      do i++;
      while (i < lines.length && matches(lines[i].line, i));
      return lines.slice(first, i);
    };
    if (line.trim() === "") {
      i++;
    } else if (fence.test(line)) {
      const mark = line.match(fence)[1];
      const code = next((other) => !other.trim().startsWith(mark)).slice(1);
      i++;
      out.push(h("pre", null, h("code", null, code.map((one) => one.line).join("\n"))));
    } else if (heading.test(line)) {
      i++;
      out.push(h("p", null, h("strong", null, inline(start + line.match(heading)[0].length, start + line.length))));
    } else if (row.test(line) && separator.test(lines[i + 1]?.line || "")) {
      out.push(tableOf(next((other) => row.test(other)), inline));
    } else if (item.test(line)) {
      const ordered = /\d/.test(line.match(item)[2]);
      const all = next((other) => other.trim() !== "" && !fence.test(other));
      out.push(h(ordered ? "ol" : "ul", null, itemsOf(all, inline)));
    } else {
      const all = next((other) => other.trim() !== "" && ![fence, heading, item, row].some((one) => one.test(other)));
      const last = all[all.length - 1];
      out.push(h("p", null, inline(start, last.start + last.line.length)));
    }
  }
  return out;
}

// itemsOf returns the items of a list. A line without a mark goes on with the item before it.
function itemsOf(lines, inline) {
  const items = [];
  for (const { line, start } of lines) {
    const mark = line.match(item)?.[0].length;
    if (mark === undefined && items.length > 0) items[items.length - 1].end = start + line.length;
    else items.push({ start: start + (mark || 0), end: start + line.length });
  }
  return items.map((one) => h("li", null, inline(one.start, one.end)));
}

// tableOf returns a table of which the first line is the header and the second the line below it.
function tableOf(lines, inline) {
  const cells = ({ line, start }, tag) => {
    const out = [];
    let at = line.indexOf("|") + 1;
    for (const cell of line.slice(at).trimEnd().replace(/\|$/, "").split("|")) {
      const from = start + at + (cell.length - cell.trimStart().length);
      out.push(h(tag, tag === "th" ? { scope: "col" } : null, inline(from, from + cell.trim().length)));
      at += cell.length + 1;
    }
    return h("tr", null, out);
  };
  const [head, , ...rows] = lines;
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" },
    h("table", null, h("thead", null, cells(head, "th")), h("tbody", null, rows.map((one) => cells(one, "td")))),
  );
}

const emphasis = /\*\*([^*\n]+)\*\*|__([^_\n]+)__|`([^`\n]+)`/g;

// emphasised returns a text as nodes: what stands between ** or __ is strong, and what stands in backquotes is code. plain
// returns the nodes of other text.
export function emphasised(text, plain) {
  const out = [];
  let done = 0;
  for (const { index, 0: whole, 1: stars, 2: lines, 3: code } of text.matchAll(emphasis)) {
    out.push(plain(text.slice(done, index)), code === undefined ? h("strong", null, plain(stars ?? lines)) : h("code", null, code));
    done = index + whole.length;
  }
  return [...out, plain(text.slice(done))];
}

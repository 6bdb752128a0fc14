// Elements and numbers as this page shows them.
import { language, t } from "./texts.js";

const drawn = ["svg", "path", "circle", "text"];

// h makes an element: attributes, listeners where the value is a function, children.
export function h(tag, attributes, ...children) {
  const element = drawn.includes(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

// sized sets an element's width in percent; the page's policy allows no style attributes.
export function sized(element, percent) {
  element.style.width = `${Math.max(0, Math.min(100, percent)).toFixed(2)}%`;
  return element;
}

// redraw shows other children in an element. Who has the keyboard's focus on one of them
// goes on from its successor, or from the element where it has none.
export function redraw(element, ...children) {
  const named = (one) => one.id || one.dataset.id || one.ariaLabel || one.textContent || one.closest("label")?.textContent;
  const old = document.activeElement;
  const focused = old !== element && element.contains(old);
  element.replaceChildren(...children);
  if (!focused) return;
  const next = [...element.querySelectorAll(old.tagName)].find((one) => named(one) === named(old)) || element;
  next.focus();
  if (next.type === "search") next.setSelectionRange(next.value.length, next.value.length);
}

// table is a table that scrolls by itself where it is too wide. A cell is a value or an
// element; the first of a row is its heading.
export function table(label, head, rows, foot) {
  const cells = (row) => row.map((cell, at) => (at === 0 ? h("th", { scope: "row" }, cell) : h("td", null, cell)));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    h(
      "table",
      null,
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          head.map((name) => h("th", { scope: "col" }, name)),
        ),
      ),
      h(
        "tbody",
        null,
        rows.map((row) => h("tr", null, cells(row))),
      ),
      foot && h("tfoot", null, h("tr", null, cells(foot))),
    ),
  );
}

export const number = (x, digits = 3) => (x === null || x === undefined ? "–" : Number(x).toFixed(digits));
export const count = (n, one, many = one + "s") => t(["", ` ${n === 1 ? one : many}`], n.toLocaleString(language));
export const bytes = (n) =>
  n < 1e6 ? `${(n / 1e3).toFixed(0)} kB` : n < 1e9 ? `${(n / 1e6).toFixed(1)} MB` : `${(n / 1e9).toFixed(1)} GB`;

// problem shows an error of the API with its reasons, or that of a request that got no answer.
export function problem(error) {
  const where = (e) => e.parameter || e.pointer;
  const unsaid = error.status ? t`The server answered with status ${error.status} and gave no reason.` : t`The request failed without a reason. Try again.`;
  const said = [error, error.detail, error.message].find((one) => typeof one === "string" && one !== "");
  const detail = said || (error.title ? "" : unsaid);
  const more = (error.errors || [])
    .filter((e) => !detail.includes(e.detail))
    .map((e) => h("li", null, where(e) && [h("code", null, where(e)), " "], e.detail));
  return h(
    "div",
    { class: "problem", role: "alert" },
    error.title && h("strong", null, error.title),
    h("p", null, error.line ? t`line ${error.line}: ` : "", detail),
    more.length > 0 && h("ul", null, more),
    error.status === 401 && h("p", null, t`Enter an API key at the top of the page.`),
  );
}

// sourceClass gives each source of an answer its own colour, in the order of the sources.
export const sourceClass = (sources, name) => `source-${Math.max(0, sources.indexOf(name)) % 8}`;

// Narrowing: conditions on the fields of passages' metadata, as boxes to tick and as ranges, and an order
// by a field. All of it stands in the address.
import { perhaps, post } from "./api.js";
import { aboutAll } from "./collections.js";
import { h } from "./dom.js";
import { go, read } from "./state.js";
import { language, t } from "./texts.js";

// A field with more values than this is offered as a range where it can be, and else by its most frequent.
const mostBoxes = 12;
const mostFields = 16; // that the server counts at once

// What documents say of themselves has other names here than in their metadata.
const labels = { media_type: t`Type of file`, modified: t`Changed` };
const labelOf = (field) => (Object.hasOwn(labels, field) ? labels[field] : field.replaceAll("_", " "));

// What the commonest types of files are called.
const types = {
  "application/pdf": "PDF",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PowerPoint",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "Excel",
  "application/epub+zip": "EPUB",
  "message/rfc822": t`Mail`,
  "text/csv": "CSV",
  "text/html": t`Web page`,
  "text/markdown": "Markdown",
  "text/plain": t`Text`,
};
const nameOf = (field, value) => (field === "media_type" && Object.hasOwn(types, value) ? types[value] : String(value));

// written returns a value as it stands in the address: texts as they are, unless they read as another value.
const written = (value) => (typeof value === "string" && meant(value) === value ? value : JSON.stringify(value));

// meant undoes written.
function meant(text) {
  try {
    const value = JSON.parse(text);
    return ["string", "number", "boolean"].includes(typeof value) ? value : text;
  } catch {
    return text;
  }
}

const same = (a, b) => a.field === b.field && a.by === b.by && a.value === b.value;

// conditionsOf returns the conditions of a state as the server reads them; without those on a field where
// one is named.
function conditionsOf({ where }, without) {
  const fields = [...new Set(where.map(({ field }) => field))].filter((field) => field !== without);
  return fields.map((field) => {
    const own = (by) => where.filter((one) => one.field === field && one.by === by).map(({ value }) => meant(value));
    const [values, from, to] = ["is", "from", "to"].map(own);
    return {
      field,
      ...(values.length > 0 && { in: values }),
      ...(from.length > 0 && { gte: from.at(-1) }),
      ...(to.length > 0 && { lte: to.at(-1) }),
    };
  });
}

// filterOf returns the filter of a state's requests as a part of them; nothing where all may be found.
export function filterOf(state, without) {
  const and = conditionsOf(state, without);
  const filter = {
    ...(state.tags.length > 0 && { tags_all: state.tags }),
    ...(state.in && { documents: [state.in] }),
    ...(and.length > 0 && { and }),
  };
  return Object.keys(filter).length > 0 ? { filter } : {};
}

// sortOf returns the order of a state's requests as a part of them.
export const sortOf = ({ sort }) => (sort ? { sort: { field: sort.replace(/^-/, ""), order: sort.startsWith("-") ? "desc" : "asc" } } : {});

export const isNarrowed = (state) => state.where.length + state.tags.length > 0 || Boolean(state.in);

// chips are the conditions in force, each with what takes it away.
export function chips(state) {
  if (!isNarrowed(state)) return null;
  return h(
    "div",
    { class: "row filters", "aria-label": t`Conditions for passages`, role: "group" },
    h("span", { class: "soft" }, t`only`),
    removable(state),
  );
}

function removable(state) {
  const chip = (text, label, change) =>
    h("button", { type: "button", class: "tag on", "aria-label": label, click: () => go(change) }, text, h("span", { "aria-hidden": "true" }, " ×"));
  const joins = { is: (a, b) => t`${a}: ${b}`, from: (a, b) => t`${a} from ${b}`, to: (a, b) => t`${a} to ${b}` };
  return [
    state.in && chip(state.in, t`Ask all documents, not only ${state.in}`, { in: "" }),
    state.tags.map((tag) => chip(tag, t`Remove the tag ${tag}`, { tags: state.tags.filter((other) => other !== tag) })),
    state.where.map((one) => {
      const text = joins[one.by](labelOf(one.field), nameOf(one.field, meant(one.value)));
      return chip(text, t`Remove: ${text}`, { where: state.where.filter((other) => !same(one, other)) });
    }),
  ];
}

const everything = { where: [], tags: [], in: "" };

// nothingLeft says that no passage meets the conditions, and offers to take them away.
export function nothingLeft(state) {
  const one = state.where.length + state.tags.length + (state.in ? 1 : 0) === 1;
  return h(
    "section",
    { class: "card answers", "aria-labelledby": "answers-title" },
    h("h2", { id: "answers-title", class: "unseen" }, t`Answer`),
    h("p", { class: "words", role: "status" }, one ? t`No passage meets the condition.` : t`No passage meets all conditions.`),
    h("p", { class: "soft" }, one ? t`Remove it:` : t`Remove one:`),
    h("div", { class: "row" }, removable(state), !one && h("button", { type: "button", class: "quiet", click: () => go(everything) }, t`Remove all`)),
  );
}

// others says of a search that found no answer that conditions were in force.
export const others = (state) =>
  isNarrowed(state) &&
  h("p", { class: "soft" }, t`Only passages that meet the conditions were searched. `, h("button", { type: "button", class: "quiet", click: () => go(everything) }, t`Search everything`));

let opened = false; // as long as the page is

// narrowing offers the fields of what the question may find; it appears when these are known, and stays
// away where there are none.
export function narrowing(state, signal) {
  const fields = h("div", { class: "facets" });
  const panel = h(
    "details",
    { class: "narrowing", open: opened, hidden: true, toggle: () => (opened = panel.open) },
    h("summary", null, t`Narrow down or sort`),
    fields,
  );
  load(state, signal).then(
    (offered) => {
      if (signal.aborted || offered.length === 0) return;
      fields.replaceChildren(...offered);
      panel.hidden = false;
    },
    () => {}, // who asked sees the refusal of the question
  );
  return panel;
}

async function load(state, signal) {
  const kinds = new Map(); // of all collections that are asked
  for (const { fields = [], settings } of (await perhaps(aboutAll({ signal }))) || []) {
    const own = new Map(fields.map(({ field, kinds }) => [field, kinds]));
    for (const [field, kind] of Object.entries(settings?.fields || {})) own.set(field, [kind]);
    for (const [field, more] of own) kinds.set(field, [...new Set([...(kinds.get(field) || []), ...more])]);
  }
  for (const { field } of state.where) if (!kinds.has(field)) kinds.set(field, []);
  const names = [...kinds.keys()].slice(0, mostFields);
  if (names.length === 0) return [];
  const counts = new Map((await counted(names, state, signal)).map((facet) => [facet.field, facet]));
  const is = (name, kind) => kinds.get(name).length > 0 && kinds.get(name).every((one) => one === kind);
  const shown = names.map((name) => (is(name, "date") ? range(state, name, "date") : boxes(state, counts.get(name), is(name, "number"))));
  const ordered = names.filter((name) => is(name, "number") || is(name, "date"));
  return [...shown, ordered.length > 0 && order(state, ordered, (name) => is(name, "date"))].filter(Boolean);
}

// counted returns how many passages have each value. The values of a field are counted without the
// conditions on it, so that who ticked one sees the others.
async function counted(names, state, signal) {
  const own = names.filter((name) => state.where.some(({ field }) => field === name));
  const groups = [names.filter((name) => !own.includes(name)), ...own.map((name) => [name])].filter((group) => group.length > 0);
  const found = await Promise.all(
    groups.map((group) =>
      post(
        "/v1/search",
        {
          question: state.q,
          k: 1,
          experts: [],
          fusion: "sum",
          fields: ["title"],
          correct: false,
          facets: group.map((field) => ({ field, size: mostBoxes })),
          ...filterOf(state, own.includes(group[0]) ? group[0] : undefined),
        },
        { signal },
      ),
    ),
  );
  return found.flatMap(({ facets }) => facets);
}

const ticked = (state, field) => state.where.filter((one) => one.field === field && one.by === "is").map(({ value }) => value);

// boxes offers the values of a field; a range where they are many numbers, and nothing where each passage
// has a value of its own.
function boxes(state, { field, selected, other = 0 }, numeric) {
  const on = ticked(state, field);
  if (numeric && (other > 0 || selected.length >= mostBoxes)) return range(state, field, "number");
  const values = selected.map(({ value, count }) => ({ text: written(value), value, count }));
  for (const text of on) if (!values.some((one) => one.text === text)) values.push({ text, value: meant(text), count: 0 });
  if (on.length === 0 && (values.length < 2 || (other > 0 && values[0].count <= 1))) return null;
  const { tune } = read();
  return h(
    "fieldset",
    { "data-field": field },
    h("legend", null, labelOf(field)),
    values.map(({ text, value, count }) =>
      h(
        "label",
        { class: "check" },
        h("input", {
          type: "checkbox",
          checked: on.includes(text),
          change: ({ target }) => {
            const one = { field, by: "is", value: text };
            const rest = state.where.filter((other) => !same(one, other));
            go({ where: target.checked ? [...rest, one] : rest });
          },
        }),
        h("span", null, nameOf(field, value)),
        tune && h("span", { class: "soft" }, count.toLocaleString(language)),
      ),
    ),
    other > 0 && h("p", { class: "soft" }, tune ? t`and ${other.toLocaleString(language)} with other values` : t`and other values`),
  );
}

// range offers the least and the greatest value of a field.
function range(state, field, type) {
  const end = (by, label) => {
    const now = state.where.find((one) => one.field === field && one.by === by)?.value ?? "";
    return h(
      "label",
      null,
      h("span", null, label),
      h("input", {
        type,
        step: type === "number" ? "any" : undefined,
        value: now,
        "aria-label": `${labelOf(field)} ${label}`,
        change: ({ target }) => {
          const rest = state.where.filter((one) => one.field !== field || one.by !== by);
          go({ where: target.value ? [...rest, { field, by, value: target.value }] : rest });
        },
      }),
    );
  };
  return h("fieldset", { "data-field": field, class: "range" }, h("legend", null, labelOf(field)), end("from", t`from`), end("to", t`to`));
}

// order offers to sort what was found.
function order(state, fields, isDate) {
  const options = fields.flatMap((field) => [
    [`-${field}`, isDate(field) ? t`${labelOf(field)}, newest first` : t`${labelOf(field)}, largest first`],
    [field, isDate(field) ? t`${labelOf(field)}, oldest first` : t`${labelOf(field)}, smallest first`],
  ]);
  return h(
    "label",
    { class: "order" },
    h("span", null, t`Order`),
    h(
      "select",
      { change: ({ target }) => go({ sort: target.value }) },
      h("option", { value: "" }, t`best match first`),
      options.map(([value, text]) => h("option", { value, selected: state.sort === value }, text)),
    ),
  );
}

// sortedBy names the field by which passages are sorted; "" where what fits best is first.
export const sortedBy = ({ sort }) => (sort ? labelOf(sort.replace(/^-/, "")) : "");

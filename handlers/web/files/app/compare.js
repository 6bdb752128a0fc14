// Compare: one question under up to four methods, and under weights of one's own.
import { get, post } from "./api.js";
import { copyButton } from "./copy.js";
import { h, number, problem, redraw } from "./dom.js";
import { answer, questionForm } from "./question.js";
import { chips, filterOf } from "./narrowing.js";
import { keyOf } from "./results.js";
import { go } from "./state.js";
import { typed } from "./typed.js";
import { words } from "./verdict.js";
import { dot } from "./why.js";
import { whyNot } from "./whynot.js";

const methods = ["auto", "gate", "hybrid", "muf", "muf-sparse", "cce", "rrf", "sum"];
const shown = 10,
  depth = 100,
  most = 4;

const chosen = (state) =>
  (state.methods.length > 0 ? state.methods : ["auto", "rrf"]).filter((name) => methods.includes(name)).slice(0, most);
const requestOf = (state) => ({
  ...typed(state.q),
  k: depth,
  fusion: chosen(state),
  ...filterOf(state),
  fields: ["title", "contributions", "sources"],
});

export function compare(state, signal) {
  const form = questionForm(state, "Compare");
  const picked = chosen(state);
  const choice = h(
    "fieldset",
    { class: "row" },
    h("legend", null, `Methods (at most ${most})`),
    methods.map((name) =>
      h(
        "label",
        { class: "check" },
        h("input", {
          type: "checkbox",
          value: name,
          checked: picked.includes(name),
          disabled: !picked.includes(name) && picked.length === most,
          change: (event) =>
            go({ methods: event.target.checked ? [...picked, name] : picked.filter((other) => other !== name) }),
        }),
        name,
      ),
    ),
  );
  const body = h("div");
  if (state.q && picked.length > 0) load(state, body, signal);
  const absent = h("div", { class: "absent" });
  lacks(signal).then((reasons) => {
    for (const [name, reason] of reasons) {
      const box = choice.querySelector(`input[value="${name}"]`);
      if (!box.checked) box.disabled = true;
      box.closest("label").title = reason;
      box.closest("label").classList.add("lacking");
    }
    if (reasons.size > 0)
      absent.append(
        h(
          "details",
          null,
          h("summary", null, `Why ${new Intl.ListFormat("en").format(reasons.keys())} cannot answer here`),
          [...reasons].map(([name, reason]) => h("p", { class: "soft" }, h("b", null, name), `: ${reason}`)),
        ),
      );
  });
  return h("div", { class: "compare" }, h("h1", null, "Compare methods"), form, chips(state), choice, absent, body);
}

// lacks returns why methods cannot answer here, by their names; nothing where nobody says.
const lacks = (signal) =>
  get("/v1/experts", { signal }).then(
    (known) => new Map(known.methods.filter((one) => one.lacks && methods.includes(one.name)).map((one) => [one.name, one.lacks])),
    () => new Map(),
  );

function load(state, body, signal) {
  const request = requestOf(state);
  answer(post("/v1/search", request, { signal }), body, signal, (found) =>
    show(
      state,
      body,
      found.rankings,
      found.sources.map((source) => source.name),
      signal,
    ),
  );
}

function show(state, body, rankings, sources, signal) {
  const grid = h("div", { class: "rankings", role: "group", "aria-label": "Rankings side by side" });
  const [first] = rankings;
  const mine = h("section", { "aria-label": "your weights" });
  const draw = (own) => {
    redraw(mine, ...column("your weights", own.results));
    grid.querySelectorAll(".lit").forEach((element) => element.classList.remove("lit"));
    grid.querySelectorAll("li:hover, li:focus").forEach(light);
    requestAnimationFrame(() => lines(grid));
  };
  grid.append(
    ...rankings.map(({ fusion, method, results, verdict }) => {
      const name = method ? `${fusion} (${method})` : fusion;
      return h("section", { "aria-label": name }, column(name, results, verdict));
    }),
    mine,
  );
  draw(first);
  new ResizeObserver(() => lines(grid)).observe(grid);
  const said = h("div");
  body.replaceChildren(
    h("h2", { class: "compared" }, `Ranks for “${state.q}”`), // the box may hold another question by now
    h(
      "div",
      { class: "row" },
      copyButton(() => requestOf(state)),
    ),
    sliders(
      sources.filter((name) => first.results.some((r) => r.contributions.some((c) => c.source === name))),
      fuser(state, first.method || first.fusion, draw, said, signal),
      first.fusion,
      sources,
    ),
    said,
    grid,
    whyNot(state, rankings, sources, signal),
  );
}

// fuser fuses anew by factors of the weights that a method gave: the server does, from
// what the sources said, all of which is asked for once. While it does, only the newest
// factors wait.
function fuser(state, method, draw, said, signal) {
  let evidence, waiting, busy;
  // Methods that add scores as they are differ in their weights alone, which a gate takes.
  const fusion = method === "rrf" || method === "sum" ? method : "gate";
  async function fuse(factors) {
    evidence ??= await get("/v1/limits", { signal }).then(({ k }) =>
      post("/v1/search", { ...typed(state.q), k, fusion: method, fields: ["title", "contributions"] }, { signal }),
    );
    const weights = {};
    for (const { contributions } of evidence.results)
      for (const part of contributions) weights[part.source] ??= part.weight * (factors[part.source] ?? 1);
    draw(await post("/v1/fuse", { fusion, weights, k: shown, candidates: evidence.results }, { signal }));
  }
  return async (factors) => {
    waiting = { ...factors };
    if (busy) return;
    busy = true;
    try {
      while (waiting) {
        const next = waiting;
        waiting = null;
        await fuse(next);
      }
      said.replaceChildren();
    } catch (error) {
      if (!signal.aborted) said.replaceChildren(problem(error));
    }
    busy = false;
  };
}

function sliders(names, changed, method, sources) {
  const factors = {};
  return h(
    "fieldset",
    { class: "sliders" },
    h("legend", null, `Your weights, as factors of those of ${method}`),
    names.map((name) => {
      const output = h("output", null, "1.00");
      return h(
        "label",
        null,
        dot(sources, name),
        h("span", null, name),
        h("input", {
          type: "range",
          min: "0",
          max: "3",
          step: "0.05",
          value: "1",
          "aria-label": `Factor of ${name}`,
          input: (event) => {
            factors[name] = Number(event.target.value);
            output.textContent = number(factors[name], 2);
            changed(factors);
          },
        }),
        output,
      );
    }),
  );
}

// column is the heading and the first results of a ranking.
function column(name, results, verdict) {
  return [
    h("h2", null, name),
    h(
      "p",
      { class: "soft" },
      words(verdict) || "\u00a0",
    ),
    h(
      "ol",
      null,
      results.slice(0, shown).map((result) =>
        h(
          "li",
          {
            value: result.rank,
            "data-id": keyOf(result),
            tabindex: "0",
            pointerenter: lit,
            focus: lit,
            pointerleave: dark,
            blur: dark,
          },
          h("span", { class: "what" }, result.title || result.id),
          h("span", { class: "id" }, result.collection && `${result.collection}: `, result.id, " · ", number(result.score)),
        ),
      ),
    ),
  ];
}

const sameAs = (element) =>
  element.closest(".rankings").querySelectorAll(`[data-id="${CSS.escape(element.dataset.id)}"]`);
const light = (element) => sameAs(element).forEach((other) => other.classList.add("lit"));
const lit = (event) => light(event.currentTarget);
const dark = (event) => sameAs(event.currentTarget).forEach((element) => element.classList.remove("lit"));

// lines connects a passage's places in neighbouring rankings.
function lines(grid) {
  grid.querySelector("svg")?.remove();
  const frame = grid.getBoundingClientRect();
  const columns = [...grid.querySelectorAll("section")];
  if (columns.length < 2 || columns[0].getBoundingClientRect().top !== columns[1].getBoundingClientRect().top) return; // one below the other
  const paths = [];
  for (let i = 0; i + 1 < columns.length; i++) {
    for (const from of columns[i].querySelectorAll("li")) {
      const to = columns[i + 1].querySelector(`[data-id="${CSS.escape(from.dataset.id)}"]`);
      if (!to) continue;
      const a = from.getBoundingClientRect(),
        b = to.getBoundingClientRect();
      const x1 = a.right - frame.left,
        y1 = a.top + a.height / 2 - frame.top,
        x2 = b.left - frame.left,
        y2 = b.top + b.height / 2 - frame.top;
      const path = h("path", {
        d: `M${x1} ${y1}C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}`,
        "data-id": from.dataset.id,
      });
      paths.push(path);
    }
  }
  grid.append(h("svg", { width: frame.width, height: frame.height, "aria-hidden": "true" }, paths));
}

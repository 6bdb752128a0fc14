// Compare: one question under up to four methods, and under weights of one's own.
import { post } from "./api.js";
import { copyButton } from "./copy.js";
import { h, number } from "./dom.js";
import { answer, questionForm } from "./question.js";
import { go } from "./state.js";
import { contributions, dot } from "./why.js";

const methods = ["auto", "gate", "hybrid", "muf", "muf-sparse", "rrf", "sum"];
const shown = 10,
  depth = 100,
  most = 4;

const chosen = (state) =>
  (state.methods.length > 0 ? state.methods : ["auto", "rrf"]).filter((name) => methods.includes(name)).slice(0, most);
const requestOf = (state) => ({
  question: state.q,
  k: depth,
  fusion: chosen(state),
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
  return h("div", { class: "compare" }, h("h1", null, "Compare methods"), form, choice, body);
}

function load(state, body, signal) {
  const request = requestOf(state);
  answer(post("/v1/search", request, { signal }), body, signal, (found) =>
    show(
      state,
      body,
      found.rankings,
      found.sources.map((source) => source.name),
    ),
  );
}

function show(state, body, rankings, sources) {
  const grid = h("div", { class: "rankings", role: "group", "aria-label": "Rankings side by side" });
  const weights = Object.fromEntries(sources.map((name) => [name, 1]));
  const own = () => refused(rankings[0], weights);
  const draw = () => {
    const all = [
      ...rankings.map((r) => ({
        name: r.method && r.method !== r.fusion ? `${r.fusion} (${r.method})` : r.fusion,
        ...r,
      })),
      own(),
    ];
    grid.replaceChildren(...all.map((ranking, at) => column(ranking, at, sources)));
    requestAnimationFrame(() => lines(grid));
  };
  draw();
  new ResizeObserver(() => lines(grid)).observe(grid);
  body.replaceChildren(
    h(
      "div",
      { class: "row" },
      copyButton(() => requestOf(state)),
    ),
    sliders(
      sources.filter((name) => rankings[0].results.some((r) => r.contributions.some((c) => c.source === name))),
      weights,
      draw,
      rankings[0].fusion,
      sources,
    ),
    grid,
    whyNot(rankings, sources),
  );
}

// refused fuses anew: each contribution times a factor. No model runs and nothing is asked.
function refused(ranking, weights) {
  const results = ranking.results
    .map((result) => ({
      ...result,
      before: result.rank,
      score: result.contributions.reduce((sum, part) => sum + part.contribution * weights[part.source], 0),
      contributions: result.contributions.map((part) => ({
        ...part,
        weight: part.weight * weights[part.source],
        contribution: part.contribution * weights[part.source],
      })),
    }))
    .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
  return { name: "your weights", results: results.map((result, i) => ({ ...result, rank: i + 1 })) };
}

function sliders(names, weights, changed, method, sources) {
  const outputs = [];
  return h(
    "fieldset",
    { class: "sliders" },
    h("legend", null, `Your weights, as factors of those of ${method}`),
    names.map((name) => {
      const output = h("output", null, "1.00");
      outputs.push(output);
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
            weights[name] = Number(event.target.value);
            output.textContent = number(weights[name], 2);
            changed();
          },
        }),
        output,
      );
    }),
  );
}

function column(ranking, at, sources) {
  const chance = ranking.confidence;
  return h(
    "section",
    { "aria-label": ranking.name },
    h("h2", null, ranking.name),
    h(
      "p",
      { class: "soft" },
      chance === null || chance === undefined ? "\u00a0" : `confidence ${Math.round(100 * chance)} %`,
    ),
    h(
      "ol",
      null,
      ranking.results.slice(0, shown).map((result) =>
        h(
          "li",
          {
            value: result.rank,
            "data-id": result.id,
            "data-column": at,
            tabindex: "0",
            pointerenter: light,
            focus: light,
            pointerleave: dark,
            blur: dark,
          },
          h("span", { class: "what" }, result.title || result.id),
          h("span", { class: "id" }, result.id, " · ", number(result.score)),
        ),
      ),
    ),
  );
}

const sameAs = (element) =>
  element.closest(".rankings").querySelectorAll(`[data-id="${CSS.escape(element.dataset.id)}"]`);
const light = (event) => sameAs(event.currentTarget).forEach((element) => element.classList.add("lit"));
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

// whyNot tells where a passage fell in each ranking.
function whyNot(rankings, sources) {
  const input = h("input", { id: "whynot", autocomplete: "off", spellcheck: "false", placeholder: "health/0002" });
  const out = h("div", { role: "status" });
  const look = (event) => {
    event.preventDefault();
    const id = input.value.trim();
    if (!id) return;
    out.replaceChildren(
      ...rankings.map((ranking) => {
        const result = ranking.results.find((other) => other.id === id);
        return h(
          "section",
          null,
          h("h3", null, ranking.fusion),
          result
            ? [
                h(
                  "p",
                  null,
                  result.rank === 1
                    ? "It is the first."
                    : `Rank ${result.rank}, ${number(ranking.results[0].score - result.score)} below the first.`,
                ),
                contributions(result, sources, ` under ${ranking.fusion}`),
              ]
            : h(
                "p",
                null,
                `It is not among the first ${depth}: no source that ${ranking.fusion} fuses ranks it high enough, or there is no such passage.`,
              ),
        );
      }),
    );
  };
  return h(
    "form",
    { class: "whynot", submit: look },
    h("h2", null, "Why not this passage?"),
    h("div", { class: "row" }, h("label", { for: "whynot" }, "Id of the passage"), input, h("button", null, "Look")),
    out,
  );
}

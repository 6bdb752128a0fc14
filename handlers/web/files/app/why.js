// Why a passage stands where it stands, and who was asked.
import { h, number, sized, sourceClass, table } from "./dom.js";
import { sharedWords } from "./marks.js";
import { t } from "./texts.js";

// named returns the names of all that had a part in an answer: sources, and what reordered their
// passages, such as a reader. Each has its own colour.
export const named = (found) => [
  ...new Set([
    ...(found.sources || []).map((source) => source.name),
    ...found.results.flatMap((result) => (result.contributions || []).map((part) => part.source)),
  ]),
];

// How each kind of source says why it found a passage.
const said = {
  dense: () => t`Its meaning is close to that of the question.`,
  lexical: (result, found) => {
    const words = sharedWords(found.asked || found.question, result, found.function_words);
    return words.length > 0 ? t`It contains words of the question: ${words.join(", ")}.` : t`It contains words of the question.`;
  },
  late: () => t`Word by word, it matches the question well.`,
  read: () => t`The reader marked an answer in it.`,
  rerank: () => t`Read together with the question, it answers well.`,
  earlier: () => t`It fits the earlier questions.`,
};

// reasons says why a passage was found: in words, the heaviest first, and with the numbers where
// these are shown.
export function reasons(result, found, state, sources) {
  const kinds = Object.fromEntries((found.sources || []).map((source) => [source.name, source.kind]));
  const parts = (result.contributions || []).filter((part) => part.contribution > 0).toSorted((a, b) => b.contribution - a.contribution);
  const words = [
    ...new Set(parts.map((part) => (said[part.origin] || said[kinds[part.source]] || (() => t`${part.source} found it.`))(result, found))),
  ];
  return [
    h("ul", { class: "reasons" }, words.map((text) => h("li", null, text))),
    state.tune && contributions(result, sources),
  ];
}

// bar shows how much of a score each source contributed, and says so; highest is the first
// result's score, which fills the bar.
export function bar(result, highest, sources) {
  const parts = (result.contributions || []).filter((part) => part.contribution > 0);
  const list = parts.map((part) => `${part.source} ${number(part.contribution)}`).join(", ");
  return h(
    "figure",
    { class: "barred" },
    h("figcaption", null, `Score ${number(result.score)}: `, parts.map((part) => [dot(sources, part.source), `${part.source} `])),
    segments(result, parts, list, highest, sources),
  );
}

const segments = (result, parts, list, highest, sources) =>
  h(
    "div",
    { class: "bar", role: "img", "aria-label": `Score ${number(result.score)}: ${list || "no contributions"}` },
    parts.map((part) => {
      const segment = sized(
        h("span", { class: sourceClass(sources, part.source) }),
        (100 * part.contribution) / highest,
      );
      segment.title = `${part.source}: ${number(part.contribution)}`;
      return segment;
    }),
  );

const origins = {
  hit: "found it",
  exact: "scored it afterwards",
  scored: "scored it",
  estimated: "does not read it; others say how high",
  min: "its lowest score stands in",
  none: "no part",
};

// dot shows the colour of a source.
export const dot = (sources, name) => h("span", { class: `dot ${sourceClass(sources, name)}` });

// contributions lists what the sources added to a result, which is its score. where
// tells two tables of one passage apart.
export const contributions = (result, sources, where = "") =>
  table(
    `Contributions to ${result.id}${where}`,
    ["Source", "Rank", "Score", "Weight", "Contribution", "Origin"],
    (result.contributions || []).map((part) => [
      [dot(sources, part.source), part.source],
      part.rank ?? "–",
      number(part.score),
      number(part.weight),
      number(part.contribution),
      h("span", { class: "soft" }, Object.hasOwn(origins, part.origin) ? origins[part.origin] : part.origin),
    ]),
    ["Score", "", "", "", number(result.score), ""],
  );

// asked is a table of the sources of an answer with a strip of their times.
export function asked(answer, sources) {
  const longest = Math.max(answer.took_ms, ...answer.sources.map((source) => total(source)));
  return h(
    "section",
    { class: "asked", "aria-labelledby": "asked-title" },
    h("h2", { id: "asked-title" }, "Who was asked"),
    h(
      "ul",
      null,
      answer.sources.map((source) =>
        h(
          "li",
          null,
          h(
            "div",
            { class: "row" },
            dot(sources, source.name),
            h("strong", null, source.name),
            h("span", { class: "soft" }, source.kind),
            source.status !== "ok" && h("span", { class: `status ${source.status}` }, source.status),
          ),
          source.reason && h("p", { class: "soft" }, source.reason),
          facts(source),
          strip(source, longest),
        ),
      ),
    ),
    judged(answer),
    h("p", { class: "soft" }, `${number(answer.took_ms, 1)} ms in all. Sources are asked at the same time; the bars are their times: `, steps(answer)),
  );
}

// judged says what the verdict was made from.
const judged = ({ confidence, confidence_any: any, confidence_basis: basis, answerable, verdict_thresholds: than }) =>
  h(
    "dl",
    null,
    [
      ["confidence", confidence],
      ["any of these", any],
      ["answerable", answerable],
      ["found from", than?.found],
      ["doubtful from", than?.doubtful],
    ]
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, number(value)))),
    basis && h("div", null, h("dt", null, "basis"), h("dd", null, basis)),
  );

// steps is the legend of the strips.
const steps = (answer) =>
  [...new Set(answer.sources.flatMap((source) => Object.entries(source.took_ms || {}).filter(([, ms]) => ms > 0).map(([step]) => step)))].map(
    (step) => h("span", { class: "key-of" }, h("span", { class: `dot step-${step}` }), step),
  );

const total = (source) => Object.values(source.took_ms || {}).reduce((sum, ms) => sum + ms, 0);

function facts(source) {
  const known = [
    ["hits", source.kind === "late" ? undefined : source.hits, 0],
    ["familiarity", source.familiarity, 2],
    ["certainty", source.confidence, 2],
    ["chance", source.chance, 2],
    ["weight", source.weight, 3],
    ...Object.entries(source.domains || {})
      .filter(([, probability]) => probability >= 0.05)
      .sort(([, a], [, b]) => b - a)
      .map(([domain, probability]) => [`of ${domain}`, probability, 2]),
  ].filter(([, value]) => value !== undefined && value !== null);
  return (
    known.length > 0 &&
    h(
      "dl",
      null,
      known.map(([name, value, digits]) => h("div", null, h("dt", null, name), h("dd", null, number(value, digits)))),
    )
  );
}

function strip(source, longest) {
  const steps = Object.entries(source.took_ms || {}).filter(([, ms]) => ms > 0);
  if (steps.length === 0) return null;
  return h(
    "div",
    { class: "strip", role: "img", "aria-label": steps.map(([step, ms]) => `${step} ${number(ms, 1)} ms`).join(", ") },
    steps.map(([step, ms]) => {
      const piece = sized(h("span", { class: `step-${step}` }), (100 * ms) / longest);
      piece.title = `${step}: ${number(ms, 1)} ms`;
      return piece;
    }),
  );
}

// Calibration: how often what was given a confidence came true, as curves.
import { count, h, number, table } from "./dom.js";

const percent = (x) => `${Math.round(100 * x)} %`;
const command = "conclave calibrate --collection FOLDER --questions questions.jsonl";

// calibration shows the curve of the answers and of each expert, with its recall.
export function calibration({ experts, reliability }) {
  const dense = experts.filter((expert) => expert.kind !== "late");
  const known = reliability || dense.some((expert) => expert.reliability);
  return h(
    "section",
    { class: "card" },
    h("h2", null, "Calibration"),
    known
      ? h(
          "p",
          { class: "soft" },
          "Confidences are right where the curve lies on the dashed line: of 100 questions with a confidence of 70 %, 70 were answered. Larger dots stand for more questions.",
        )
      : h(
          "div",
          { class: "warning" },
          h("p", null, h("strong", null, "Not calibrated."), " No curve is known for this collection."),
          h("p", null, "Run this with questions whose passages you know. The server then uses the result:"),
          h("pre", null, command),
        ),
    h(
      "div",
      { class: "curves" },
      known && figure("Answers", reliability, "The confidence of the first result"),
      experts.map((expert) =>
        figure(
          expert.name,
          expert.reliability,
          `Recall@10 ${number(expert.recall?.["recall@10"])}, recall@100 ${number(expert.recall?.["recall@100"])}`,
          expert.kind === "late",
        ),
      ),
    ),
  );
}

function figure(name, bins, about, late) {
  return h(
    "section",
    { class: "curve", "aria-label": `Calibration of ${name}` },
    h("h3", null, name),
    h("p", { class: "soft" }, about),
    bins?.length
      ? [diagram(name, bins), numbers(name, bins)]
      : h("p", null, late ? "It only orders what other sources found, so it has no probability of its own." : "Not calibrated."),
  );
}

// The diagram is 100 by 100, and its margins hold the ends of the axes.
function diagram(name, bins) {
  const at = ({ confidence, accuracy }) => `${(100 * confidence).toFixed(1)} ${(100 - 100 * accuracy).toFixed(1)}`;
  const most = Math.max(...bins.map((bin) => bin.questions));
  const said = bins.map((bin) => `at ${percent(bin.confidence)} ${percent(bin.accuracy)} were answered`).join("; ");
  const word = (x, y, anchor, text) => h("text", { x, y, "text-anchor": anchor }, text);
  return h(
    "svg",
    { viewBox: "-16 -8 124 122", role: "img", "aria-label": `Reliability of ${name}: ${said}.` },
    h("path", { class: "axes", d: "M0 0V100H100" }),
    h("path", { class: "ideal", d: "M0 100L100 0" }),
    h("path", { class: "line", d: `M${bins.map(at).join("L")}` }),
    bins.map((bin) =>
      h("circle", {
        cx: 100 * bin.confidence,
        cy: 100 - 100 * bin.accuracy,
        r: 1.5 + 2.5 * Math.sqrt(bin.questions / most),
      }),
    ),
    word(-2, 4, "end", "100"),
    word(-2, 100, "end", "0"),
    word(100, 108, "end", "100"),
    word(50, 108, "middle", "confidence, %"),
    word(3, 2, "start", "answered, %"),
  );
}

const numbers = (name, bins) =>
  h(
    "details",
    null,
    h("summary", null, `Numbers of ${count(bins.reduce((sum, bin) => sum + bin.questions, 0), "question")}`),
    table(
      `Reliability of ${name}`,
      ["Confidence", "Answered", "Questions"],
      bins.map((bin) => [percent(bin.confidence), percent(bin.accuracy), bin.questions.toLocaleString("en")]),
    ),
  );

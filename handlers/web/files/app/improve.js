// Improve: what was judged, how the collection does by it, and what calibrating would change.
import { get, perhaps, post, send } from "./api.js";
import { h, problem, sized } from "./dom.js";
import { inWords } from "./inwords.js";
import { read } from "./state.js";
import { language, t } from "./texts.js";

// From so many judgments, of so many questions with a passage that answers, the server calibrates.
const leastJudged = 10,
  leastAnswered = 5;

const active = (job) => job.state === "queued" || job.state === "running";
const number = (n) => (read().tune ? n.toLocaleString(language) : inWords(n));
const count = (n, one) => t(["", ` ${n === 1 ? one : `${one}s`}`], number(n));

// improvement is a card of the judgments; nothing where they cannot be read. refresh shows the state of
// its jobs, which the view asks for.
export function improvement(signal) {
  const card = h("section", { class: "card improve", "aria-labelledby": "improve-title", hidden: true });
  const told = h("p");
  const out = h("div", { role: "status" });
  const jobs = h("div");
  const state = { tried: false, list: null, shown: "" };
  const buttons = {
    evaluate: h("button", { type: "button", click: () => start("evaluations", {}) }, t`Measure`),
    calibrate: h("button", { type: "button", click: () => start("calibrations", {}) }, t`Calibrate`),
  };
  const start = async (path, body) => {
    try {
      await post(`/v1/admin/${path}`, body, { signal });
      await refresh();
    } catch (error) {
      tell(error);
    }
  };
  const load = async () => {
    state.list = await perhaps(get("/v1/judgments", { signal }));
    if (!state.list) return;
    card.hidden = false;
    const { judged, questions, answered } = state.list;
    told.replaceChildren(
      judged === 0
        ? t`Nobody has judged an answer yet. Use the thumbs below answers and passages, or add a file of questions whose passages you know.`
        : t`Judged: ${count(judged, "passage")} for ${count(questions, "question")}. Questions with a passage that answers: ${number(answered)}.`,
    );
    buttons.evaluate.disabled = answered === 0;
    buttons.calibrate.disabled = judged < leastJudged || answered < leastAnswered;
  };
  const tell = (error) => {
    if (!signal.aborted) out.replaceChildren(problem(error));
  };
  const refresh = (known) => look(known).catch(tell);
  const look = async (known) => {
    const all = known || (await perhaps(get("/v1/jobs", { signal })))?.jobs || [];
    const own = all.filter((job) => job.kind === "calibrate" || job.kind === "evaluate");
    const last = ["calibrate", "evaluate"].map((kind) => own.find((job) => job.kind === kind)).filter(Boolean);
    const text = JSON.stringify(last);
    if (text !== state.shown) {
      state.shown = text;
      jobs.replaceChildren(...last.map(shown));
    }
    // What calibrating would change is looked at once there is enough, and again when more was judged.
    const newest = state.list?.judgments.at(-1)?.judged;
    if (!state.tried && newest && !buttons.calibrate.disabled && !last.some((job) => job.kind === "calibrate" && (active(job) || job.created > newest))) {
      state.tried = true;
      await start("calibrations", { dry_run: true });
    }
  };
  card.append(
    h("h2", { id: "improve-title" }, t`Judged answers`),
    told,
    h("div", { class: "row" }, buttons.evaluate, buttons.calibrate, download(out, signal), importing(out, signal, () => load().then(() => refresh(), tell))),
    out,
    jobs,
  );
  load().then(() => refresh(), tell);
  return { card, refresh };
}

// shown is how far a job is, or what it found.
function shown(job) {
  const name = job.kind === "calibrate" ? (job.dry_run ? t`What calibrating would change` : t`Calibration`) : t`Measurement`;
  if (active(job)) {
    const { stage = t`waiting`, done = 0, total = -1 } = job.progress || {};
    return h(
      "div",
      null,
      h("p", null, h("b", null, name), `: ${stage}…`),
      total > 0 &&
        h(
          "div",
          { class: "progress", role: "progressbar", "aria-label": name, "aria-valuenow": done, "aria-valuemin": 0, "aria-valuemax": total },
          sized(h("span"), (100 * done) / total),
        ),
    );
  }
  const found = job.result?.measured;
  if (!found) return h("p", { class: "warning" }, h("b", null, name), `: ${job.error?.detail || job.error || job.state}`);
  return h(
    "div",
    { class: "measured", "data-kind": job.kind },
    h("p", null, h("b", null, name), ": ", found.calibrated ? changed(job, found) : t`The right passage comes first for ${share(found.now, found)}.`),
    (job.result.warnings || []).map((text) => h("p", { class: "warning" }, text)),
    job.kind === "evaluate" && missed(found),
    read().tune && h("details", null, h("summary", null, t`Report`), h("pre", { class: "report", tabindex: "0" }, found.report)),
  );
}

const share = ({ top1 }, { questions }) => t`${number(top1)} of ${count(questions, "question")}`;

function changed(job, found) {
  const { now, calibrated } = found;
  const then = share(calibrated, found);
  if (found.written) return t`In use: the right passage comes first for ${then}, each measured by a fit on the others. Before, it was ${number(now.top1)}.`;
  if (calibrated.top1 + calibrated.top20 < now.top1 + now.top20) return t`Not used, since nothing gets better: the right passage would come first for ${then}, and now it is ${number(now.top1)}.`;
  if (calibrated.top1 === now.top1 && calibrated.top20 === now.top20)
    return t`The right passage comes first for ${then}, as now. What improves is when an answer is called doubtful.`;
  return t`After calibrating, the right passage comes first for ${then}. Now it is ${number(now.top1)}.`;
}

// missed lists the questions of which another passage comes first.
const missed = (found) =>
  found.missed?.length > 0 &&
  h(
    "details",
    null,
    h("summary", null, t`Questions for which another passage comes first`),
    h("ul", null, found.missed.map((q) => h("li", null, q))),
  );

// download gives the judged questions as a file, for the commands that read them.
function download(out, signal) {
  return h(
    "button",
    {
      type: "button",
      class: "quiet",
      click: async () => {
        try {
          const response = await send("GET", "/v1/judgments/questions", { signal });
          const link = h("a", { href: URL.createObjectURL(await response.blob()), download: "questions.jsonl" });
          link.click();
          URL.revokeObjectURL(link.href);
        } catch (error) {
          if (!signal.aborted) out.replaceChildren(problem(error));
        }
      },
    },
    t`Download the questions`,
  );
}

// importing takes a file of questions whose passages are known, a line of JSON each.
function importing(out, signal, done) {
  const input = h("input", { type: "file", id: "questions-file", class: "unseen", tabindex: "-1", accept: ".jsonl,.ndjson", "aria-label": t`A file of questions`, change: () => take() });
  const take = async () => {
    const [file] = input.files;
    if (!file) return;
    const lines = (await file.text()).split("\n");
    let n = 0;
    let without = 0; // questions that name no passage
    try {
      for (const [i, line] of lines.entries()) {
        if (!line.trim()) continue;
        const judged = judgmentsOf(line, i + 1);
        if (judged.length === 0) without++;
        for (const one of judged) {
          await post("/v1/judgments", one, { signal }).catch((error) => {
            throw error.detail ? { ...error, line: i + 1 } : error;
          });
          n++;
        }
        out.replaceChildren(h("p", null, t`Reading ${file.name}…`));
      }
      out.replaceChildren(
        h("p", null, t`Added: ${count(n, "judgment")}.`),
        without > 0 ? h("p", { class: "warning" }, t`Left out, because they name no passage: ${count(without, "question")}.`) : "",
      );
    } catch (error) {
      if (!signal.aborted) out.replaceChildren(problem(error));
    }
    input.value = "";
    await done();
  };
  return h("span", null, h("button", { type: "button", class: "quiet", click: () => input.click() }, t`Add questions from a file`), input);
}

// judgmentsOf returns what a line of a file of questions says.
function judgmentsOf(line, n) {
  let read;
  try {
    read = JSON.parse(line);
  } catch (error) {
    throw { title: t`The line is not JSON`, detail: error.message, line: n };
  }
  if (typeof read?.question !== "string") throw { title: t`The line has no question`, detail: t`Its field question is missing or is not a text.`, line: n };
  const grades = { ...Object.fromEntries((read.positive_ids || []).map((id) => [id, 1])), ...read.grades };
  return Object.entries(grades).map(([passage, grade]) => ({ question: read.question, passage, grade: grade > 0 ? 1 : 0 }));
}

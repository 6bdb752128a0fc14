// Collection: what can be searched, what is being done, and a door for documents.
import { chosenNames, get, perhaps, post, send } from "./api.js";
import { calibration } from "./calibration.js";
import { chosenResults } from "./chosen.js";
import { documentList } from "./documents.js";
import { passageList } from "./browse.js";
import { improvement } from "./improve.js";
import { about, nameOf, oneOf } from "./collections.js";
import { bytes, h, number, problem, redraw, sized, table } from "./dom.js";
import { upload } from "./files.js";
import { language, t } from "./texts.js";
import { answeredQuestions, unansweredQuestions } from "./unanswered.js";

// collection shows the documents, and to who wants the numbers all that there is to know.
export function collection(state, signal) {
  const body = h("div", null, h("p", { class: "waiting", role: "status" }, t`Loading…`));
  const view = h("div", { class: "collection" }, h("h1", null, chosenNames().length > 0 ? t`Documents of ${nameOf()}` : t`Documents`), oneOf(state), body);
  refresh(body, state, signal);
  return view;
}

async function refresh(body, { tune }, signal) {
  try {
    const [limits, experts, now] = await Promise.all([
      get("/v1/limits", { signal }),
      get("/v1/experts", { signal }),
      look(signal),
    ]);
    const state = h("div");
    const jobs = h("ul", { class: "jobs" });
    const snapshots = h("ul", { class: "jobs" });
    const show = ({ ready, running, kept }) => {
      state.replaceChildren(standing(ready));
      redraw(jobs, ...jobItems(running?.jobs || [], signal));
      snapshots.replaceChildren(...snapshotItems(kept?.snapshots || []));
    };
    show(now);
    const documents = documentList(limits, signal);
    const improving = improvement(signal);
    const parts = [
      tune ? state : warnings(now.ready),
      !limits.read_only && upload(limits, signal, documents.refresh),
      documents.card,
      passageList(limits, signal),
      unansweredQuestions(signal),
      answeredQuestions(signal),
      !limits.read_only && chosenResults(signal),
      improving.card,
      tune && expertTable(experts.experts),
      tune && calibration(experts),
    ].filter(Boolean);
    if (tune && now.running) {
      parts.push(h("section", { class: "card" }, h("h2", null, "Jobs"), jobs));
      parts.push(
        h(
          "section",
          { class: "card" },
          h("h2", null, "Snapshots"),
          snapshots,
          !limits.read_only && snapshotForm(signal),
        ),
      );
    }
    body.replaceChildren(...parts);
    watch(
      (now) => {
        show(now);
        improving.refresh(now.running?.jobs || []);
      },
      now,
      signal,
    );
  } catch (error) {
    if (!signal.aborted) body.replaceChildren(problem(error));
  }
}

// look asks for what changes.
async function look(signal) {
  const [ready, running, kept] = await Promise.all([
    standingOf(signal),
    perhaps(get("/v1/jobs", { signal })),
    perhaps(get("/v1/admin/snapshots", { signal })),
  ]);
  return { ready, running, kept };
}

// standingOf returns how the server does, and what the collection holds.
const standingOf = async (signal) => ({ ...(await get("/readyz", { signal })), ...(chosenNames().length > 0 && (await about({ signal }))) });

// watch looks every second while something is under way, and every five otherwise.
async function watch(show, now, signal) {
  while (!signal.aborted) {
    const busy = now.ready.backlog?.changes > 0 || (now.running?.jobs || []).some(active);
    await new Promise((resolve) => setTimeout(resolve, busy ? 1000 : 5000));
    if (signal.aborted || document.hidden) continue;
    try {
      now = await look(signal);
      show(now);
    } catch {
      // The next look says more.
    }
  }
}

function standing(ready) {
  const backlog = ready.backlog || {};
  const facts = [
    ["Status", ready.status],
    ["Passages", (ready.passages ?? 0).toLocaleString(language)],
    ["Segments", backlog.segments],
    ["Generation", ready.generation],
    ["Waiting changes", backlog.changes ?? 0],
    ["Log", bytes(backlog.log_bytes || 0)],
  ];
  return h(
    "section",
    { class: "card" },
    h(
      "dl",
      { class: "facts" },
      facts.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))),
    ),
    warnings(ready),
  );
}

// warnings says what is wrong with parts of the server.
const warnings = (ready) =>
  h(
    "div",
    null,
    (ready.components || [])
      .flatMap((part) => [
        part.status !== "ready" && `${part.name} is ${part.status}${part.detail ? `: ${part.detail}` : ""}`,
        ...(part.warnings || []).map((text) => `${part.name}: ${text}`),
      ])
      .filter(Boolean)
      .map((text) => h("p", { class: "warning" }, text)),
  );

const expertTable = (experts) =>
  h(
    "section",
    { class: "card" },
    h("h2", null, "Experts"),
    table(
      "Experts",
      ["Name", "Kind", "Passages", "Vectors", "Dimensions", "Recall@10", "Recall@100", "Precision", "Ensemble"],
      experts.map((x) => [
        x.name,
        x.kind,
        x.passages.toLocaleString(language),
        x.owner ? `those of ${x.owner}` : `${x.rows.toLocaleString(language)}${x.parts ? ", of parts" : ""}`,
        x.dimension,
        number(x.recall?.["recall@10"]),
        number(x.recall?.["recall@100"]),
        `${x.precision}, ${x.provider}`,
        x.calibration
          ? `ECE ${number(x.calibration.ece_before)} → ${number(x.calibration.ece_after)}`
          : x.ensemble_members > 0
            ? "not calibrated"
            : "none",
      ]),
    ),
    experts.flatMap((x) => (x.warnings || []).map((text) => h("p", { class: "warning" }, `${x.name}: ${text}`))),
  );

const active = (job) => job.state === "queued" || job.state === "running";

function jobItems(jobs, signal) {
  const cancel = (id) => async (event) => {
    event.target.disabled = true;
    try {
      await send("DELETE", `/v1/jobs/${encodeURIComponent(id)}`, { signal });
    } catch (error) {
      event.target.replaceWith(problem(error));
    }
  };
  if (jobs.length === 0) return [h("li", { class: "soft" }, "None.")];
  return jobs
    .toReversed()
    .slice(0, 10)
    .map((job) => {
      const name = `${job.kind.replaceAll("_", " ")} ${job.name}`;
      const { done, total } = job.progress || {};
      return h(
        "li",
        null,
        h(
          "div",
          { class: "row" },
          h("strong", null, name),
          h("span", { class: `status ${job.state}` }, job.state),
          active(job) &&
            h(
              "button",
              { type: "button", class: "quiet", "aria-label": `Cancel ${name}`, click: cancel(job.id) },
              "Cancel",
            ),
        ),
        total > 0 &&
          active(job) &&
          h(
            "div",
            {
              class: "progress",
              role: "progressbar",
              "aria-label": name,
              "aria-valuenow": done,
              "aria-valuemin": 0,
              "aria-valuemax": total,
            },
            sized(h("span"), (100 * done) / total),
          ),
        job.error && h("p", { class: "warning" }, job.error.detail || job.error),
      );
    });
}

const snapshotItems = (snapshots) =>
  snapshots.length === 0
    ? [h("li", { class: "soft" }, "None.")]
    : snapshots.map((snapshot) =>
        h(
          "li",
          { class: "row" },
          h("strong", null, snapshot.name),
          h("span", { class: "soft" }, snapshot.created?.slice(0, 16).replace("T", " ") || ""),
        ),
      );

function snapshotForm(signal) {
  const input = h("input", { id: "snapshot", placeholder: "monday", autocomplete: "off" });
  const said = h("div", { role: "status" });
  const make = async (event) => {
    event.preventDefault();
    try {
      await post("/v1/admin/snapshots", { name: input.value.trim() }, { signal });
      said.replaceChildren("The snapshot is being made. Jobs shows when it is done.");
    } catch (error) {
      said.replaceChildren(problem(error));
    }
  };
  return h(
    "form",
    { class: "row", submit: make },
    h("label", { for: "snapshot" }, "Name"),
    input,
    h("button", null, "Make a snapshot"),
    said,
  );
}

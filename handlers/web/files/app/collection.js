// Collection: what can be searched, what is being done, and a door for passages.
import { get, perhaps, post, send } from "./api.js";
import { calibration } from "./calibration.js";
import { bytes, count, h, number, problem, redraw, sized, table } from "./dom.js";

export function collection(_, signal) {
  const body = h("div", null, h("p", { class: "waiting", role: "status" }, "Loading…"));
  const view = h("div", { class: "collection" }, h("h1", null, "Collection"), body);
  refresh(body, signal);
  return view;
}

async function refresh(body, signal) {
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
    const parts = [state, expertTable(experts.experts), calibration(experts)];
    if (!limits.read_only) parts.splice(1, 0, upload(limits, signal));
    if (now.running) {
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
    watch(show, now, signal);
  } catch (error) {
    if (!signal.aborted) body.replaceChildren(problem(error));
  }
}

// look asks for what changes.
async function look(signal) {
  const [ready, running, kept] = await Promise.all([
    get("/readyz", { signal }),
    perhaps(get("/v1/jobs", { signal })),
    perhaps(get("/v1/admin/snapshots", { signal })),
  ]);
  return { ready, running, kept };
}

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
    ["Passages", (ready.passages ?? 0).toLocaleString("en")],
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
    (ready.components || [])
      .flatMap((part) => [
        part.status !== "ready" && `${part.name} is ${part.status}${part.detail ? `: ${part.detail}` : ""}`,
        ...(part.warnings || []).map((text) => `${part.name}: ${text}`),
      ])
      .filter(Boolean)
      .map((text) => h("p", { class: "warning" }, text)),
  );
}

const expertTable = (experts) =>
  h(
    "section",
    { class: "card" },
    h("h2", null, "Experts"),
    table(
      "Experts",
      ["Name", "Kind", "Passages", "Vectors", "Numbers", "Recall@10", "Recall@100", "Precision", "Ensemble"],
      experts.map((x) => [
        x.name,
        x.kind,
        x.passages.toLocaleString("en"),
        x.owner ? `those of ${x.owner}` : `${x.rows.toLocaleString("en")}${x.parts ? ", of parts" : ""}`,
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
      said.replaceChildren("It is being made; Jobs shows when it is done.");
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

// upload takes a file by drop or by choice, shows what became of its lines, and says
// when searches find them.
function upload(limits, signal) {
  const out = h("div", { role: "status", class: "outcome" });
  const input = h("input", {
    type: "file",
    id: "file",
    accept: ".jsonl,.ndjson,.json,.gz",
    change: () => input.files[0] && store(input.files[0]),
  });
  const store = async (file) => {
    out.replaceChildren(h("p", null, `Storing ${file.name} (${bytes(file.size)})…`));
    const type = /\.json(\.gz)?$/.test(file.name) ? "application/json" : "application/x-ndjson";
    try {
      const response = await send("POST", "/v1/passages", {
        body: file,
        signal,
        headers: { "content-type": type, ...(file.name.endsWith(".gz") && { "content-encoding": "gzip" }) },
      });
      const lines = (await response.text())
        .trim()
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line));
      await tell(lines, out, signal);
    } catch (error) {
      if (!signal.aborted) out.replaceChildren(problem(error));
    }
  };
  const zone = h(
    "label",
    {
      for: "file",
      class: "drop",
      dragover: (event) => {
        event.preventDefault();
        zone.classList.add("over");
      },
      dragleave: () => zone.classList.remove("over"),
      drop: (event) => {
        event.preventDefault();
        zone.classList.remove("over");
        if (event.dataTransfer.files[0]) store(event.dataTransfer.files[0]);
      },
    },
    h("strong", null, "Drop a file of passages here, or choose one"),
    h(
      "span",
      { class: "soft" },
      `JSON Lines with id, title and text; also gzip; at most ${bytes(limits.upload_bytes)}`,
    ),
    input,
  );
  return h("section", { class: "card" }, h("h2", null, "Add passages"), zone, out);
}

// notRead says how many of the stored passages experts do not read as a whole.
function notRead(lines) {
  const cut = lines.filter((line) => line.truncated).length;
  const unread = lines.filter((line) => line.unread).length;
  const said = [
    cut > 0 && `Experts read only the beginning of ${count(cut, "passage")}: the rest is found by equal words alone.`,
    unread > 0 && `Experts can hardly read ${count(unread, "passage")}: found by equal words alone.`,
  ].filter(Boolean);
  return said.length > 0 ? h("p", { class: "warning" }, said.join(" ")) : "";
}

async function tell(lines, out, signal) {
  const of = (status) => lines.filter((line) => line.status === status);
  const bad = of("rejected");
  const stored = lines.length - bad.length;
  const waiting = h("p", null, stored > 0 ? "Encoding…" : "");
  out.replaceChildren(
    h(
      "p",
      null,
      ["created", "replaced", "unchanged", "rejected"]
        .map((status) => [of(status).length, status])
        .filter(([n]) => n > 0)
        .map(([n, status]) => `${n.toLocaleString("en")} ${status}`)
        .join(", ") || "The file has no passages.",
    ),
    (bad.length > 0 &&
      h(
        "ul",
        null,
        bad.slice(0, 5).map((line) => h("li", null, `line ${line.line}: ${line.error?.detail || line.error?.title}`)),
      )) ||
      "",
    notRead(lines),
    waiting,
  );
  const began = Date.now();
  while (stored > 0 && !signal.aborted) {
    const { backlog } = await get("/readyz", { signal });
    if (!backlog || backlog.changes === 0) {
      waiting.textContent = `Searches find ${count(stored, "passage")} of it now.`;
      return;
    }
    waiting.textContent = `Encoding: ${count(backlog.changes, "change")} left, ${Math.round((Date.now() - began) / 1000)} s…`;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

// Files: a door for documents and passages, by drop or by choice, with what became of them.
import { perhaps, send } from "./api.js";
import { backlog } from "./collections.js";
import { put } from "./documents.js";
import { bytes, count, h, problem, sized } from "./dom.js";
import { ended } from "./jobs.js";
import { pasting } from "./paste.js";
import { siteForm } from "./site.js";
import { read } from "./state.js";
import { language, t } from "./texts.js";

// JSON Lines hold passages; every other file is a document.
const lines = /\.(jsonl|ndjson|json)(\.gz)?$/i;
// Archives hold documents, and a mail may have some attached: a job of the server unpacks them.
const several = /\.(zip|tar|tgz|gz|eml|mbox)$/i;
// atOnce is how many files are read by the server at a time.
const atOnce = 2;
const shownFailures = 50;
const outcomes = { created: t`created`, replaced: t`replaced`, unchanged: t`unchanged`, rejected: t`rejected`, failed: t`failed` };

// upload takes files and folders. Stored documents are told to changed.
export function upload(limits, signal, changed) {
  const out = h("div", { role: "status", class: "outcome" });
  const take = async (all) => {
    const named = (await all).filter(({ id }) => !id.split("/").some((part) => part.startsWith(".")));
    out.replaceChildren(named.length === 0 ? h("p", null, t`The selection contains no file.`) : "");
    const many = named.length > 1;
    // Each file of passages has a place of its own for what became of it, and one that fails keeps no other back.
    const place = (name) => {
      const box = h("div");
      out.append(h("section", null, many && name && h("h3", null, name), box));
      return box;
    };
    const attempt = async (box, store) => {
      try {
        await store(box);
      } catch (error) {
        if (!signal.aborted) box.replaceChildren(problem(error));
      }
    };
    const passages = named.filter(({ id }) => lines.test(id));
    const documents = named.filter(({ id }) => !lines.test(id));
    for (const { file, id } of passages) await attempt(place(id), (box) => storeLines(file, box, signal));
    if (documents.length > 0) await attempt(place(passages.length > 0 && t`Documents`), (box) => storeDocuments(documents, box, signal, changed));
  };
  // below is a file's path in the folder that was chosen.
  const below = (file) => file.webkitRelativePath.split("/").slice(1).join("/") || file.name;
  const chosen = (input) => take([...input.files].map((file) => ({ file, id: below(file) })));
  const input = h("input", { type: "file", id: "file", multiple: true, change: () => chosen(input) });
  const folder = h("input", { type: "file", id: "folder", webkitdirectory: true, change: () => chosen(folder) });
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
        take(dropped(event.dataTransfer));
      },
    },
    h("strong", null, t`Drop files or folders here, or choose files`),
    h(
      "span",
      { class: "soft" },
      t`PDF, HTML, Markdown, text, DOCX, PPTX, XLSX, ODF, EPUB, mail, CSV; zip and tar.gz of these; or passages as JSON Lines with id, title and text, also gzip`,
      read().tune && t`, at most ${bytes(limits.upload_bytes)}`,
    ),
    input,
  );
  const other = h("p", { class: "row" }, h("label", { for: "folder" }, t`Choose a folder`), folder);
  return h("section", { class: "card" }, h("h2", null, t`Add documents`), zone, other, siteForm(limits, signal, changed), pasting(signal, changed), out);
}

// dropped are the files of what was dropped, with their paths below the folders that were.
async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.());
  const plain = [...transfer.files];
  if (entries.length === 0 || entries.some((entry) => !entry)) return plain.map((file) => ({ file, id: file.name }));
  const found = [];
  const walk = async (entry, path) => {
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      found.push({ file, id: path || entry.name });
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (some.length === 0) return;
      for (const inner of some) await walk(inner, path ? `${path}/${inner.name}` : inner.name);
    }
  };
  for (const entry of entries) await walk(entry, "");
  return found;
}

// storeDocuments puts files as documents, some at a time, and says what failed and why.
async function storeDocuments(files, out, signal, changed) {
  const tally = {};
  const failed = [];
  const warnings = [];
  const bar = h("span");
  const progress = h(
    "div",
    { class: "progress", role: "progressbar", "aria-label": t`Files`, "aria-valuemin": 0, "aria-valuemax": files.length },
    bar,
  );
  const said = h("p");
  const problems = h("ul", { class: "failed" });
  const waiting = h("p");
  out.replaceChildren(progress, said, problems, waiting);
  let done = 0;
  let stored = 0;
  const tell = () => {
    sized(bar, (100 * done) / files.length);
    progress.setAttribute("aria-valuenow", done);
    const parts = Object.entries(tally).map(([status, n]) => `${n.toLocaleString(language)} ${outcomes[status] ?? status}`);
    said.textContent = t`${done.toLocaleString(language)} of ${count(files.length, "file")}: ${parts.join(", ") || t`reading…`}`;
  };
  const note = (text) => problems.childElementCount < shownFailures && problems.append(h("li", null, text));
  tell();
  const queue = files.values();
  const worker = async () => {
    for (const { file, id } of queue) {
      if (signal.aborted) return;
      try {
        const result = (several.test(id) && (await unpack(id, file, signal))) || (await putAlone(id, file, signal));
        for (const [status, n] of Object.entries(result.counts)) if (n > 0) tally[status] = (tally[status] || 0) + n;
        stored += result.stored;
        for (const text of result.warnings) {
          warnings.push(text);
          note(text);
        }
      } catch (error) {
        if (signal.aborted) return;
        tally.failed = (tally.failed || 0) + 1;
        failed.push(id);
        note(`${id}: ${error.detail || error.title || error}`);
      }
      done++;
      tell();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  const more = failed.length + warnings.length - problems.childElementCount;
  if (more > 0) problems.append(h("li", null, t`and ${more.toLocaleString(language)} more`));
  if (stored > 0) await searchable(waiting, () => t`${count(stored, "document")} can be searched now.`, signal);
  changed();
}

// putAlone puts a file as one document.
async function putAlone(id, file, signal) {
  const { status, warnings = [] } = await put(id, file, { signal });
  return { counts: { [status]: 1 }, stored: 1, warnings: warnings.map((text) => `${id}: ${text}`) };
}

// unpack lets a job of the server read what is in an archive, or a mail with what is attached to it;
// nothing where the server has no such jobs.
async function unpack(id, file, signal) {
  const body = new FormData();
  body.append("files", file, id);
  const accepted = await perhaps(send("POST", "/v1/documents", { body, signal })).catch((error) => {
    if (error.code === "not_written") return null;
    throw error;
  });
  if (!accepted) return null;
  const job = await ended(await accepted.json(), signal);
  const { added, replaced, unchanged, failed, failures = [] } = job.result.documents;
  const unsaid = failed - failures.length;
  return {
    counts: { created: added, replaced, unchanged, failed },
    stored: added + replaced + unchanged,
    warnings: [
      ...failures.map((one) => `${one.id}: ${one.detail}`),
      ...(unsaid > 0 ? [t`${id}: ${unsaid.toLocaleString(language)} more could not be read`] : []),
    ],
  };
}

// storeLines stores a file of passages, and shows what became of its lines.
async function storeLines(file, out, signal) {
  out.replaceChildren(h("p", null, t`Storing ${file.name} (${bytes(file.size)})…`));
  const type = /\.json(\.gz)?$/.test(file.name) ? "application/json" : "application/x-ndjson";
  const response = await send("POST", "/v1/passages", {
    body: file,
    signal,
    headers: { "content-type": type, ...(file.name.endsWith(".gz") && { "content-encoding": "gzip" }) },
  });
  const all = (await response.text())
    .trim()
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  await tell(all, out, signal);
}

// notRead says how many of the stored passages experts do not read as a whole.
function notRead(all) {
  const cut = all.filter((line) => line.truncated).length;
  const unread = all.filter((line) => line.unread).length;
  const said = [
    cut > 0 && t`The encoders read only the beginning of ${count(cut, "passage")}. The rest is found only by words that match exactly.`,
    unread > 0 && t`The encoders can hardly read ${count(unread, "passage")}. Only words that match exactly find it.`,
  ].filter(Boolean);
  return said.length > 0 ? h("p", { class: "warning" }, said.join(" ")) : "";
}

async function tell(all, out, signal) {
  const of = (status) => all.filter((line) => line.status === status);
  const bad = of("rejected");
  const ended = all.find((line) => line.code); // why the server read no further
  const stored = all.length - bad.length - (ended ? 1 : 0);
  const waiting = h("p", null, stored > 0 ? t`Encoding…` : "");
  out.replaceChildren(
    h(
      "p",
      null,
      ["created", "replaced", "unchanged", "rejected"]
        .map((status) => [of(status).length, status])
        .filter(([n]) => n > 0)
        .map(([n, status]) => `${n.toLocaleString(language)} ${outcomes[status] ?? status}`)
        .join(", ") || t`The file has no passages.`,
    ),
    (bad.length > 0 &&
      h(
        "ul",
        null,
        bad.slice(0, 5).map((line) => h("li", null, t`line ${line.line}: ${line.error?.detail || line.error?.title}`)),
      )) ||
      "",
    ended ? problem(ended) : "",
    notRead(all),
    waiting,
  );
  if (stored > 0) await searchable(waiting, () => t`${count(stored, "passage")} can be searched now.`, signal);
}

// searchable says when searches find all that is stored, and how much is left until then.
async function searchable(waiting, ready, signal) {
  const began = Date.now();
  while (!signal.aborted) {
    const left = await backlog(signal);
    if (!left || left.changes === 0) {
      waiting.textContent = ready();
      return;
    }
    waiting.textContent = t`Encoding: ${count(left.changes, "change")} left, ${Math.round((Date.now() - began) / 1000)} s…`;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

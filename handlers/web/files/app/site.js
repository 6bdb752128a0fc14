// Site: a page of the web, or all pages of a site, that become documents, where the server may read some.
import { send } from "./api.js";
import { h, problem } from "./dom.js";
import { ended } from "./jobs.js";
import { language, t } from "./texts.js";

// siteForm is a form for an address, folded until it is wanted; nothing where no host is allowed.
export function siteForm(limits, signal, changed) {
  if (!limits.hosts?.length) return null;
  const address = h("input", { id: "site-address", type: "url", autocomplete: "off", required: true, placeholder: `https://${limits.hosts[0].replace("*", "docs")}/` });
  const whole = h("input", { id: "site-whole", type: "checkbox" });
  const out = h("div", { role: "status", class: "outcome" });
  const submit = async (event) => {
    event.preventDefault();
    out.replaceChildren(t`reading…`);
    try {
      const body = JSON.stringify({ url: address.value.trim(), site: whole.checked });
      const accepted = await send("POST", "/v1/documents", { body, headers: { "content-type": "application/json" }, signal });
      const job = await ended(await accepted.json(), signal, ({ stage, done, total, note }) => {
        const far = `${stage}: ${done.toLocaleString(language)}${total > 0 ? ` / ${total.toLocaleString(language)}` : ""}`;
        out.replaceChildren(h("p", null, far), note ? h("p", { class: "soft" }, note) : "");
      });
      out.replaceChildren(...outcome(job.result));
      changed();
    } catch (error) {
      if (!signal.aborted) out.replaceChildren(problem(error));
    }
  };
  return h(
    "details",
    { class: "paste" },
    h("summary", null, t`Add a web page or a website`),
    h(
      "form",
      { class: "stacked", submit },
      h("label", { for: "site-address" }, t`Address, on ${limits.hosts.join(", ")}`),
      address,
      h("p", { class: "row" }, whole, h("label", { for: "site-whole" }, t`All pages below this address`)),
      h("div", { class: "row" }, h("button", { class: "main" }, t`Store`)),
    ),
    out,
  );
}

// outcome says what became of the pages, and what was left out.
function outcome({ documents, warnings = [] }) {
  const { added, replaced, unchanged, removed = 0, failed, failures = [], left = [] } = documents;
  const parts = [
    [added, t`created`],
    [replaced, t`replaced`],
    [unchanged, t`unchanged`],
    [removed, t`removed`],
    [failed, t`failed`],
  ];
  const notes = [
    ...failures.map((one) => `${one.id}: ${one.detail}`),
    ...warnings,
    ...left.map((one) => `${one.reason}: ${one.count.toLocaleString(language)} (${one.examples?.[0] ?? ""})`),
  ];
  const shown = 50;
  return [
    h("p", null, parts.filter(([n]) => n > 0).map(([n, what]) => `${n.toLocaleString(language)} ${what}`).join(", ")),
    h("ul", { class: "failed" }, notes.slice(0, shown).map((text) => h("li", null, text))),
  ];
}

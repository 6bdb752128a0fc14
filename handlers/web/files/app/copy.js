// The dialog that shows a request as code.
import { hasKey } from "./api.js";
import { h } from "./dom.js";
import { snippets } from "./snippets.js";

const dialog = document.getElementById("copy");

export function copyButton(request) {
  return h("button", { type: "button", class: "quiet", click: () => show(request()) }, "Copy as code");
}

function show(request) {
  const texts = snippets(request, hasKey());
  const code = h("pre", { tabindex: "0" });
  const said = h("span", { role: "status" });
  const tabs = Object.keys(texts).map((name) =>
    h("button", { type: "button", role: "tab", click: () => choose(name) }, name),
  );
  const choose = (name) => {
    code.textContent = texts[name];
    said.textContent = "";
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", tab.textContent === name);
      tab.tabIndex = tab.textContent === name ? 0 : -1;
    }
  };
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = tabs.findIndex((tab) => tab.tabIndex === 0);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    choose(next.textContent);
    next.focus();
  };
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      said.textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(code);
      said.textContent = "The browser does not allow copying here. The text is selected, so you can copy it yourself.";
    }
  };
  dialog.replaceChildren(
    h("h2", { id: "copy-title" }, "This search as code"),
    h("div", { role: "tablist", "aria-label": "Languages", keydown: move }, tabs),
    code,
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: "main", click: copy }, "Copy"),
      h("button", { type: "button", click: () => dialog.close() }, "Close"),
      said,
    ),
  );
  choose("curl");
  dialog.showModal();
}

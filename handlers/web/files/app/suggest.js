// Suggestions: titles and headings that complete what is typed into the box for a question.
import { get } from "./api.js";
import { h } from "./dom.js";
import { t } from "./texts.js";

const most = 8;
const least = 2; // letters from which on they are asked for
const pause = 120; // milliseconds without a key before the server is asked

// suggesting lets an input offer completions below it, and returns the list of them. choose gets the one that is taken:
// with the arrow keys and Enter, or by a click. Escape puts the list away.
export function suggesting(input, choose) {
  const list = h("ul", { id: "suggestions", class: "suggestions", role: "listbox", "aria-label": t`Suggestions`, hidden: true });
  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-controls": list.id, "aria-expanded": "false" }))
    input.setAttribute(name, value);
  let chosen = -1; // the option that the arrow keys are at
  let typed = ""; // what the options complete
  let known = { typed: "", found: [], all: false }; // the last answer; all: there are no others
  let waiting;
  let asking = new AbortController();

  function close() {
    clearTimeout(waiting);
    asking.abort();
    list.hidden = true;
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function show(found) {
    if (found.length === 0 || document.activeElement !== input) return close();
    chosen = -1;
    input.removeAttribute("aria-activedescendant");
    list.replaceChildren(
      ...found.map((one, i) =>
        h(
          "li",
          { id: `suggestion-${i}`, role: "option", "aria-selected": "false", pointerdown: (event) => take(event, one.text) },
          one.text,
        ),
      ),
    );
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  }

  function take(event, text) {
    event.preventDefault();
    close();
    input.value = text;
    choose(text);
  }

  async function ask() {
    typed = input.value;
    asking.abort();
    asking = new AbortController();
    try {
      const { suggestions } = await get(`/v1/suggest?${new URLSearchParams({ q: typed, limit: most })}`, { signal: asking.signal });
      known = { typed, found: suggestions, all: suggestions.length < most && suggestions.every((one) => !one.corrected) };
      show(suggestions);
    } catch {
      close(); // who asks needs no suggestions
    }
  }

  input.addEventListener("input", () => {
    clearTimeout(waiting);
    if (input.value.trim().length < least) return close();
    // What goes on from an answer with all that there is needs no other one, as long as something is left.
    const goesOn = known.all && known.typed.length >= least && input.value.toLowerCase().startsWith(known.typed.toLowerCase());
    const left = goesOn ? known.found.filter((one) => one.text.toLowerCase().includes(input.value.toLowerCase().trim())) : [];
    if (left.length > 0) show(left);
    else waiting = setTimeout(ask, pause);
  });
  input.addEventListener("blur", close);
  input.form?.addEventListener("submit", close);
  input.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    const options = [...list.children];
    if (event.key === "Escape") {
      event.preventDefault();
      close();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      options[chosen]?.setAttribute("aria-selected", "false");
      const step = event.key === "ArrowDown" ? 1 : -1;
      chosen = chosen < 0 ? (step > 0 ? 0 : options.length - 1) : (chosen + step + options.length) % options.length;
      options[chosen].setAttribute("aria-selected", "true");
      options[chosen].scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", options[chosen].id);
    } else if (event.key === "Enter" && chosen >= 0) take(event, options[chosen].textContent);
  });
  return list;
}

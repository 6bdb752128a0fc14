// Saved questions: kept in this browser, offered on the first screen.
import { base } from "./api.js";
import { h } from "./dom.js";
import { asking, to } from "./state.js";
import { t } from "./texts.js";

const place = `saved:${base}`;
const all = () => JSON.parse(localStorage.getItem(place) || "[]");
const keep = (list) => localStorage.setItem(place, JSON.stringify(list));
const same = (a, b) => a.q === b.q && (a.before || []).join("\n") === (b.before || []).join("\n");

// saveButton saves a question, or forgets it.
export function saveButton(state) {
  const one = asking(state);
  const isSaved = () => all().some((other) => same(other, one));
  const button = h("button", {
    type: "button",
    class: "quiet",
    click: () => {
      keep(isSaved() ? all().filter((other) => !same(other, one)) : [...all(), one]);
      say();
    },
  });
  const say = () => {
    button.textContent = isSaved() ? t`Saved; forget it` : t`Save the question`;
    button.setAttribute("aria-pressed", isSaved());
  };
  say();
  return button;
}

// savedQuestions lists what was saved; nothing where nothing is.
export function savedQuestions() {
  const out = h("div", { class: "saved" });
  const show = () => {
    const list = all();
    out.replaceChildren(
      ...(list.length === 0
        ? []
        : [
            h("h2", null, t`Saved questions`),
            h(
              "ul",
              null,
              list.map((one) =>
                h(
                  "li",
                  { class: "row" },
                  h("a", { href: to(one) }, one.q),
                  h(
                    "button",
                    {
                      type: "button",
                      class: "quiet",
                      "aria-label": t`Forget ${one.q}`,
                      click: () => {
                        keep(all().filter((other) => !same(other, one)));
                        show();
                      },
                    },
                    t`Forget`,
                  ),
                ),
              ),
            ),
          ]),
    );
  };
  show();
  return out;
}

// Verdict: whether the collection answers, in words.
import { h } from "./dom.js";
import { t } from "./texts.js";

const said = {
  found: ["yes", t`Found.`],
  doubtful: ["perhaps", t`Doubtful: the documents may not contain the answer.`],
  not_found: ["no", t`Not found: the documents do not contain the answer.`],
};

// words returns a verdict for people; "" where there is none.
export const words = (verdict) => (verdict ? said[verdict][1] : "");

// verdict says whether the collection answers, before anybody reads the passages. Where that is
// not known, the notes say why.
export function verdict(found) {
  if (!found.verdict) return null;
  return h("p", { class: `verdict ${said[found.verdict][0]}`, role: "status" }, h("strong", null, words(found.verdict)));
}

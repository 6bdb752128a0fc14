"""Prints the one table of docs/evidence/methods.md from what research/bench/many/run measured.

    python3 research/bench/many/table.py POOL.json... FULL.json...

POOL are reports of `conclave-lab pools`, FULL of `conclave evaluate`. Figures are in
percent. A row that was measured by neither has dashes; a new method is one line of ROWS.
"""

import json
import sys

B = "base"
KB = {"passage": 2.1, "1": 10.4, "3": 4.2, "5": 2.9, "75t": 4.7, "125t": 3.3, "250t": 2.1, "late": 9.5, "words": 0.6}
SEVEN = "medquad, policy, fairytale, amazon, covid, wiki, nq"
CALIBRATED, FIRST, SUM = ", calibrated on other folds", ", temperature 0.1", ", sharpness 3"


def kb(*parts):
    return f"{sum(KB[p] for p in parts):.1f}"


SPECIALISTS = ["passage"] * 7
GATE = ("passage", "words", "late")
# name, method of the pools, method over the whole collection, encoder passes, graph searches, kB a passage
ROWS = (
    ("passages", B, f"{B} alone", 1, 1, kb("passage")),
    ("sentences", f"{B}@1", f"{B}@1 alone", 1, 1, kb("1")),
    ("three sentences", f"{B}@3", f"{B}@3 alone", 1, 1, kb("3")),
    ("five sentences", f"{B}@5", f"{B}@5 alone", 1, 1, kb("5")),
    ("75 tokens", f"{B}@75t", f"{B}@75t alone", 1, 1, kb("75t")),
    ("125 tokens", f"{B}@125t", f"{B}@125t alone", 1, 1, kb("125t")),
    ("250 tokens", f"{B}@250t", f"{B}@250t alone", 1, 1, kb("250t")),
    ("plain sum of {1, passage}", f"sum of {B}@1, {B}", "sum 1,passage", 1, 2, kb("1", "passage")),
    ("CCE {1, passage}, T 0.1", f"CCE of {B}@1, {B}{FIRST}", "cce 1,passage", 1, 2, kb("1", "passage")),
    ("CCE {1, passage}, calibrated", f"CCE of {B}@1, {B}{CALIBRATED}", None, 1, 2, kb("1", "passage")),
    ("CCE {1, passage}, weighted sum: sharpness 1", f"CCE of {B}@1, {B}, weighted sum", None, 1, 2, kb("1", "passage")),
    ("CCE {1, passage}, sharpness 3", f"CCE of {B}@1, {B}{SUM}", "cce sum 1,passage", 1, 2, kb("1", "passage")),
    ("CCE {1, 3, passage}, T 0.1", f"CCE of {B}@1, {B}@3, {B}{FIRST}", "cce 1,3,passage", 1, 3, kb("1", "3", "passage")),
    ("CCE {1, 3, passage}, calibrated", f"CCE of {B}@1, {B}@3, {B}{CALIBRATED}", None, 1, 3, kb("1", "3", "passage")),
    ("CCE {1, 3, 5}, T 0.1", f"CCE of {B}@1, {B}@3, {B}@5{FIRST}", "cce 1,3,5", 1, 3, kb("1", "3", "5")),
    ("CCE {1, 3, 5}, calibrated", f"CCE of {B}@1, {B}@3, {B}@5{CALIBRATED}", None, 1, 3, kb("1", "3", "5")),
    ("CCE {75, 125, 250 tokens}, T 0.1", f"CCE of {B}@75t, {B}@125t, {B}@250t{FIRST}", "cce tokens", 1, 3, kb("75t", "125t", "250t")),
    ("CCE {75, 125, 250 tokens}, calibrated", f"CCE of {B}@75t, {B}@125t, {B}@250t{CALIBRATED}", None, 1, 3, kb("75t", "125t", "250t")),
    ("DESIRE-ME", "desire-me", "desire-me alone", 1, 1, kb("passage")),
    ("plain sum of the seven specialists", f"sum of {SEVEN}", "sum 7", 7, 7, kb(*SPECIALISTS)),
    ("MUF, sharpness 3", None, "MUF", 7, 7, kb(*SPECIALISTS)),
    ("MUF, sharpness 1 as in the paper", None, "MUF, the paper's weights", 7, 7, kb(*SPECIALISTS)),
    ("MUF, the surest alone", None, "MUF surest", 7, 7, kb(*SPECIALISTS)),
    ("CCE of the seven, T 0.1", f"CCE of {SEVEN}{FIRST}", "cce 7", 7, 7, kb(*SPECIALISTS)),
    ("CCE of the seven, calibrated", f"CCE of {SEVEN}{CALIBRATED}", None, 7, 7, kb(*SPECIALISTS)),
    ("CCE of the seven, weighted sum: sharpness 1", f"CCE of {SEVEN}, weighted sum", None, 7, 7, kb(*SPECIALISTS)),
    ("CCE of the seven, sharpness 3", f"CCE of {SEVEN}{SUM}", "cce sum 7", 7, 7, kb(*SPECIALISTS)),
    ("plain sum of {1, DESIRE-ME}", f"sum of {B}@1, desire-me", "sum 1,desire-me", 1, 2, kb("1", "passage")),
    ("CCE {1, DESIRE-ME}, T 0.1", f"CCE of {B}@1, desire-me{FIRST}", "cce 1,desire-me", 1, 2, kb("1", "passage")),
    ("CCE {1, DESIRE-ME}, calibrated", f"CCE of {B}@1, desire-me{CALIBRATED}", None, 1, 2, kb("1", "passage")),
    ("CCE {1, DESIRE-ME}, sharpness 3", f"CCE of {B}@1, desire-me{SUM}", "cce sum 1,desire-me", 1, 2, kb("1", "passage")),
    ("CCE {1, passage, DESIRE-ME}, T 0.1", f"CCE of {B}@1, {B}, desire-me{FIRST}", "cce 1,passage,desire-me", 1, 3, kb("1", "passage")),
    ("CCE {1, passage, DESIRE-ME}, calibrated", f"CCE of {B}@1, {B}, desire-me{CALIBRATED}", None, 1, 3, kb("1", "passage")),
    ("CCE of these and the seven, T 0.1", f"CCE of {B}@1, {B}, desire-me, {SEVEN}{FIRST}", "cce 7 and these", 8, 10, kb("1", "passage", *SPECIALISTS)),
    ("CCE of these and the seven, calibrated", f"CCE of {B}@1, {B}, desire-me, {SEVEN}{CALIBRATED}", None, 8, 10, kb("1", "passage", *SPECIALISTS)),
    ("CCE of these and the seven, sharpness 3", f"CCE of {B}@1, {B}, desire-me, {SEVEN}{SUM}", "cce sum 7 and these", 8, 10, kb("1", "passage", *SPECIALISTS)),
    ("plain sum of the seven and {1}", None, "sum 7, sentences", 8, 8, kb("1", *SPECIALISTS)),
    ("plain sum of the seven and {1, DESIRE-ME}", None, "sum 7, desire-me, sentences", 8, 9, kb("1", "passage", *SPECIALISTS)),
    ("BM25", "bm25", "bm25 alone", 0, 0, kb("words")),
    ("passages + 0.05 · BM25", None, "hybrid of passages", 1, 1, kb("passage", "words")),
    ("sentences + 0.05 · BM25", None, "hybrid of sentences", 1, 1, kb("1", "words")),
    ("DESIRE-ME + 0.05 · BM25", None, "hybrid of desire-me", 1, 1, kb("passage", "words")),
    ("MUF + 0.05 · BM25", None, "hybrid MUF", 7, 7, kb("words", *SPECIALISTS)),
    ("mean of {1, passage} + 0.05 · BM25", None, "hybrid of 1,passage", 1, 2, kb("1", "passage", "words")),
    ("CCE {1, passage}, sharpness 3, + 0.05 · BM25", None, "hybrid cce 1,passage", 1, 2, kb("1", "passage", "words")),
    ("CCE {1, DESIRE-ME}, sharpness 3, + 0.05 · BM25", None, "hybrid cce 1,desire-me", 1, 2, kb("1", "passage", "words")),
    ("mean of {1, DESIRE-ME} + 0.05 · BM25", None, "hybrid of 1,desire-me", 1, 2, kb("1", "passage", "words")),
    ("late interaction's order", "late", None, 1, 0, kb("late")),
    ("gate, without specialists", None, "gate", 1, 1, kb(*GATE)),
    ("gate with DESIRE-ME", None, "gate desire-me", 1, 2, kb(*GATE)),
    ("gate with sentences", None, "gate 1", 1, 2, kb("1", *GATE)),
    ("gate with sentences and DESIRE-ME", None, "gate 1,desire-me", 1, 3, kb("1", *GATE)),
    ("gate, two of seven specialists", None, "gate 7", 3, 3, kb(*GATE, *SPECIALISTS)),
    ("the same with DESIRE-ME", None, "gate 7,desire-me", 3, 4, kb(*GATE, *SPECIALISTS)),
    ("the same with sentences and DESIRE-ME", None, "gate 7,1,desire-me", 3, 5, kb("1", *GATE, *SPECIALISTS)),
    ("the same with all granularities", None, "gate all", 3, 10, kb("1", "3", "5", "75t", "125t", "250t", *GATE, *SPECIALISTS)),
)


def main():
    pool, full = {}, {}
    for name in sys.argv[1:]:
        with open(name) as file:
            report = json.load(file)
        if "rows" in report:
            pool |= {row["method"]: row for row in report["rows"]}
        else:
            mix = next(t for t in report["tables"] if t["scope"] == "mix")
            full |= {row["method"]: row["values"] for row in mix["rows"]}
    print("| | paper's protocol: top-1 | collection: top-1 | top-20 | nDCG@10 | encoder passes | graph searches | kB a passage |")
    print("| --- |" + " ---: |" * 7)
    for name, pooled, whole, passes, graphs, size in ROWS:
        cells = [f"{100 * pool[pooled]['all']:.1f}" if pooled in pool else "–"]
        cells += [f"{100 * full[whole][m]:.1f}" if whole in full else "–" for m in ("top1", "top20", "ndcg10")]
        print(f"| {name} | " + " | ".join([*cells, str(passes), str(graphs), size]) + " |")


if __name__ == "__main__":
    main()

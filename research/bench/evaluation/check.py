"""Conclave's measures beside those of ir-measures and of pytrec-eval, which is
trec_eval itself, on judged collections with BM25's runs: agreement to 1e-6.

The library is given the run that conclave wrote and judgements that are read
here, from the collection's own file of questions; what it computes is compared
with the report that conclave wrote. Nothing of conclave is in between.

    python research/bench/evaluation/check.py --data ../shared/data [--conclave bin/conclave]
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import ir_measures
import pytrec_eval
from ir_measures import AP, RR, R, Success, nDCG

COLLECTIONS = ("scifact", "nfcorpus", "cranfield", "cacm")
MEASURES = {
    "top1": Success @ 1,
    "top5": Success @ 5,
    "top20": Success @ 20,
    "top100": Success @ 100,
    "mrr10": RR @ 10,
    "ndcg10": nDCG @ 10,
    "map": AP,
    "recall100": R @ 100,
}
TREC_EVAL = {  # ir-measures may compute a measure in several ways; these are trec_eval's own names
    "top1": "success_1", "top5": "success_5", "top100": "success_100",
    "ndcg10": "ndcg_cut_10", "map": "map", "recall100": "recall_100",
}
TOLERANCE = 1e-6


def judgements(path):
    """{question: {passage: grade}}, of a file of questions."""
    out = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            question = json.loads(line)
            grades = question.get("grades") or {p: 1 for p in question["positive_ids"]}
            out[question["id"]] = {passage: int(grade) for passage, grade in grades.items()}
    return out


def run_of(path):
    """{question: {passage: score}}, of a TREC run. The ranks are not looked at,
    as trec_eval does not."""
    out = defaultdict(dict)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            question, _, passage, _, score, _ = line.split()
            out[question][passage] = float(score)
    return dict(out)


def conclave(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"conclave {' '.join(map(str, arguments))}:\n{done.stderr}")


def check(program, data, name, folder):
    questions = data / name / "questions.test.jsonl.gz"
    collection, report, runs = folder / "collection", folder / "report.json", folder / "runs"
    conclave(program, "index", "--collection", collection, "--in", data / name / "passages.jsonl.gz", "--experts", "none")
    conclave(program, "evaluate", "--collection", collection, "--questions", f"{name}={questions}", "--timed", 0,
             "--json", report, "--runs", runs, "--run-forms", "trec")
    row = json.loads(report.read_text())["tables"][0]["rows"][0]
    assert row["method"] == "bm25 alone", row["method"]

    qrels, run = judgements(questions), run_of(runs / name / "bm25-alone.trec")
    # A question for which nothing was found is not in the run; every measure is 0 there.
    missing = [q for q in qrels if q not in run]
    measured = ir_measures.calc_aggregate(list(MEASURES.values()), qrels, run)
    by_question = pytrec_eval.RelevanceEvaluator(qrels, set(TREC_EVAL.values())).evaluate(run)

    worst = 0.0
    print(f"{name}: {len(qrels)} questions, {sum(map(len, run.values()))} results"
          + (f", {len(missing)} questions without any" if missing else ""))
    for key, measure in MEASURES.items():
        ours = row["values"][key]
        theirs = {"ir-measures": measured[measure]}
        if key in TREC_EVAL:
            theirs["trec_eval"] = sum(q[TREC_EVAL[key]] for q in by_question.values()) / len(qrels)
        gap = max(abs(ours - value) for value in theirs.values())
        worst = max(worst, gap)
        shown = "  ".join(f"{who} {value:.8f}" for who, value in theirs.items())
        print(f"  {key:10} conclave {ours:.8f}  {shown}" + ("" if gap <= TOLERANCE else "  DIFFERENT"))
    return worst


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", type=Path, required=True, help="folder with " + ", ".join(COLLECTIONS))
    options.add_argument("--conclave", default="bin/conclave", help="the program")
    asked = options.parse_args()
    worst = 0.0
    for name in COLLECTIONS:
        if not (asked.data / name).is_dir():
            print(f"{name}: passed over, it is not in {asked.data}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            worst = max(worst, check(asked.conclave, asked.data, name, Path(folder)))
    print(f"largest difference: {worst:.1e} (allowed: {TOLERANCE:.0e})")
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())

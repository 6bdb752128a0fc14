"""Measures a reader's bundle on questions that it was not trained on.

    python research/bench/reader/measure.py BUNDLE --base CHECKPOINT --data DATA/wiki --data DATA/nq … \
        [--run auto=FILE.trec] [--limit 150] [--bf16] [--json FILE]

It needs `pip install ./training`. Of each domain at most --limit development questions
are taken, by a hash. Printed are, by domain: exact match and F1 of the words found in the
question's own passage; and for the first ten passages of BM25 over the union of all
domains, and of every --run (TREC's format, as `conclave evaluate --runs` writes it), the
accuracy of the first passage, with the selection score as one more signal, and exact
match and F1 of the answer. How much the selection score counts is chosen on half of
the questions; every figure that it decides is of the other half.
"""

import argparse
import collections
import json
import pathlib

import numpy as np
import torch

from conclave_train.bundle.manifest import read_manifest
from conclave_train.data.load import load
from conclave_train.data.records import union
from conclave_train.data.split import share
from conclave_train.fit.encode import Device
from conclave_train.model.checkpoint import read_checkpoint
from conclave_train.model.delta import read_delta
from conclave_train.progress import Progress
from conclave_train.reading.measure import answer, auroc
from conclave_train.reading.model import load_reader
from conclave_train.reading.pairs import Pairs
from conclave_train.reading.squad import exact_match, f1, normalise
from conclave_train.retrieval.bm25 import BM25

FIRST = 10  # passages that are read
WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 4.0)  # of the selection score


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bundle", type=pathlib.Path)
    p.add_argument("--base", type=pathlib.Path, required=True, help="the base's checkpoint")
    p.add_argument("--data", type=pathlib.Path, action="append", required=True)
    p.add_argument("--run", action="append", default=[], metavar="NAME=FILE")
    p.add_argument("--limit", type=int, default=150)
    p.add_argument("--bf16", action="store_true")
    p.add_argument("--json", type=pathlib.Path)
    return p.parse_args()


def questions_of(domain, limit):
    """At most `limit` questions, by a hash."""
    return sorted(domain.questions, key=lambda q: (share(q.id, "measure"), q.id))[:limit]


def run_of(path, index):
    """{question: [(place, score)]} of a TREC run, the first FIRST."""
    found = collections.defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        question, _, passage, _, score, _ = line.split()
        found[question].append((index[passage], float(score)))
    return {q: sorted(hits, key=lambda h: -h[1])[:FIRST] for q, hits in found.items()}


class Read:
    """What the reader says of every pair that is asked for."""

    def __init__(self, options, domain, questions):
        checkpoint = read_checkpoint(options.base)
        most = read_manifest(options.bundle)["max_tokens"]
        self.reader = load_reader(checkpoint, read_delta(options.bundle / "delta.safetensors")).eval()
        self.pairs = Pairs(checkpoint.tokens, [q.text for q in questions], domain.passages, most["question"])
        self.longest, self.device = most["pair"], Device("cpu", options.bf16)
        self.select, self.words, self.score = {}, {}, {}

    def all(self, wanted):
        """Read the pairs (question, place)."""
        wanted = sorted(set(wanted))
        with Progress("reading", len(wanted), "pairs") as bar:
            for a in range(0, len(wanted), 256):
                some = wanted[a : a + 256]
                made = [self.pairs.pair(i, p, self.longest) for i, p in some]
                select, spans = answer(self.reader, made, self.pairs.tokens, self.device, 16)
                for key, pair, s, span in zip(some, made, select, spans, strict=True):
                    self.select[key] = float(s)
                    self.words[key] = self.pairs.words(key[1], pair, span[0]) if span else ""
                    self.score[key] = span[1] if span else -np.inf
                bar.tick(len(some))


def order(read, i, hits, weight):
    """The hits' scores: the retriever's in standard deviations, and `weight` times the selection score."""
    scores = np.array([s for _, s in hits])
    return (scores - scores.mean()) / (scores.std() + 1e-9) + weight * np.array([read.select[i, p] for p, _ in hits])


def said(read, i, hits, scores, pooled):
    """The answer: of the first passage; or `pooled`, the words with the largest sum over all passages."""
    if not pooled:
        return read.words[i, hits[int(scores.argmax())][0]]
    spans = np.array([read.score[i, p] for p, _ in hits])
    shares = np.exp(scores - scores.max()) * np.exp(spans - spans.max())
    sums, first = collections.Counter(), {}
    for (p, _), s in zip(hits, shares, strict=True):
        words = read.words[i, p]
        sums[normalise(words)] += s
        first.setdefault(normalise(words), words)
    return first[sums.most_common(1)[0][0]]


def macro(values):
    """{domain: mean} and their mean, in percent."""
    means = {d: 100 * float(np.mean(v)) for d, v in values.items() if v}
    return means | {"mean": float(np.mean(list(means.values())))}


def main():
    torch.set_num_threads(1)
    options = arguments()
    domains = [load(path, split="dev") for path in options.data]
    whole = union("union", domains)
    asked = [(d.name, q) for d in domains for q in questions_of(d, options.limit)]
    questions = [q for _, q in asked]
    index = BM25(whole.passages)
    runs = {"BM25": {}}
    for q in questions:
        places = index.search(q.text, FIRST)
        runs["BM25"][q.id] = [(p, -float(n)) for n, p in enumerate(places)]
    for item in options.run:
        name, _, file = item.partition("=")
        runs[name] = run_of(pathlib.Path(file), whole.index)
    gold = [{whole.index[id] for id in q.positives} for q in questions]
    read = Read(options, whole, questions)
    half = [share(q.id, "half") < 0.5 for q in questions]  # those that choose
    own = [(i, whole.index[q.positives[0]]) for i, q in enumerate(questions)]
    read.all([*own, *((i, p) for run in runs.values() for i, q in enumerate(questions) for p, _ in run.get(q.id, []))])

    table = {
        "gold EM": macro(of(asked, lambda i, q: exact_match(read.words[own[i]], q.answers))),
        "gold F1": macro(of(asked, lambda i, q: f1(read.words[own[i]], q.answers))),
    }
    for name, run in runs.items():
        hits = [run.get(q.id) or [] for q in questions]
        good = [read.select[k] for k in own]
        bad = [read.select[i, p] for i, h in enumerate(hits) for p, _ in h if p not in gold[i]]
        table[f"{name}: AUROC of select, own passage against what is found"] = {"mean": 100 * auroc(good, bad)}

        def right(i, weight, hits=hits):
            scores = order(read, i, hits[i], weight)
            return bool(hits[i]) and hits[i][int(scores.argmax())][0] in gold[i]

        everything = {w: [bool(h) and right(i, w) for i, h in enumerate(hits)] for w in WEIGHTS}

        def over(w, chosen, everything=everything):
            values = collections.defaultdict(list)
            for (d, _), ok, h in zip(asked, everything[w], half, strict=True):
                if h == chosen:
                    values[d].append(ok)
            return macro(values)

        best = max(WEIGHTS, key=lambda w: over(w, True)["mean"])
        table[f"{name}: top-1"] = over(0.0, False)
        table[f"{name}: top-1 with {best:g} · select"] = over(best, False)
        table[f"{name}: top-{FIRST}"] = macro(
            {
                d: [bool(gold[i] & {p for p, _ in hits[i]}) for i, (e, _) in enumerate(asked) if e == d and not half[i]]
                for d, _ in asked
            }
        )
        for words, weight, pooled in (
            (f"first with {best:g} · select", best, False),
            ("first found", 0.0, False),
            (f"equal strings summed, {best:g} · select", best, True),
        ):
            answers = [said(read, i, h, order(read, i, h, weight), pooled) if h else "" for i, h in enumerate(hits)]
            for metric, function in (("EM", exact_match), ("F1", f1)):
                table[f"{name}: {metric}, {words}"] = macro(
                    of(asked, lambda i, q, a=answers, g=function: g(a[i], q.answers), lambda i: not half[i])
                )
        table[f"{name}: EM, best of the {FIRST}"] = macro(
            of(
                asked,
                lambda i, q, h=hits: max((exact_match(read.words[i, p], q.answers) for p, _ in h[i]), default=0),
                lambda i: not half[i],
            )
        )

    names = [d.name for d in domains] + ["mean"]
    print(f"{len(questions)} questions, {len(whole.passages)} passages\n")
    print("| | " + " | ".join(names) + " |\n" + "| --- " * (len(names) + 1) + "|")
    for row, values in table.items():
        print(f"| {row} | " + " | ".join(f"{values[n]:.1f}" if n in values else "" for n in names) + " |")
    if options.json:
        options.json.write_text(json.dumps(table, indent=1) + "\n", "utf-8")


def of(asked, value, chosen=lambda i: True):
    """{domain: values} of the questions with answers."""
    values = collections.defaultdict(list)
    for i, (d, q) in enumerate(asked):
        if q.answers and chosen(i):
            values[d].append(value(i, q))
    return values


if __name__ == "__main__":
    main()

"""Compares ways of training a question encoder with and without marked passages.

    python research/bench/reader/without_labels.py --data ../shared/data --domain amazon --domain covid \
        [--pool wiki …] [--exported FOLDER] [--reader BUNDLE] [--ways emdr2,kl] \
        [--limit 600] [--dev 400] [--rounds 3] --runs RUNS

It needs `pip install ./training` and `conclave setup`. `conclave export --collection C --out
FOLDER/passages.jsonl --vectors FOLDER` saves encoding passages: C has the expert base. The
passages of every --domain and --pool are searched; of each --domain at most --limit training
questions are taken whose answers stand in a passage, and at most --dev development questions,
both by a hash. All rows are one loop (the hits of a search with the question encoder as it
is, the same steps), and differ in what is said about the hits:

    base        nothing was learned
    BM25        the first passage of BM25's hundred that holds an answer (distant supervision)
    words       every passage that holds an answer counts alike (uniform posterior)
    shuffled    the same, but of other hits of the question, at random (no feedback)
    emdr2, kl   the likelihoods of --reader, which has not learned from a --domain, by objective
    marked      the marked passages (supervised)

Each row has the accuracy on development questions' marked passages after the last round,
and top-20 after the round that each rule chooses on a tenth of the training questions:

    found       where the first passage with an answer stands (mean of top-1 and top-20)
    words       the mean log Σ p(z|q) over all passages that hold an answer

A command that is repeated goes on, and measures again without training again.
"""

import argparse
import dataclasses
import json
import pathlib

import numpy as np
import torch

from conclave_train.cli import _base
from conclave_train.data.load import load
from conclave_train.data.records import union
from conclave_train.data.split import hold_out, share
from conclave_train.feedback.holders import Holders
from conclave_train.feedback.rounds import Rounds
from conclave_train.feedback.teacher import ReaderTeacher, alike, open_reader
from conclave_train.fit.encode import Device, encode_all
from conclave_train.fit.loop import Texts
from conclave_train.fit.state import RunFolder
from conclave_train.model.checkpoint import read_checkpoint
from conclave_train.model.tower import freeze_embeddings
from conclave_train.reading.pairs import Pairs
from conclave_train.retrieval.accuracy import accuracy, first_ranks
from conclave_train.retrieval.bm25 import BM25
from conclave_train.settings import EndToEndSettings

RULES = ("found", "words")


class Told(Rounds):
    """Rounds in which a passage that is told of a question is among its hits, in place of the last, if it was not."""

    told = ()

    def _round(self, number):
        found = super()._round(number)
        for i, places in enumerate(self.told):
            if places and torch.isinf(found.teacher[i]).all():
                found.places[i, -1], found.teacher[i, -1] = places[0], 0.0
        return found


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=pathlib.Path, required=True, help="the folder of all domains")
    p.add_argument("--domain", action="append", required=True)
    p.add_argument("--pool", action="append", default=[], help="a domain whose passages are searched too")
    p.add_argument("--base", type=pathlib.Path, help="default: what `conclave setup` fetched")
    p.add_argument("--reader", type=pathlib.Path)
    p.add_argument("--exported", type=pathlib.Path, help="passages.jsonl and vectors of `conclave export`")
    p.add_argument("--limit", type=int, default=600)
    p.add_argument("--dev", type=int, default=400)
    p.add_argument("--rate", type=float, default=5e-5)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--ways", default="BM25,words,shuffled,marked", help="those of a reader too: emdr2, kl")
    p.add_argument("--runs", type=pathlib.Path, required=True)
    p.add_argument("--no-bf16", action="store_true", help="for passages and the reader, on processors without it")
    return p.parse_args()


def exported(o, expert, whole):
    """The passages' vectors as `conclave export` wrote them; None where it did not."""
    if not o.exported or not (file := o.exported / f"{expert}.npy").exists():
        return None
    lines = (o.exported / "passages.jsonl").read_text("utf-8").splitlines()
    row = {json.loads(line)["id"]: i for i, line in enumerate(lines)}
    return torch.from_numpy(np.load(file)[[row[p.id] for p in whole.passages]])


def some(questions, count):
    return sorted(questions, key=lambda q: (share(q.id, "without-labels"), q.id))[:count]


def main():
    torch.set_num_threads(1)
    o = arguments()
    device = Device("cpu", not o.no_bf16)
    base = read_checkpoint(_base(o))
    base = dataclasses.replace(
        base, config=dataclasses.replace(base.config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    )
    names = list(dict.fromkeys([*o.domain, *o.pool]))
    pools = {name: load(o.data / name) for name in names}
    whole = union("union", list(pools.values()))
    rows = base.tokens.passages(whole.passages, "title-dot-text", base.max_tokens[1])
    folder = RunFolder(o.runs / "passages", {"of": names})
    vectors = exported(o, "base", whole)
    if vectors is None:
        vectors = folder.load_part("vectors.pt")
    if vectors is None:
        vectors = encode_all(base.model().passage, rows, base.tokens, device)
        folder.save_part("vectors.pt", vectors)
    print("| domain | what teaches | top-1 / top-20 | " + " | ".join(f"by {r}" for r in RULES) + " |")
    print("| --- " * (3 + len(RULES)) + "|", flush=True)
    for name in o.domain:
        opened = open_reader(o.reader, base, [pools[name]]) if o.reader else (None, 64)
        Domain(o, name, pools[name], base, whole, vectors, opened, device).rows()


class Domain:
    """The rows of one domain."""

    def __init__(self, o, name, domain, base, whole, vectors, reader, device):
        self.o, self.name, self.base, self.whole, self.vectors = o, name, base, whole, vectors
        self.reader, self.most, self.device = *reader, device
        find = Holders(whole.passages, EndToEndSettings().most_common)
        answered = [q for q in domain.questions if q.answers]
        taken = [q for q in some(answered, 2 * o.limit) if find(q.answers)][: o.limit]
        self.train, self.held = hold_out(taken, 0.1, 200)
        self.dev = some([q for q in load(o.data / name, split="dev").questions if q.answers], o.dev)
        self.train_by, self.held_by = ([find(q.answers) for q in qs] for qs in (self.train, self.held))
        self.right = [[whole.index[id] for id in q.positives] for q in self.dev]

    def teacher(self):
        pairs = Pairs(self.base.tokens, [q.text for q in self.train], self.whole.passages, self.most)
        folder = RunFolder(self.o.runs / f"{self.name}-reader", {"questions": [q.id for q in self.train]})
        answers = [q.answers for q in self.train]
        return ReaderTeacher(self.reader, pairs, answers, self.train_by, self.device, 16, folder, lambda: False, False)

    def encoded(self, tower, asked):
        return encode_all(tower, self.base.tokens.questions([q.text for q in asked], 64), self.base.tokens, Device())

    def measured(self, model, passages):
        """What each rule says of the model, and its accuracy."""
        q = self.encoded(model.question, self.held)
        found = accuracy(first_ranks(q, passages, self.held_by))
        shares = (q @ passages.T / 0.05).log_softmax(-1)
        words = [float(row[h].logsumexp(0)) for row, h in zip(shares, self.held_by, strict=True)]
        dev = accuracy(first_ranks(self.encoded(model.question, self.dev), passages, self.right))
        return {
            "score": 0.0, "found": (found["top-1"] + found["top-20"]) / 2, "words": float(np.mean(words)),
            "top-1": dev["top-1"], "top-20": dev["top-20"],
        }  # fmt: skip

    def ways(self):
        """(name, settings, teacher, passages that are told)."""
        index = BM25(self.whole.passages)
        marked = [[self.whole.index[id] for id in q.positives] for q in self.train]
        distant = [
            [p for p in index.search(q.text, 100) if p in set(h)][:1]
            for q, h in zip(self.train, self.train_by, strict=True)
        ]
        asking = self.teacher() if self.reader else None
        alikes = alike(self.train_by)
        return {
            "BM25": ({}, alike(distant), distant),
            "words": ({}, alikes, ()),
            "shuffled": ({}, lambda places: shuffled(alikes(places)), ()),
            "emdr2": ({}, asking, ()),
            "kl": ({"objective": "kl"}, asking, ()),
            "marked": ({}, alike(marked), marked),
        }

    def rows(self):
        ways, first = self.ways(), None
        for way in self.o.ways.split(","):
            changes, teach, told = ways[way]
            s = EndToEndSettings(
                way="feedback", epochs=self.o.rounds, batch=16, learning_rate=self.o.rate, **changes
            )
            model = self.base.model().untied()
            freeze_embeddings(model.question)
            texts = Texts(self.base.tokens.questions([q.text for q in self.train], 64), [], self.base.tokens)
            folder = RunFolder(
                self.o.runs / f"{self.name}-{way}", dataclasses.asdict(s) | {"questions": [q.id for q in self.train]}
            )
            rounds = Told(
                model, texts, teach, self.vectors, s, 0.05, Device(), folder, lambda p, m=model: self.measured(m, p)
            )
            rounds.told = told
            rounds.fit()
            history = rounds.state.history
            if first is None:
                first = history[0]
                self.say(f"base ({len(self.train)} questions, {len(self.held)} kept back)", first, ["" for _ in RULES])
            chosen = [max(history, key=lambda h: (h[r], -h["epoch"])) for r in RULES]
            self.say(way, history[-1], [f"{h['top-20']:.1f} (round {h['epoch']:g})" for h in chosen])

    def say(self, way, found, chosen):
        cells = [self.name, way, f"{found['top-1']:.1f} / {found['top-20']:.1f}", *chosen]
        print("| " + " | ".join(cells) + " |", flush=True)


def shuffled(teacher):
    """What is said of each question's hits, said of others of its hits."""
    random = np.random.default_rng(13)
    return torch.stack([row[torch.from_numpy(random.permutation(len(row)))] for row in teacher])


if __name__ == "__main__":
    main()

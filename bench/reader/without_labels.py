"""Compares ways of training a question encoder with and without marked passages.

    python bench/reader/without_labels.py --base CHECKPOINT --reader BUNDLE --pool DATA/wiki --pool DATA/nq … \
        --domain amazon --domain covid [--vectors FILE] [--limit 600] [--dev 400] --runs FOLDER

It needs `pip install ./training`. The passages of every --pool are searched; each --domain
is one of them, of whose training questions at most --limit are taken, and at most --dev
development questions, both by a hash. --vectors has the base's vectors of all passages in
the order of --pool, float16, and saves encoding them. All rows use one loop (the hits
of a search with the question encoder as it is, the same steps), and differ in what is
said about the hits:

    base                     nothing was learned
    words                    every passage that holds an answer counts alike
    BM25                     the first passage of BM25's hundred that holds an answer (distant supervision)
    emdr2, kl                a reader's likelihoods, by objective
    marked                   the marked passages (supervised)

A row's first round is chosen as `conclave-train end-to-end` does, on a tenth of the training
questions and by words alone; its second is the last. The table is of the development
questions' marked passages. A run that is repeated measures again without training again.
"""

import argparse
import dataclasses
import pathlib

import numpy as np
import torch

from conclave_train.data.load import load
from conclave_train.data.records import union
from conclave_train.data.split import hold_out, share
from conclave_train.end_to_end import METRICS
from conclave_train.feedback.holders import Holders
from conclave_train.feedback.rounds import Rounds
from conclave_train.feedback.teacher import ReaderTeacher, alike, open_reader
from conclave_train.fit.encode import Device, encode_all
from conclave_train.fit.loop import Texts
from conclave_train.fit.state import RunFolder, restore
from conclave_train.model.checkpoint import read_checkpoint
from conclave_train.model.tower import freeze_embeddings
from conclave_train.reading.pairs import Pairs
from conclave_train.retrieval.accuracy import accuracy, first_ranks
from conclave_train.retrieval.bm25 import BM25
from conclave_train.settings import EndToEndSettings


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
    p.add_argument("--base", type=pathlib.Path, required=True)
    p.add_argument("--reader", type=pathlib.Path, required=True)
    p.add_argument("--pool", type=pathlib.Path, action="append", required=True)
    p.add_argument("--domain", action="append", required=True)
    p.add_argument("--vectors", type=pathlib.Path)
    p.add_argument("--limit", type=int, default=600)
    p.add_argument("--dev", type=int, default=400)
    p.add_argument("--rate", type=float, default=3e-5)
    p.add_argument("--rounds", type=int, default=4)
    p.add_argument("--runs", type=pathlib.Path, required=True)
    p.add_argument("--bf16", action="store_true", help="for the reader")
    return p.parse_args()


def some(questions, count):
    return sorted(questions, key=lambda q: (share(q.id, "without-labels"), q.id))[:count]


def main():
    torch.set_num_threads(1)
    o = arguments()
    base = read_checkpoint(o.base)
    base = dataclasses.replace(
        base, config=dataclasses.replace(base.config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    )
    pools = [load(path) for path in o.pool]
    whole = union("union", pools)
    rows = base.tokens.passages(whole.passages, "title-dot-text", base.max_tokens[1])
    if o.vectors:
        read = np.fromfile(o.vectors, np.float16).reshape(len(rows), -1).astype(np.float32)
        vectors = torch.nn.functional.normalize(torch.from_numpy(read), dim=-1)
    else:
        vectors = encode_all(base.model().passage, rows, base.tokens, Device())
    index, find = BM25(whole.passages), Holders(whole.passages, EndToEndSettings().most_common)
    print("| domain | training questions | hits with an answer | way | round | " + " | ".join(METRICS) + " |")
    print("| --- " * (5 + len(METRICS)) + "|", flush=True)
    for name in o.domain:
        domain = next(d for d in pools if d.name == name)
        reader, most = open_reader(o.reader, base, [domain])
        taken = [q for q in domain.questions if q.answers]
        taken = [q for q in some(taken, 2 * o.limit) if find(q.answers)][: o.limit]
        train, held = hold_out(taken, 0.1, 200)
        dev = some([q for q in load(o.pool[pools.index(domain)], split="dev").questions if q.answers], o.dev)
        measure_one(o, name, base, whole, vectors, index, find, (reader, most), train, held, dev)


def measure_one(o, name, base, whole, vectors, index, find, reader, train, held, dev):
    """The rows of one domain."""
    held_by = [find(q.answers) for q in held]
    train_by = [find(q.answers) for q in train]
    marked = [[whole.index[id] for id in q.positives] for q in train]
    distant = [[p for p in index.search(q.text, 100) if p in set(h)][:1] for q, h in zip(train, train_by, strict=True)]
    texts = Texts(base.tokens.questions([q.text for q in train], 64), [], base.tokens)
    right = [[whole.index[id] for id in q.positives] for q in dev]

    def questions(tower, asked):
        return encode_all(tower, base.tokens.questions([q.text for q in asked], 64), base.tokens, Device())

    pairs = Pairs(base.tokens, [q.text for q in train], whole.passages, reader[1])
    answers = [q.answers for q in train]
    asking = ReaderTeacher(
        reader[0], pairs, answers, train_by, Device("cpu", o.bf16), 16,
        RunFolder(o.runs / f"{name}-reader", {}), lambda: False, False,
    )  # fmt: skip
    ways = (
        ("words", "emdr2", alike(train_by), ()),
        ("BM25", "emdr2", alike(distant), distant),
        ("emdr2", "emdr2", asking, ()),
        ("kl", "kl", asking, ()),
        ("marked", "emdr2", alike(marked), marked),
    )
    first = accuracy(first_ranks(questions(base.model().question, dev), vectors, right))
    cells = " | ".join(f"{first[m]:.1f}" for m in METRICS)
    print(f"| {name} | {len(train)} | | base | | {cells} |", flush=True)
    for way, objective, teach, told in ways:
        s = EndToEndSettings(objective=objective, epochs=o.rounds, learning_rate=o.rate)
        model = base.model().untied()
        freeze_embeddings(model.question)

        def score(passages, model=model):
            found = accuracy(first_ranks(questions(model.question, held), passages, held_by))
            return {"score": (found["top-1"] + found["top-20"]) / 2, **found}

        folder = RunFolder(o.runs / f"{name}-{way}", dataclasses.asdict(s))
        rounds = Told(model, texts, teach, vectors, s, 0.05, Device(), folder, score, quiet=True)
        rounds.told = told
        rounds.fit()
        met = folder.load_part(f"round-{o.rounds}.pt")["teacher"]
        share_met = 100 * float((~torch.isinf(met)).any(1).float().mean())
        for chosen, weights in (
            (f"{rounds.state.best_epoch:g}", rounds.state.best),
            (f"last ({o.rounds})", rounds.state.weights),
        ):
            restore(model, weights)
            found = accuracy(first_ranks(questions(model.question, dev), vectors, right))
            cells = " | ".join(f"{found[m]:.1f}" for m in METRICS)
            print(f"| {name} | {len(train)} | {share_met:.0f} % | {way} | {chosen} | {cells} |", flush=True)


if __name__ == "__main__":
    main()

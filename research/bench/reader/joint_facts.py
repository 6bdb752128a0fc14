"""A T5 and a retriever that learn together, where everything can be had: on facts that are made here.

    python research/bench/reader/joint_facts.py --work WORK --out FIGURE.svg

A small BERT and a small T5 begin with random weights and a vocabulary of the facts' words (made_facts.py). The
retriever is warmed up by the inverse cloze task on the corpus. The T5 learns to read from facts about people who are
not in the corpus, drawn anew for every batch: from one passage, then from several. Then one loop
(conclave_train.feedback.joint) goes on from these weights, on questions and answers of people of the corpus, in several
ways: with the T5's feedback, with marked passages, with all that hold the answer alike, with the retriever left as it is, without feedback, and with
feedback that was dealt to the passages at random. Exact match and top-k of people never asked about in training are
measured by step, and drawn. Stopped, the same command goes on. It needs the package of training/.
"""

import argparse
import copy
import dataclasses
import json
import time
from pathlib import Path

import numpy as np
import torch
from curves import WAYS, picture
from made_facts import KINDS, Fresh, World
from random_models import make_base, make_t5
from tokenizers import Tokenizer

from conclave_train.data.records import Domain, Question
from conclave_train.feedback.evidence import Evidence
from conclave_train.feedback.joint import Joint, Pair
from conclave_train.feedback.warm import clozes, warm_up_retriever
from conclave_train.fid import FidJob, FidLoop, Reading, measure
from conclave_train.fit.encode import Device, encode_all
from conclave_train.fit.fused import states
from conclave_train.fit.loop import Texts
from conclave_train.fit.state import RunFolder
from conclave_train.job import Job, prepare
from conclave_train.model.t5 import read_t5
from conclave_train.reading.groups import hard_negatives
from conclave_train.reading.squad import exact_match
from conclave_train.retrieval.accuracy import accuracy, first_ranks, search
from conclave_train.settings import EndToEndSettings, ExpertSettings, FidSettings

FIGURES = ("em", "em of 2", "em of 1", "top-1", "top-5", "top-20")


class Way(Joint):
    """The loop with another feedback."""

    way = "emdr2"

    def feedback(self, rows, places, said):
        teacher, keep = super().feedback(rows, places, said)
        if self.way == "random":
            order = np.random.default_rng([self.s.seed, 8, self.state.step, *rows]).permuted(
                np.tile(np.arange(places.shape[1]), (len(rows), 1)), axis=1
            )
            teacher = teacher.gather(1, torch.from_numpy(order)[..., None].expand_as(teacher))
        if self.way in ("marked", "alike"):
            domain = self.reading.domain

            def good(question, passage):
                if self.way == "marked":
                    return passage.id in question.positives
                return any(a in passage.text for a in question.answers)

            own = [[good(self.reading.questions[i], domain.passages[int(p)]) for p in row]
                   for i, row in zip(rows, places, strict=True)]  # fmt: skip
            # As far below the others as makes no difference; where it was not found, all alike.
            teacher = torch.tensor(own).float()[..., None] * 30.0 - 30.0
        return teacher, keep


@dataclasses.dataclass
class Facts:
    """What is asked, and the models before the loop."""

    o: argparse.Namespace
    world: World
    whole: Domain
    asked: list[Question]
    tested: list[Question]
    device: Device
    began: float

    def say(self, what, values):
        """Print what was measured."""
        told = ", ".join(f"{k} {v:.1f}" for k, v in values.items() if k in (*FIGURES, "f1"))
        print(f"{what}: {told}; {time.monotonic() - self.began:.0f} s", flush=True)


def learn_to_read(f, tokenizer):
    """The T5 after it has learned to read."""
    o, reader = f.o, read_t5(f.o.work / "t5")
    plain = FidSettings(epochs=1, learning_rate=1e-3, dropout=0.0, tokens=48, answer_tokens=4, save_every=1000)
    for n, stage in enumerate(o.reading.split(",")):
        k, batch, steps = map(int, stage.split("x"))
        s = dataclasses.replace(plain, batch=batch, passages_per_question=k, chunk=batch * k, seed=13 + n, warm_up=0.1)
        near = hard_negatives(f.whole, f.tested, k - 1, True) if k > 1 else [[] for _ in f.tested]
        asked = [Question(str(i), "", (), ()) for i in range(batch * steps)]
        job = FidJob("reader", (f.whole,), o.work / "t5", o.work / "x", o.work / "x", settings=s, quiet=True)
        folder = RunFolder(o.work / f"r-reader-{n}", {})
        FidLoop(reader, Fresh(asked, f.whole, [], tokenizer, s, f.world), job, folder).fit()
        kept = measure(reader, Reading(f.tested, f.whole, near, tokenizer, s), f.device, True)
        f.say(f"reader, {steps} steps of {batch} questions, each of {k} passages", kept)
    return reader


def learn_by_cloze(f):
    """The retriever after the inverse cloze task, and the tokens of its questions and passages."""
    o = f.o
    s = EndToEndSettings(
        way="feedback", batch=32, learning_rate=1e-3, warm_up_epochs=o.cloze, question_tokens=32, passage_tokens=48,
        hold_out=0.0, chunk=64, both_sides=True,
    )  # fmt: skip
    own = ExpertSettings(towers="two", temperature=0.05, hold_out=0.0)
    prepared = prepare(Job("facts", (f.whole,), o.work / "base", o.work / "x", o.work / "r-ict", settings=own))
    model = prepared.checkpoint.model()  # one encoder for both sides while it is warmed up
    warm_up_retriever(
        model, "ict", clozes(prepared, s, "ict"), prepared, s, f.device, RunFolder(o.work / "r-warm", {}), lambda: False,
        True,
    )  # fmt: skip
    return model.untied(), prepared.checkpoint.tokens


def exact(f, reader, reading, hits):
    """Exact match of greedy answers from the passages at ``hits`` [Q,K], in percent."""
    right, words = 0, reading.words
    with torch.inference_mode():
        for question, row in zip(reading.questions, hits, strict=True):
            read = states(reader, [reading.input(question, int(p)) for p in row], f.device)
            right += exact_match(words.decode(reader.answer(read, 1, 4)), question.answers)
    return 100 * right / len(hits)


def run_ways(f, start, tokenizer, tokens):
    """What each way reaches, by step."""
    o, device = f.o, f.device
    s = EndToEndSettings(
        way="feedback", hits=o.hits, epochs=o.epochs, batch=16, learning_rate=1e-3, reader_rate=3e-4, temperature=0.05,
        question_tokens=32, passage_tokens=48, tokens=48, answer_tokens=4, hold_out=0.0, chunk=16 * o.hits,
    )  # fmt: skip
    fid = FidSettings(tokens=48, answer_tokens=4)
    texts = Texts(tokens.questions([q.text for q in f.asked], 32), [], tokens)
    rows = tokens.questions([q.text for q in f.tested], 32)
    vectors = encode_all(start.retriever.passage, tokens.passages(f.whole.passages, "text", 48), tokens, device)
    training, measuring = (Reading(q, f.whole, [], tokenizer, fid) for q in (f.asked, f.tested))
    places, per_epoch = [[f.whole.index[p] for p in q.positives] for q in f.tested], -(-len(f.asked) // s.batch)
    runs = {}
    for way in o.ways.split(","):
        pair = copy.deepcopy(start)

        def score(vectors, pair=pair, way=way):
            q = encode_all(pair.retriever.question, rows, tokens, device)
            seen = {"em": exact(f, pair.reader, measuring, search(q, vectors, s.hits)[0])}
            seen |= accuracy(first_ranks(q, vectors, places), (1, 5, 20))
            f.say(way, seen)
            return {"score": seen["em"], **seen}

        def of_few(pair):
            hits = search(encode_all(pair.retriever.question, rows, tokens, device), vectors, 2)[0]
            return {f"em of {k}": exact(f, pair.reader, measuring, hits[:, :k]) for k in (1, 2)}

        rate = 1e-12 if way == "frozen" else s.learning_rate
        own = dataclasses.replace(s, learning_rate=rate, objective=way if way in ("kl", "alt-1") else "emdr2")
        folder = RunFolder(o.work / f"r-{way}", {})
        evidence = Evidence(lambda *_: vectors, pair.retriever.passage, 0, 100, folder)
        loop = Way(pair, texts, training, evidence, own, 0.05, device, folder, score, quiet=True)
        loop.way = way
        loop.fit()
        runs[way] = [{"step": per_epoch * row["epoch"], **row} for row in loop.state.history]
        runs[way][0] |= of_few(start)
        runs[way][-1] |= of_few(pair)
        (o.work / "curves.json").write_text(json.dumps(runs, indent=1))
    return runs


def table(runs):
    """Exact match and top-k before and after, a row for each way."""
    out = ["| way | exact match | of the first two | of the first | top-1 | top-5 | top-20 |"]
    out.append("| --- |" + " ---: |" * len(FIGURES))
    first = next(iter(runs.values()))[0]
    rows = [("before the loop", first), *((WAYS[way], curve[-1]) for way, curve in runs.items())]
    out += [f"| {name} | " + " | ".join(f"{row[figure]:.1f}" for figure in FIGURES) + " |" for name, row in rows]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a new folder for models and runs")
    parser.add_argument("--out", type=Path, help="the picture")
    parser.add_argument("--people", type=int, default=1000, help="of the corpus, with four facts each")
    parser.add_argument("--asked", type=int, default=200, help="people of whom the loop is asked")
    parser.add_argument("--tested", type=int, default=40, help="people of whom is asked to measure")
    parser.add_argument("--names", type=int, default=40, help="first names, and as many last ones")
    parser.add_argument("--values", type=int, default=32, help="first words of a kind's values, and as many last ones")
    parser.add_argument("--holders", type=int, default=1, help="people who share a value, so that their passages hold it")
    parser.add_argument("--width", type=int, default=128, help="of the T5")
    parser.add_argument("--layers", type=int, default=3, help="of its encoder; the decoder has two")
    parser.add_argument("--reading", default="1x48x400,4x24x600", help="passages x questions x steps")
    parser.add_argument("--cloze", type=int, default=5, help="passes of the inverse cloze task")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--hits", type=int, default=4)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--threads", type=int, default=1)
    o = parser.parse_args()
    torch.set_num_threads(o.threads)
    world = World(o.people, o.names, o.values, 7)
    whole, kinds = world.corpus(o.holders), len(KINDS)
    asked, tested = whole.questions[: o.asked * kinds], whole.questions[-o.tested * kinds :]
    f = Facts(o, world, whole, asked, tested, Device(), time.monotonic())
    words = sorted({*world.words(), "question", "title", "context", ":"})
    if not (o.work / "t5").exists():  # the same command goes on where it was stopped
        make_base(o.work / "base", words, 96, 2, 1)
        make_t5(o.work / "t5", words, o.width, o.layers, 2)
    numbers = sum(p.numel() for p in read_t5(o.work / "t5").parameters())
    print(f"{len(whole.passages):,} passages, {len(words):,} words, a T5 of {numbers / 1e6:.2f} million numbers")
    tokenizer = Tokenizer.from_file(str(o.work / "t5" / "tokenizer.json"))
    retriever, tokens = learn_by_cloze(f)
    start = Pair(retriever, learn_to_read(f, tokenizer))
    runs = run_ways(f, start, tokenizer, tokens)
    print(table(runs))
    if o.out:
        told = (
            f"{len(tested):,} questions of people not asked about in training; {len(whole.passages):,} passages, "
            f"K = {o.hits}"
        )
        o.out.write_text(picture(runs, told))


main()

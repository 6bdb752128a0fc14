"""Making a generator: a T5 that reads several passages and writes the answer (Fusion-in-Decoder).

The loss is that of EMDR²'s reader (Sachan et al. 2021, section 2.2): the cross entropy of the tokens of one of the
answers, drawn anew each time, given the question and its passages.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn.utils import clip_grad_norm_

from conclave_train.bundle.card import Card
from conclave_train.data.records import Domain, Question
from conclave_train.errors import TrainingError
from conclave_train.fit.encode import Device
from conclave_train.fit.fused import Asked, learn, states
from conclave_train.fit.schedule import optimiser, rate
from conclave_train.fit.state import RunFolder
from conclave_train.fit.steps import Steps
from conclave_train.job import Task, divide, versions
from conclave_train.model.t5 import T5, read_t5
from conclave_train.model.tensors import write_tensors
from conclave_train.progress import Progress, say
from conclave_train.reading.groups import hard_negatives
from conclave_train.reading.squad import exact_match, f1
from conclave_train.settings import FidSettings

FILES = ("config.json", "model.safetensors", "tokenizer.json")


@dataclass(frozen=True)
class FidJob(Task):
    """One generator to be made."""

    settings: FidSettings = field(default_factory=FidSettings)


@dataclass(frozen=True)
class Reading:
    """Questions with the passages that each may meet, as tokens of ``words``."""

    questions: list[Question]
    domain: Domain
    negatives: list[list[int]]
    words: Tokenizer
    s: FidSettings

    def encode(self, text: str, most: int) -> list[int]:
        """The tokens of ``text`` and the one that ends it, at most so many."""
        ids: list[int] = self.words.encode(text).ids
        return ids if len(ids) <= most else [*ids[: most - 1], ids[-1]]

    def passages(self, i: int, step: int) -> list[list[int]]:
        """Question i's inputs: one passage that answers, and others, in an order that says nothing."""
        random = np.random.default_rng([self.s.seed, 3, step, i])
        q = self.questions[i]
        own = self.domain.index[q.positives[int(random.integers(len(q.positives)))]]
        others = [int(p) for p in random.permutation(self.negatives[i])[: self.s.passages_per_question - 1]]
        return [self.input(q, int(p)) for p in random.permutation([own, *others])]

    def input(self, question: Question, place: int) -> list[int]:
        """A passage beside the question, in the words of Fusion-in-Decoder's code and of the server."""
        p = self.domain.passages[place]
        text = f"question: {question.text} title: {p.title} context: {p.text}"
        return self.encode(text, self.s.tokens)

    def answer(self, i: int, step: int) -> list[int]:
        """One of the answers."""
        answers = self.questions[i].answers
        drawn = int(np.random.default_rng([self.s.seed, 4, step, i]).integers(len(answers)))
        return self.encode(answers[drawn], self.s.answer_tokens)


class FidLoop(Steps[T5, FidSettings]):
    """Trains a generator in place."""

    def __init__(self, model: T5, reading: Reading, job: FidJob, folder: RunFolder) -> None:
        self.s, self.reading, self.device, self.count = job.settings, reading, job.device, len(reading.questions)
        model.to(job.device.name)
        adam = optimiser(model.named_parameters(), self.s.learning_rate, 0.0)
        super().__init__(model, adam, folder, job.stop, job.quiet)

    def step(self, rows: list[int], step: int, total: int) -> str:
        """One update of the weights; the loss of a token before it, in words."""
        share = rate(step, total, math.floor(self.s.warm_up * total))
        self.rates([self.s.learning_rate] * len(self.optimiser.param_groups), share)
        self.model.train()
        asked = [Asked(self.reading.passages(i, step), self.reading.answer(i, step)) for i in rows]
        count = sum(len(a.answer) for a in asked)
        said = learn(self.model, asked, self.device, self.s.chunk, (self.s.seed, step), 1 / count)
        value = sum(one.loss for one in said) / count
        norm = clip_grad_norm_(self.model.parameters(), self.s.max_norm)
        if not math.isfinite(float(norm)) or not math.isfinite(value):
            raise TrainingError(f"the loss or its gradient is not finite at step {step + 1}: lower --learning-rate")
        self.optimiser.step()
        return f"loss {value:.2f}"


def train_fid(job: FidJob) -> Path:
    """Train, measure on questions kept back, write a checkpoint; its folder."""
    s = job.settings
    s.check()
    whole = job.whole()
    for name in FILES:
        if not (job.base / name).exists():
            raise TrainingError(f"--base: {job.base} has no {name}: give the folder of a T5 with {', '.join(FILES)}")
    words = Tokenizer.from_file(str(job.base / "tokenizer.json"))
    model = read_t5(job.base, s.dropout)
    train, held, _ = divide(job.domains, s.hold_out, s.hold_out_most, s.limit)
    train, held = ([q for q in part if q.answers] for part in (train, held))
    if not train:
        raise TrainingError("no question has an answer: a generator learns from question and answers")
    with (job.base / "model.safetensors").open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    identity = {"kind": "fid", "name": job.name, "base": sha256, "data": whole.fingerprint(), "bf16": job.device.bf16}
    folder = RunFolder(job.run, identity | dataclasses.asdict(s), job.fresh)
    found = folder.read_json("negatives.json")
    if found is None:
        found = hard_negatives(whole, [*train, *held], s.depth, job.quiet)
        folder.write_json("negatives.json", found)
    if not job.quiet:
        say(f"{job.name}: {len(train):,} training questions, {len(held):,} kept back, {len(whole.passages):,} passages")
    FidLoop(model, Reading(train, whole, found[: len(train)], words, s), job, folder).fit()
    kept = Reading(held, whole, found[len(train) :], words, s)
    measured = {"after training": measure(model, kept, job.device, job.quiet)} if held else {}
    card = Card(
        name=job.name,
        kind=f"A generator for conclave, fine-tuned from {job.base.name} on {', '.join(d.name for d in job.domains)}: "
        "it writes an answer from several passages (Fusion-in-Decoder).",
        licence=job.licence,
        sources=[source for domain in job.domains for source in domain.sources],
        facts={"base": f"{job.base.name} ({model.c.describe()})", "SHA-256 of the base's weights": sha256},
        counts={"training questions": f"{len(train):,}", "questions kept back": f"{len(held):,}"},
        accuracy=dict(measured),
        accuracy_over="Questions kept back, each with a passage that answers it among "
        f"{s.passages_per_question}; greedy answers.",
        settings=dataclasses.asdict(s) | {"bf16": job.device.bf16},
        versions=versions(),
    )
    return write_generator(job, model, card)


def measure(model: T5, reading: Reading, device: Device, quiet: bool) -> dict[str, float]:
    """Exact match and F1 of greedy answers, in percent."""
    model.eval()
    em, shared, end = 0.0, 0.0, reading.encode("", 1)[-1]
    with Progress("measuring", len(reading.questions), "questions", quiet=quiet) as bar, torch.inference_mode():
        for i, q in enumerate(reading.questions):
            with device.autocast():
                found = states(model, reading.passages(i, 0), device)
                said = reading.words.decode(model.answer(found, end, reading.s.answer_tokens))
            em, shared = em + exact_match(said, q.answers), shared + f1(said, q.answers)
            bar.tick(1)
    return {"em": 100 * em / len(reading.questions), "f1": 100 * shared / len(reading.questions)}


def write_generator(job: FidJob, model: T5, card: Card) -> Path:
    """The checkpoint's folder, which ``conclave models import`` takes; it is told where texts were cut in training."""
    job.out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(job.base / "tokenizer.json", job.out / "tokenizer.json")
    config = json.loads((job.base / "config.json").read_text("utf-8")) | {"passage_tokens": job.settings.tokens}
    (job.out / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")
    write_tensors(job.out / "model.safetensors", model.state_dict(), {"format": "pt"})
    (job.out / "CARD.md").write_text(card.text(), "utf-8")
    return job.wrote(job.out)

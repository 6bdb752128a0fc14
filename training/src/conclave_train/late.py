"""Making a late expert: a frozen base, a small head on its tokens' states, and the bundle (ColBERT, section 3).

The base is not changed, so every passage is encoded once and the head is
trained on what was kept; that takes seconds to minutes.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from conclave_train.bundle.card import Card
from conclave_train.bundle.manifest import Folder, Manifest
from conclave_train.data.records import Domain, Question
from conclave_train.data.split import choose_pool
from conclave_train.errors import TrainingError
from conclave_train.fit.state import RunFolder
from conclave_train.interaction.fit import Examples, LateLoop, Scorer
from conclave_train.interaction.head import LateHead, check_dimension, read_head
from conclave_train.interaction.measure import ranks_in, re_ranked
from conclave_train.interaction.pool import Found, find, without_answers
from conclave_train.interaction.states import States, encode_states, principal
from conclave_train.job import Task, divide, read_shared
from conclave_train.model.checkpoint import Checkpoint
from conclave_train.model.delta import Delta
from conclave_train.model.tower import TEMPLATES
from conclave_train.progress import Progress, say
from conclave_train.retrieval.accuracy import accuracy, first_ranks
from conclave_train.retrieval.bm25 import BM25
from conclave_train.retrieval.negatives import Filter
from conclave_train.settings import LateSettings

METRICS = ("top-1", "top-5", "top-20", "top-100", "mrr@10")
ROWS = ("base", "BM25", "before training", "as shipped (fp16)")
CANDIDATES = 100  # first hits of the base and of BM25 that are put into order for the card


@dataclass(frozen=True)
class LateJob(Task):
    """One late expert to be made."""

    settings: LateSettings = field(default_factory=LateSettings)
    template: str = "title-dot-text"
    languages: tuple[str, ...] = ()  # that the base reads, by their codes; "many"


@dataclass(frozen=True)
class _Data:
    """The data, split: ``held`` is never trained on and chooses nothing."""

    checkpoint: Checkpoint
    whole: Domain
    pool: Domain
    train: list[Question]
    held: list[Question]
    max_tokens: tuple[int, int]


@dataclass(frozen=True)
class _Encoded:
    """States of questions and of the pool's passages; the training questions' negatives, the others' candidates."""

    train: States
    held: States | None
    passages: States
    negatives: Found
    candidates: Found | None


def train_late(job: LateJob) -> Path:
    """Encode, train the head, measure it, write the bundle; its folder."""
    data = _prepare(job)
    folder = RunFolder(
        job.run, job.identity(data.checkpoint, data.whole, job.settings, kind="late", template=job.template), job.fresh
    )
    if not job.quiet:
        say(
            f"{job.name}: {len(data.train):,} training questions, {len(data.held):,} kept back, "
            f"{len(data.pool.passages):,} passages of {len(data.whole.passages):,}"
        )
    encoded = _encode(job, data, folder)
    head = LateHead(data.checkpoint.config.hidden_size, job.settings.dimension)
    with torch.no_grad():
        head.projection.weight.copy_(principal(encoded.passages, job.settings.dimension))
    measured: dict[str, dict[str, float]] | None = folder.read_json("before.json")
    if measured is None:
        measured = _before(job, data, encoded, head)
        folder.write_json("before.json", measured)
    examples = Examples(encoded.train, encoded.passages, _places(data, data.train), encoded.negatives)
    loop = LateLoop(Scorer(head), examples, job.settings, job.device.name, folder, job.stop, job.quiet)
    loop.fit()
    delta = Delta(data.checkpoint.sha256, head.tensors())
    if encoded.held is not None:
        shipped = read_head(delta.new, data.checkpoint.config.hidden_size).to(job.device.name)
        measured["as shipped (fp16)"] = _measure(job, data, encoded, shipped, "measuring the head")
        before, after = (measured[row]["top-1"] + measured[row]["top-20"] for row in ("base", "as shipped (fp16)"))
        if after <= before:
            raise TrainingError(
                f"the head puts passages in no better order than the base for the {len(data.held)} questions kept "
                "back: there is no expert to publish (try more data, more --epochs, or --hold-out 0)"
            )
    card = _card(job, data, measured)
    card.facts["scores are multiplied by, in training"] = f"{float(loop.model.log_scale.detach().exp()):.1f}"
    return _publish(job, data, delta, card)


def _prepare(job: LateJob) -> _Data:
    """Read the base, hold questions back, choose questions and pool; what can fail early does."""
    s = job.settings
    s.check()
    check_dimension(s.dimension, "--dimension")
    if job.template not in TEMPLATES:
        raise TrainingError(f"--template: {job.template!r} is not one of {', '.join(TEMPLATES)}")
    whole = job.whole()
    checkpoint = read_shared(job.base, "late expert")
    if s.dimension > checkpoint.config.hidden_size:
        raise TrainingError(f"--dimension: {s.dimension} is more than the base's {checkpoint.config.hidden_size}")
    if s.depth * 3 < s.negatives_per_question:
        raise TrainingError(f"--negatives-per-question: {s.negatives_per_question} need a larger --depth")
    most = checkpoint.config.max_position_embeddings
    train, held, _ = divide(job.domains, s.hold_out, s.hold_out_most, s.limit)
    pool = choose_pool(whole, [*train, *held], s.pool)
    return _Data(
        checkpoint, whole, pool, train, held, (min(most, s.max_question_tokens), min(most, s.max_passage_tokens))
    )


def _places(data: _Data, questions: list[Question]) -> list[list[int]]:
    return [[data.pool.index[id] for id in q.positives] for q in questions]


def _encode(job: LateJob, data: _Data, folder: RunFolder) -> _Encoded:
    """The states, and what base and BM25 find."""
    s, tokens = job.settings, data.checkpoint.tokens
    tower = data.checkpoint.model().question.eval().to(job.device.name)

    def questions(chosen: list[Question], name: str) -> States:
        rows = tokens.questions([q.text for q in chosen], data.max_tokens[0])
        return encode_states(tower, rows, tokens, job.device, folder, name, job.stop, job.quiet)

    train = questions(data.train, "questions")
    held = questions(data.held, "questions-kept-back") if data.held else None
    rows = tokens.passages(data.pool.passages, job.template, data.max_tokens[1])
    passages = encode_states(tower, rows, tokens, job.device, folder, "passages", job.stop, job.quiet)
    found: dict[str, Any] | None = folder.read_json("negatives.json")
    if found is None:
        with Progress("searching", len(data.train) + len(data.held), "questions", quiet=job.quiet) as bar:
            index = BM25(data.pool.passages)
            first = find(index, data.train, (train.pooled, passages.pooled), 3 * s.depth + 20, bar.tick)
            candidates = None
            if held is not None:
                candidates = find(index, data.held, (held.pooled, passages.pooled), CANDIDATES, bar.tick)
        negatives = without_answers(data.pool, data.train, first, Filter(data.pool, s.answer_filter), s.depth)
        found = {"train": vars(negatives), "held": vars(candidates) if candidates else None}
        folder.write_json("negatives.json", found)
    kept = Found(**found["held"]) if found["held"] else None
    return _Encoded(train, held, passages, Found(**found["train"]), kept)


def _before(job: LateJob, data: _Data, encoded: _Encoded, head: LateHead) -> dict[str, dict[str, float]]:
    """What base, BM25 and the untrained head reach on the questions kept back."""
    if encoded.held is None or encoded.candidates is None:
        return {}
    positives = _places(data, data.held)
    return {
        "base": accuracy(first_ranks(encoded.held.pooled, encoded.passages.pooled, positives)),
        "BM25": accuracy(ranks_in(encoded.candidates.bm25, positives)),
        "before training": _measure(job, data, encoded, head.to(job.device.name), "measuring the beginning"),
    }


def _measure(job: LateJob, data: _Data, encoded: _Encoded, head: LateHead, label: str) -> dict[str, float]:
    """Accuracy of the head's order of what base and BM25 find."""
    assert encoded.held is not None and encoded.candidates is not None
    order = re_ranked(head, encoded.held, encoded.passages, encoded.candidates, job.device.name, label, job.quiet)
    ranks: NDArray[np.int64] = ranks_in(order, _places(data, data.held))
    return accuracy(ranks)


def _card(job: LateJob, data: _Data, measured: dict[str, dict[str, float]]) -> Card:
    s = job.settings
    card = job.card(
        "A late expert for conclave: a vector and an importance per token, by a head that was trained on {names} "
        f"over the states of {job.base_name}, which is as it was.",
        data.checkpoint, data.whole, data.train, data.held,
    )  # fmt: skip
    card.accuracy = {row: {m: measured[row][m] for m in METRICS} for row in ROWS if row in measured}
    card.settings = dataclasses.asdict(s) | {"bf16": job.device.bf16}
    if measured:
        card.accuracy_over = (
            f"{len(data.held):,} training questions kept back, searched in {len(data.pool.passages):,} passages of "
            f"{len(data.whole.passages):,}. They chose nothing. The last two rows are the head's order of the first "
            f"{CANDIDATES} of the base and of BM25: it begins as the states' principal directions."
        )
    card.facts |= {
        "vectors": f"{s.dimension} numbers a token, unit length, and an importance",
        "passage template": job.template,
        "longest question and passage": f"{data.max_tokens[0]} and {data.max_tokens[1]} tokens",
    }
    card.counts["passages"] = f"{len(data.pool.passages):,} of {len(data.whole.passages):,}"
    return card


def _publish(job: LateJob, data: _Data, delta: Delta, card: Card) -> Path:
    manifest = Manifest(
        **job.stated(data.checkpoint, card, data.whole),
        kind="late",
        dimension=job.settings.dimension,
        pooling="tokens",
        normalise=True,
        max_tokens=data.max_tokens,
        template=job.template,
        prefix=data.checkpoint.tokens.prefix,
        languages=job.languages,
    )
    with Folder(job.out) as folder:
        job.write_delta(folder, delta)
        return job.wrote(folder.finish(manifest, card.text()))

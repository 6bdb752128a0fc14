"""Warming models up on passages alone, before there are questions (Sachan et al. 2021, unsupervised pre-training)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from conclave_train.data.records import Domain
from conclave_train.errors import TrainingError
from conclave_train.feedback.salient import Cloze, inverse_cloze, masked_spans
from conclave_train.fit.batches import Batches
from conclave_train.fit.encode import Device
from conclave_train.fit.loop import Loop, LoopSettings, Texts
from conclave_train.fit.state import RunFolder
from conclave_train.job import Prepared
from conclave_train.model.tower import BiEncoder
from conclave_train.progress import say
from conclave_train.settings import EndToEndSettings


def clozes(prepared: Prepared, s: EndToEndSettings, what: str) -> list[Cloze]:
    """The questions of a warm-up, ``ict`` or ``mss``; an error where the passages give fewer than two."""
    made = (inverse_cloze if what == "ict" else masked_spans)(prepared.domain.passages, s.seed)
    if len(made) < 2:
        raise TrainingError(
            f"--warm-up {what}: {len(made)} of {len(prepared.domain.passages):,} passages have a sentence for it: "
            "leave it out"
        )
    return made


def clozes_of_all(prepared: Prepared, s: EndToEndSettings) -> dict[str, list[Cloze]]:
    """The questions of every warm-up that the settings name, in their order.

    Made before a run begins, so that one whose passages give none is refused before hours are spent on the others.
    """
    return {what: clozes(prepared, s, what) for what in s.warm_ups()}


def warm_up_retriever(
    model: BiEncoder, what: str, made: Sequence[Cloze], prepared: Prepared, s: EndToEndSettings, device: Device,
    folder: RunFolder, stop: Callable[[], bool], quiet: bool,
) -> None:  # fmt: skip
    """Train ``model`` in place to find the passages that the sentences of ``made`` are from, among those of the batch.

    ``what`` is ``ict``, sentences taken out of their passages, or ``mss``, sentences with a span masked.
    """
    if not quiet:
        say(f"warming up: {what}, {len(made):,} sentences")
    tokens = prepared.checkpoint.tokens
    domain = Domain(prepared.domain.name, [c.passage for c in made], [c.question for c in made])
    texts = Texts(
        tokens.questions([c.question.text for c in made], s.question_tokens),
        tokens.passages(domain.passages, prepared.template, s.passage_tokens),
        tokens,
    )
    batches = Batches(domain, domain.questions, [[] for _ in made], size=s.batch, hard=0, seed=s.seed)
    total = batches.per_epoch * s.warm_up_epochs
    settings = LoopSettings(
        epochs=s.warm_up_epochs, batch=s.batch, learning_rate=s.learning_rate, weight_decay=0.0,
        warm_up=math.floor(s.rate_warm_up * total), max_norm=s.max_norm, temperature=prepared.temperature, seed=s.seed,
        chunk=s.chunk, cache_gradients=False, save_every=s.save_every,
    )  # fmt: skip
    was = [p.requires_grad for p in model.passage.parameters()]
    if not s.both_sides:
        model.passage.requires_grad_(False)
    loop = Loop(model, texts, settings, device, folder.within(f"warm-up-{what}"), stop, quiet)
    loop.fit(batches.per_epoch, lambda _: batches)
    for p, trained in zip(model.passage.parameters(), was, strict=True):
        p.requires_grad_(trained)
    model.zero_grad(set_to_none=True)
    torch.nn.Module.train(model, False)

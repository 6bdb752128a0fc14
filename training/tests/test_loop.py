"""The training loop: clipping, the schedule step by step, and which epoch's weights are left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from conclave_train.fit.batches import Batches
from conclave_train.fit.encode import Device
from conclave_train.fit.loop import Loop, LoopSettings, Texts
from conclave_train.fit.state import RunFolder
from conclave_train.model.checkpoint import Checkpoint
from conftest import tiny_domain


def loop(checkpoint: Checkpoint, folder: Path, max_norm: float, warm_up: int = 0) -> tuple[Loop, Batches]:
    """A loop of 6 steps over the tiny domain, with plain gradient descent in AdamW's place."""
    domain = tiny_domain()
    tokens = checkpoint.tokens
    texts = Texts(
        tokens.questions([q.text for q in domain.questions], 16),
        tokens.passages(domain.passages, "title-dot-text", 24),
        tokens,
    )
    settings = LoopSettings(
        epochs=1, batch=32, learning_rate=0.5, weight_decay=0.0, warm_up=warm_up, max_norm=max_norm,
        temperature=0.05, seed=1, chunk=32, cache_gradients=False, save_every=100,
    )  # fmt: skip
    own = Loop(checkpoint.model(), texts, settings, Device(), RunFolder(folder, {}), quiet=True)
    own.optimiser = torch.optim.SGD(own.parameters, lr=0.5)
    batches = Batches(domain, domain.questions, [[] for _ in domain.questions], size=32, hard=0, seed=1)
    return own, batches


def moved(own: Loop, batches: Batches) -> float:
    """How far one step moves the weights."""
    before = [p.detach().clone() for p in own.parameters]
    own._step(batches.batch(0, 0), 6)
    squares = [float((p.detach() - b).double().square().sum()) for p, b in zip(own.parameters, before, strict=True)]
    return float(np.sqrt(sum(squares)))


def test_gradients_are_clipped_to_the_norm(checkpoint: Checkpoint, tmp_path: Path) -> None:
    """A step of plain descent is the rate times the gradient: times the greatest norm where that is shorter."""
    free = moved(*loop(checkpoint, tmp_path / "free", 1e9)) / 0.5
    assert free > 0.02
    for number, most in enumerate((free / 2, free / 10, 2 * free)):
        step = moved(*loop(checkpoint, tmp_path / str(number), most))
        assert step == pytest.approx(0.5 * min(most, free), rel=1e-3)


def test_the_loop_follows_the_schedule(checkpoint: Checkpoint, tmp_path: Path) -> None:
    """Six steps, two of warm-up: a third, two thirds, the whole rate, and down by quarters."""
    own, batches = loop(checkpoint, tmp_path / "run", 2.0, warm_up=2)
    seen: list[float] = []
    step = own.optimiser.step

    def recorded() -> None:
        seen.append(float(own.optimiser.param_groups[0]["lr"]))
        step()

    own.optimiser.step = recorded  # type: ignore[assignment, method-assign]
    assert batches.per_epoch == 6
    own.fit(6, lambda _: batches)
    assert seen == pytest.approx([0.5 * r for r in (1 / 3, 2 / 3, 1, 3 / 4, 2 / 4, 1 / 4)], abs=1e-12)


def test_the_best_epoch_is_kept_and_not_the_last(checkpoint: Checkpoint, tmp_path: Path) -> None:
    """A score that falls after the first epoch: its weights come back, bit by bit."""
    own, batches = loop(checkpoint, tmp_path / "run", 2.0)
    own.s = replace(own.s, epochs=3)
    scores = iter([10.0, 30.0, 20.0, 25.0])  # before, and after each epoch
    weights: list[list[torch.Tensor]] = []

    def score() -> dict[str, float]:
        weights.append([p.detach().clone() for p in own.parameters])
        return {"score": next(scores)}

    state = own.fit(6, lambda _: batches, score)
    assert (state.best_epoch, state.best_score) == (1, 30)
    assert [h["score"] for h in state.history] == [10, 30, 20, 25]
    kept = [p.detach() for p in own.parameters]
    assert all(torch.equal(a, b) for a, b in zip(kept, weights[1], strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(kept, weights[3], strict=True))

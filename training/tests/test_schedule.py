"""The learning rate by step, and which weights decay."""

from __future__ import annotations

import pytest

from conclave_train.fit.schedule import optimiser, rate
from conclave_train.model.checkpoint import Checkpoint


def test_the_rate_by_hand() -> None:
    """Ten steps, four of them warm-up: fifths of the full rate, all of it, then down by sixths."""
    expected = [1 / 5, 2 / 5, 3 / 5, 4 / 5, 6 / 6, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6]
    assert [rate(step, 10, 4) for step in range(10)] == pytest.approx(expected, abs=1e-12)
    assert rate(10, 10, 4) == 1e-7  # DPR's floor
    assert rate(0, 10, 0) == 1
    assert rate(0, 1, 1) == 0.5


def test_biases_and_norms_do_not_decay(checkpoint: Checkpoint) -> None:
    """A tied model's parameters stand once; decay is for matrices."""
    model = checkpoint.model()
    decay, plain = optimiser(model.named_parameters(), 0.1, 0.01).param_groups
    assert (decay["weight_decay"], plain["weight_decay"]) == (0.01, 0.0)
    assert all(p.dim() == 2 for p in decay["params"])
    assert all(p.dim() == 1 for p in plain["params"])
    assert len(decay["params"]) + len(plain["params"]) == len(list(model.question.parameters()))

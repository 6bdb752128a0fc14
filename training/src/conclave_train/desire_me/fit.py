"""Training a head on vectors that are there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from conclave_train.data.records import Domain, Question
from conclave_train.desire_me.head import Head
from conclave_train.desire_me.settings import DesireMeSettings
from conclave_train.errors import Interrupted, TrainingError
from conclave_train.fit.batches import Batches
from conclave_train.fit.loss import in_batch_nll
from conclave_train.fit.schedule import rate
from conclave_train.progress import Progress
from conclave_train.retrieval.negatives import Negatives


@dataclass(frozen=True)
class Labels:
    """The domains' names, and for each passage [N,M] which of them it is of."""

    names: tuple[str, ...]
    of: NDArray[np.float32]

    def union(self, places: Sequence[int]) -> NDArray[np.float32]:
        """What a question is of whose answers, and the passages nearest to it, are these."""
        out: NDArray[np.float32] = self.of[list(places)].max(axis=0)
        return out


@dataclass(frozen=True)
class Examples:
    """What is learned from: vectors of the questions [Q,D] and of all passages [N,D], negatives."""

    domain: Domain
    chosen: Sequence[Question]
    questions: Tensor
    passages: Tensor
    negatives: Negatives


def loss(
    head: Head, questions: Tensor, passages: Tensor, targets: Tensor, ignore: Tensor, temperature: float
) -> Tensor:
    """The in-batch cross entropy of the changed questions; the gate has its own (``gate.fit_gate``).

    ``questions`` [B,D], ``passages`` [P,D], ``targets`` int64 [B], ``ignore`` bool [B,P].
    """
    return in_batch_nll(head(questions)[0], passages, targets, ignore, temperature).value


def fit(
    head: Head,
    examples: Examples,
    settings: DesireMeSettings,
    temperature: float,
    done: Callable[[int, Head], None] = lambda epoch, head: None,
    stop: Callable[[], bool] = lambda: False,
    quiet: bool = False,
    label: str = "training",
) -> None:
    """Train the specialisers of ``head`` in place, behind its gate as it is; ``done`` hears of each epoch, from 1."""
    s, e = settings, examples
    batches = Batches(e.domain, e.chosen, e.negatives, size=s.batch, hard=s.hard, seed=s.seed)
    adam = torch.optim.AdamW(head.specialisers(), lr=s.learning_rate, weight_decay=s.weight_decay, eps=1e-8)
    total = batches.per_epoch * s.epochs
    torch.manual_seed(s.seed)  # of the mode random
    with Progress(label, total, "steps", quiet=quiet, saves=True) as bar:
        for epoch in range(s.epochs):
            order = batches.epoch(epoch)
            for number in range(len(order)):
                if stop():
                    raise Interrupted(f"stopped in epoch {epoch + 1}; the same command begins this fit again")
                for group in adam.param_groups:
                    group["lr"] = s.learning_rate * rate(epoch * len(order) + number, total, min(100, total // 10))
                b = batches.batch(epoch, number, order)
                rows, columns, targets = (torch.from_numpy(x) for x in (b.questions, b.passages, b.targets))
                value = loss(
                    head, e.questions[rows], e.passages[columns], targets, torch.from_numpy(b.ignore), temperature
                )
                adam.zero_grad(set_to_none=True)
                value.backward()  # type: ignore[no-untyped-call]
                adam.step()
                bar.tick(1, f"loss {float(value.detach()):.4f}")
                if not math.isfinite(float(value.detach())):
                    raise TrainingError("the loss is not finite: lower --learning-rate")
            done(epoch + 1, head)

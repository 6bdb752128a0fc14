"""Training a late head on states that are there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from conclave_train.errors import TrainingError
from conclave_train.fit.schedule import rate
from conclave_train.fit.state import RunFolder
from conclave_train.fit.steps import Steps
from conclave_train.interaction.head import LateHead, max_sim, shares
from conclave_train.interaction.pool import Found, draw
from conclave_train.interaction.states import States, spread
from conclave_train.settings import LateSettings

BEGIN = 3.0  # the logarithm of what scores are multiplied by, at first


class Scorer(nn.Module):
    """The head, and the scale of its scores, which is trained with it and not kept."""

    def __init__(self, head: LateHead) -> None:
        super().__init__()
        self.head = head
        self.log_scale = nn.Parameter(torch.tensor(BEGIN))


@dataclass(frozen=True)
class Examples:
    """What is learned from: states of questions and passages, each question's positives and negatives by place."""

    questions: States
    passages: States
    positives: Sequence[Sequence[int]]
    negatives: Found


def scores(
    head: LateHead, questions: States, passages: States, rows: Sequence[int], columns: NDArray[np.int64], device: str
) -> Tensor:
    """Scores [B,C] of the questions ``rows`` with each one's own passages ``columns`` [B,C]; -inf where it is -1."""
    asked, keep = questions.gather(rows, device)
    vectors, importance = head(asked)
    weights = shares(spread(importance, keep), keep)
    # A passage that stands in several columns is projected once.
    different, back = np.unique(np.where(columns < 0, columns.max(), columns), return_inverse=True)
    states, kept = passages.gather([int(p) for p in different], device)
    at = torch.from_numpy(back.reshape(columns.shape)).to(device)
    found = max_sim(spread(vectors, keep), weights, spread(head.vectors(states), kept)[at], kept[at])
    return found.masked_fill(torch.from_numpy(columns < 0).to(device), -torch.inf)


def contrast(found: Tensor, log_scale: Tensor) -> Tensor:
    """Cross entropy of the first column, the positive, among all columns of ``found`` [B,C] times exp(``log_scale``).

    (Khattab & Zaharia 2020, section 3.3, with more negatives than one and a learned scale)
    """
    # Columns that are not there come back after the product: -inf times the scale
    # would give the scale a gradient that is not a number.
    absent = torch.isinf(found)
    scaled = (found.masked_fill(absent, 0.0) * log_scale.exp()).masked_fill(absent, -torch.inf)
    return F.cross_entropy(scaled, torch.zeros(len(found), dtype=torch.int64, device=found.device))


class LateLoop(Steps[Scorer, LateSettings]):
    """Trains a scorer in place."""

    def __init__(
        self,
        model: Scorer,
        examples: Examples,
        settings: LateSettings,
        device: str,
        folder: RunFolder,
        stop: Callable[[], bool] = lambda: False,
        quiet: bool = False,
    ) -> None:
        self.examples, self.s, self.device, self.count = examples, settings, device, len(examples.positives)
        model = model.to(device)
        groups = [
            {"params": list(model.head.projection.parameters())},
            {"params": [*model.head.importance.parameters(), model.log_scale]},
        ]
        adam = torch.optim.AdamW(groups, lr=settings.learning_rate, weight_decay=0.0, eps=1e-8)
        super().__init__(model, adam, folder, stop, quiet)

    def columns(self, rows: Sequence[int], step: int) -> NDArray[np.int64]:
        """Places of passages [B, 1 + negatives]: a positive first, then negatives; -1 where there are too few."""
        random = np.random.default_rng([self.s.seed, 2, step])
        out = np.full((len(rows), 1 + self.s.negatives_per_question), -1, np.int64)
        for row, i in enumerate(rows):
            options = self.examples.positives[i]
            out[row, 0] = options[int(random.integers(len(options)))]
            drawn = draw(self.examples.negatives, i, self.s.negatives_per_question, self.s.bm25_share, random)
            out[row, 1 : 1 + len(drawn)] = drawn
        return out

    def step(self, rows: list[int], step: int, total: int) -> str:
        """One update of the weights; the loss before it."""
        full = (self.s.learning_rate, self.s.importance_rate)
        self.rates(full, rate(step, total, min(self.s.warm_up, total // 5)))
        columns = self.columns(rows, step)
        e = self.examples
        loss = contrast(
            scores(self.model.head, e.questions, e.passages, rows, columns, self.device), self.model.log_scale
        )
        loss.backward()  # type: ignore[no-untyped-call]
        value = float(loss.detach())
        if not math.isfinite(value):
            raise TrainingError(f"the loss is not finite at step {step + 1}: lower --learning-rate")
        self.optimiser.step()
        return f"loss {value:.4f}"

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

from conclave_train.errors import Interrupted, TrainingError
from conclave_train.fit.schedule import rate
from conclave_train.fit.state import Progressed, RunFolder, restore, snapshot
from conclave_train.interaction.head import LateHead, max_sim, shares
from conclave_train.interaction.pool import Found, draw
from conclave_train.interaction.states import States, spread
from conclave_train.progress import Progress, say
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


class LateLoop:
    """Trains a scorer in place and keeps its state in ``folder``, from which it goes on if there is one."""

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
        self.model, self.examples, self.s = model.to(device), examples, settings
        self.device, self.folder, self.stop, self.quiet = device, folder, stop, quiet
        projection = list(model.head.projection.parameters())
        rest = [*model.head.importance.parameters(), model.log_scale]
        self.rates = (settings.learning_rate, settings.importance_rate)
        groups = [{"params": projection}, {"params": rest}]
        self.optimiser = torch.optim.AdamW(groups, lr=self.rates[0], weight_decay=0.0, eps=1e-8)
        self.state = folder.load() or Progressed(0, {}, {})
        if self.state.weights:
            restore(self.model, self.state.weights)
            self.optimiser.load_state_dict(self.state.optimiser)
            if not quiet:
                say(f"going on after step {self.state.step}")

    def fit(self) -> None:
        """Train to the end."""
        count = len(self.examples.positives)
        per_epoch = -(-count // self.s.batch)
        total = per_epoch * self.s.epochs
        done = sum(len(self._rows(step, per_epoch)) for step in range(self.state.step))
        with Progress("training", count * self.s.epochs, "questions", done, self.quiet) as bar:
            for step in range(self.state.step, total):
                if self.stop():
                    self._save()
                    raise Interrupted(f"stopped after step {step} of {total}; the same command goes on")
                rows = self._rows(step, per_epoch)
                loss = self._step(rows, step, total)
                bar.tick(len(rows), f"loss {loss:.4f}")
                if self.state.step % self.s.save_every == 0 or self.state.step == total:
                    self._save()

    def _rows(self, step: int, per_epoch: int) -> list[int]:
        """The questions of a step: a function of seed and step, so that a resumed run needs no generator's state."""
        epoch, number = divmod(step, per_epoch)
        order = np.random.default_rng([self.s.seed, 1, epoch]).permutation(len(self.examples.positives))
        return [int(i) for i in order[number * self.s.batch : (number + 1) * self.s.batch]]

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

    def _step(self, rows: list[int], step: int, total: int) -> float:
        """One update of the weights; the loss before it."""
        share = rate(step, total, min(self.s.warm_up, total // 5))
        for group, full in zip(self.optimiser.param_groups, self.rates, strict=True):
            group["lr"] = full * share
        self.optimiser.zero_grad(set_to_none=True)
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
        self.state.step = step + 1
        return value

    def _save(self) -> None:
        self.state.weights = snapshot(self.model)
        self.state.optimiser = self.optimiser.state_dict()
        self.folder.save(self.state)

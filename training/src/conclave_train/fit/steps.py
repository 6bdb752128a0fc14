"""Training in steps whose state is kept in the run's folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from conclave_train.errors import Interrupted
from conclave_train.fit.state import Progressed, RunFolder, restore, snapshot
from conclave_train.progress import Progress, say
from conclave_train.settings import EndToEndSettings, FidSettings, LateSettings, ReaderSettings

M = TypeVar("M", bound=nn.Module)
S = TypeVar("S", LateSettings, ReaderSettings, EndToEndSettings, FidSettings)


class Kept(Generic[M]):
    """A model in training, whose state ``folder`` keeps; it goes on from there if there is one."""

    def __init__(
        self, model: M, optimiser: torch.optim.Optimizer, folder: RunFolder, stop: Callable[[], bool], quiet: bool
    ) -> None:
        self.model, self.optimiser, self.folder, self.stop, self.quiet = model, optimiser, folder, stop, quiet
        self.state = folder.load() or Progressed(0, {}, {})
        if self.state.weights:
            restore(model, self.state.weights)
            optimiser.load_state_dict(self.state.optimiser)
        if self.state.step and not quiet:
            say(f"going on after step {self.state.step}")

    def asked_to_stop(self, total: int) -> None:
        """Between two steps: where somebody asked, save and end."""
        if self.stop():
            self.save()
            raise Interrupted(f"stopped after step {self.state.step} of {total}; the same command goes on")

    def measured(self, done: int, seen: dict[str, float]) -> None:
        """Note what the weights reach after ``done`` epochs, and keep them if their "score" is the best."""
        self.state.history.append({"epoch": float(done), **seen})
        if not self.quiet:
            say(f"after epoch {done}: " + ", ".join(f"{name} {value:.4g}" for name, value in seen.items()))
        if seen["score"] > self.state.best_score:
            self.state.best_score, self.state.best_epoch = seen["score"], float(done)
            self.state.best = snapshot(self.model)
        self.save()

    def save(self) -> None:
        """Keep the state as it is."""
        self.state.weights = snapshot(self.model)
        self.state.optimiser = self.optimiser.state_dict()
        self.folder.save(self.state)


class Steps(Kept[M], Generic[M, S]):
    """A loop over ``count`` questions, some at a step; which, is a function of seed and step.

    So a resumed run needs no generator's state.
    """

    count: int
    s: S

    def step(self, rows: list[int], step: int, total: int) -> str:
        """One update of the weights; the loss before it, in words."""
        raise NotImplementedError

    def fit(self) -> None:
        """Train to the end."""
        per_epoch = -(-self.count // self.s.batch)
        total = per_epoch * self.s.epochs
        done = sum(len(self.rows(step, per_epoch)) for step in range(self.state.step))
        with Progress("training", self.count * self.s.epochs, "questions", done, self.quiet, saves=True) as bar:
            for step in range(self.state.step, total):
                self.asked_to_stop(total)
                rows = self.rows(step, per_epoch)
                note = self.step(rows, step, total)
                self.state.step = step + 1
                bar.tick(len(rows), note)
                if self.state.step % self.s.save_every == 0 or self.state.step == total:
                    self.save()
        self.model.eval()

    def rows(self, step: int, per_epoch: int) -> list[int]:
        """The questions of a step."""
        epoch, number = divmod(step, per_epoch)
        order: NDArray[np.int64] = np.random.default_rng([self.s.seed, 1, epoch]).permutation(self.count)
        return [int(i) for i in order[number * self.s.batch : (number + 1) * self.s.batch]]

    def rates(self, full: Iterable[float], share: float) -> None:
        """Give the optimiser's groups a share of their full learning rates, and clear the gradients."""
        for group, rate in zip(self.optimiser.param_groups, full, strict=True):
            group["lr"] = rate * share
        self.optimiser.zero_grad(set_to_none=True)

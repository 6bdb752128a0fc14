"""The training loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from conclave_train.errors import Interrupted, TrainingError
from conclave_train.fit.batches import Batch, Batches
from conclave_train.fit.encode import Device, cached_backward, run
from conclave_train.fit.loss import Loss, in_batch_nll
from conclave_train.fit.schedule import optimiser, rate
from conclave_train.fit.state import Progressed, RunFolder, restore, trained
from conclave_train.fit.steps import Kept
from conclave_train.model.tokens import Ids, Tokens
from conclave_train.model.tower import BiEncoder
from conclave_train.progress import Progress


@dataclass(frozen=True)
class LoopSettings:
    """What the loop needs to know; see ExpertSettings for each one's meaning."""

    epochs: int
    batch: int
    learning_rate: float
    weight_decay: float
    warm_up: int
    max_norm: float
    temperature: float
    seed: int
    chunk: int
    cache_gradients: bool
    save_every: int


@dataclass(frozen=True)
class Texts:
    """Token ids of the training questions and of all passages, by place."""

    questions: Sequence[Ids]
    passages: Sequence[Ids]
    tokens: Tokens


Score = Callable[[], dict[str, float]]  # measures the model as it is; its "score" decides


class Loop(Kept[BiEncoder]):
    """Trains ``model`` in place and keeps its state in ``folder``, from which it goes on if there is one.

    ``stop`` is asked between steps; when it says yes, the state is saved and
    :class:`Interrupted` raised. A kill loses the steps since the last save.
    """

    def __init__(
        self,
        model: BiEncoder,
        texts: Texts,
        settings: LoopSettings,
        device: Device,
        folder: RunFolder,
        stop: Callable[[], bool] = lambda: False,
        quiet: bool = False,
    ) -> None:
        self.texts, self.s, self.device = texts, settings, device
        model = model.to(device.name)
        self.parameters = list(trained(model).values())
        adam = optimiser(model.named_parameters(), settings.learning_rate, settings.weight_decay)
        super().__init__(model, adam, folder, stop, quiet)

    def fit(self, per_epoch: int, batches: Callable[[int], Batches], score: Score | None = None) -> Progressed:
        """Train to the end; the model is left with the best weights that ``score`` saw, or the last.

        ``batches(epoch)`` has ``per_epoch`` batches; it may mine new negatives.
        ``score`` is asked before the first epoch and after each.
        """
        total = per_epoch * self.s.epochs
        if total == 0:
            raise TrainingError("there is not one batch to train on")
        try:
            self._fit(total, per_epoch, batches, score)
        except Interrupted:  # while it measured or mined, between two steps
            self.save()
            raise
        if self.state.best:
            restore(self.model, self.state.best)
        return self.state

    def _fit(self, total: int, per_epoch: int, batches: Callable[[int], Batches], score: Score | None) -> None:
        self._measure(score, per_epoch)
        with Progress(
            "training", total * self.s.batch, "pairs", self.state.step * self.s.batch, self.quiet, saves=True
        ) as bar:
            for epoch in range(self.state.step // per_epoch, self.s.epochs):
                current = batches(epoch)
                if current.per_epoch != per_epoch:
                    raise TrainingError(f"epoch {epoch + 1} has {current.per_epoch} batches, not {per_epoch}")
                order = current.epoch(epoch)
                for number in range(self.state.step - epoch * per_epoch, per_epoch):
                    self.asked_to_stop(total)
                    loss = self._step(current.batch(epoch, number, order), total)
                    bar.tick(self.s.batch, f"loss {float(loss.value):.4f}")
                    if self.state.step % self.s.save_every == 0:
                        self.save()
                self._measure(score, per_epoch)

    def _step(self, batch: Batch, total: int) -> Loss:
        """One update of the weights."""
        self.model.train()
        step = self.state.step
        for group in self.optimiser.param_groups:
            group["lr"] = self.s.learning_rate * rate(step, total, self.s.warm_up)
        self.optimiser.zero_grad(set_to_none=True)
        targets = torch.from_numpy(batch.targets).to(self.device.name)
        ignore = torch.from_numpy(batch.ignore).to(self.device.name)
        questions = [self.texts.questions[i] for i in batch.questions]
        passages = [self.texts.passages[i] for i in batch.passages]
        seen: list[Loss] = []

        def objective(q: Tensor, p: Tensor) -> Tensor:
            seen.append(in_batch_nll(q, p, targets, ignore, self.s.temperature))
            return seen[0].value

        sides = (
            (self.model.question, questions, (self.s.seed, step, 0)),
            (self.model.passage, passages, (self.s.seed, step, 1)),
        )
        if self.s.cache_gradients:
            cached_backward(sides, objective, self.texts.tokens, self.device, self.s.chunk)
        else:
            vectors = [run(t, rows, self.texts.tokens, self.device, self.s.chunk, key)[0] for t, rows, key in sides]
            objective(*vectors).backward()  # type: ignore[no-untyped-call]
        loss = Loss(seen[0].value.detach(), seen[0].correct)
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.s.max_norm)
        if not math.isfinite(float(norm)) or not math.isfinite(float(loss.value)):
            raise TrainingError(f"the loss or its gradient is not finite at step {step + 1}: lower --learning-rate")
        self.optimiser.step()
        self.state.step += 1
        return loss

    def _measure(self, score: Score | None, per_epoch: int) -> None:
        """Score the weights at the end of an epoch, once, and keep them if they are the best."""
        done = self.state.step // per_epoch
        if self.state.step % per_epoch or len(self.state.history) > done:
            return
        seen = {"score": float(done)} if score is None else score()
        self.measured(done, seen)

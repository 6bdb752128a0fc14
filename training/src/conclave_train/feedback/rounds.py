"""Rounds of search, of asking the teacher, and of a pass over the questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from conclave_train.errors import TrainingError
from conclave_train.feedback.loss import OBJECTIVES
from conclave_train.feedback.teacher import Teacher
from conclave_train.fit.encode import Device, cached_backward, encode_all, run
from conclave_train.fit.loop import Texts
from conclave_train.fit.schedule import optimiser, rate
from conclave_train.fit.state import RunFolder, trained
from conclave_train.fit.steps import Steps
from conclave_train.model.tower import BiEncoder, Tower
from conclave_train.progress import Progress
from conclave_train.retrieval.accuracy import search
from conclave_train.settings import EndToEndSettings

Learn = Callable[[int, NDArray[np.int64]], None]  # of the teacher, after a round, from the places found in it
Score = Callable[[Tensor], dict[str, float]]  # of the passages' vectors and the model as it is; "score" among it


@dataclass(frozen=True)
class Round:
    """What a search found: ``places`` [Q,K] of passages, and log p(a|q,z) [Q,K] of each."""

    places: Tensor
    teacher: Tensor


class Rounds(Steps[BiEncoder, EndToEndSettings]):
    """Trains ``model`` in place, whose two encoders are its own each.

    The passages' encoder is frozen, and ``passages`` [N,D] are their vectors, so
    that no search is ever stale; with ``both_sides`` the two take turns: all
    passages are encoded anew before each round's search, and within the round the
    found ones with gradients. (The paper's indexer does it beside the training.)
    """

    def __init__(
        self, model: BiEncoder, texts: Texts, teach: Teacher, passages: Tensor | None, settings: EndToEndSettings,
        temperature: float, device: Device, folder: RunFolder, score: Score | None = None, learn: Learn | None = None,
        stop: Callable[[], bool] = lambda: False, quiet: bool = False,
    ) -> None:  # fmt: skip
        self.texts, self.teach, self.s, self.device, self.temperature = texts, teach, settings, device, temperature
        self.score, self.learn, self.count, self.both = score, learn, len(texts.questions), settings.both_sides
        self.vectors = passages
        self.current: tuple[int, Round] | None = None
        model = model.to(device.name)
        model.passage.requires_grad_(self.both)
        self.parameters = list(trained(model).values())
        adam = optimiser(model.named_parameters(), settings.learning_rate, 0.0)
        super().__init__(model, adam, folder, stop, quiet)

    def fit(self) -> None:
        """Train to the end. The last weights stay: the questions kept back are too few to choose among rounds."""
        super().fit()
        self._measure(self.s.epochs)
        self._learn(self.s.epochs)

    def step(self, rows: list[int], step: int, total: int) -> str:
        """One update of the weights; the loss before it, in words."""
        found = self._round(step // (total // self.s.epochs))
        self.rates([self.s.learning_rate] * 2, rate(step, total, math.floor(self.s.rate_warm_up * total)))
        taught = [i for i in rows if not torch.isinf(found.teacher[i]).all()]
        if not taught:
            return ""
        self.model.train()
        places, teacher = found.places[taught], found.teacher[taught].unsqueeze(-1).to(self.device.name)
        met, at = torch.unique(places, return_inverse=True)
        sides = [(self.model.question, [self.texts.questions[i] for i in taught], (self.s.seed, step, 0))]
        if self.both:
            sides.append((self.model.passage, [self.texts.passages[p] for p in met.tolist()], (self.s.seed, step, 1)))

        def objective(q: Tensor, p: Tensor | None = None) -> Tensor:
            p = self._frozen()[met].to(q.device) if p is None else p
            scores = (q.unsqueeze(1) * p[at.to(q.device)]).sum(-1) / self.temperature
            return OBJECTIVES[self.s.objective](scores, teacher).mean()

        if self.both:
            loss = cached_backward(sides, objective, self.texts.tokens, self.device, self.s.chunk)
        else:
            tower, texts, key = sides[0]
            loss = objective(run(tower, texts, self.texts.tokens, self.device, self.s.chunk, key)[0])
            loss.backward()  # type: ignore[no-untyped-call]
            loss = loss.detach()
        norm = clip_grad_norm_(self.parameters, self.s.max_norm)
        if not math.isfinite(float(norm)) or not math.isfinite(float(loss)):
            raise TrainingError(f"the loss or its gradient is not finite at step {step + 1}: lower --learning-rate")
        self.optimiser.step()
        return f"loss {float(loss):.3f}, {100 * len(taught) / len(rows):.0f} % with an answer found"

    def _round(self, number: int) -> Round:
        """The search that round ``number`` began with."""
        if self.current and self.current[0] == number:
            return self.current[1]
        self._learn(number)
        name = f"round-{number + 1}.pt"
        part = self.folder.load_part(name)
        if part is None:
            self._encode()
            q = self._encoded(self.model.question, self.texts.questions, "encoding questions")
            places: NDArray[np.int64] = search(q, self._frozen(), self.s.hits)[0]
            part = {"places": torch.from_numpy(places), "teacher": self.teach(places)}
            self.folder.save_part(name, part)
            self._measure(number)
        self.current = number, Round(**part)
        if torch.isinf(self.current[1].teacher).all():
            raise TrainingError(
                f"none of the first {self.s.hits} passages found holds an answer, of any of {self.count} "
                "questions: there is nothing to learn from (are the answers words of the passages?)"
            )
        return self.current[1]

    def _learn(self, done: int) -> None:
        """The teacher, where it learns, is as the last of ``done`` rounds made it."""
        if self.learn and done:
            self.learn(done, self.folder.load_part(f"round-{done}.pt")["places"].numpy())

    def _measure(self, done: int) -> None:
        """Score the weights after ``done`` rounds, once."""
        if self.score is None or len(self.state.history) > done:
            return
        if done == self.s.epochs:
            self._encode()
        self.measured(done, self.score(self._frozen()))

    def _encode(self) -> None:
        """The passages as their encoder has them now, where it learns."""
        if self.both:
            self.vectors = self._encoded(self.model.passage, self.texts.passages, "encoding passages")

    def _frozen(self) -> Tensor:
        assert self.vectors is not None
        return self.vectors

    def _encoded(self, tower: Tower, rows: Sequence[NDArray[np.int32]], label: str) -> Tensor:
        with Progress(label, len(rows), "texts", quiet=self.quiet) as bar:
            return encode_all(tower, rows, self.texts.tokens, self.device, tick=bar.tick)

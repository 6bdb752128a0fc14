"""A retriever and a generator that learn together (Sachan et al. 2021, EMDR²).

For each question the retriever finds K passages Z. The reader, a T5 that reads all of them (Fusion-in-Decoder), makes

    -log p(a | q, Z)

small, and the retriever one of the objectives of :mod:`conclave_train.feedback.loss`, by what the same reader says of
each passage alone, log p(a | q, z_k), without a gradient to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import clip_grad_norm_

from conclave_train.errors import TrainingError
from conclave_train.feedback.evidence import Evidence
from conclave_train.feedback.loss import OBJECTIVES
from conclave_train.fid import Reading
from conclave_train.fit.encode import Device, cached_backward, encode_all, run
from conclave_train.fit.fused import Asked, Said, learn
from conclave_train.fit.loop import Texts
from conclave_train.fit.schedule import optimiser, rate
from conclave_train.fit.state import RunFolder, trained
from conclave_train.fit.steps import Steps
from conclave_train.model.t5 import T5
from conclave_train.model.tower import BiEncoder
from conclave_train.retrieval.accuracy import search
from conclave_train.settings import EndToEndSettings

Score = Callable[[Tensor], dict[str, float]]  # of the passages' vectors and the models as they are; "score" among it


class Pair(nn.Module):
    """The two models; the retriever's encoders are its own each."""

    def __init__(self, retriever: BiEncoder, reader: T5) -> None:
        super().__init__()
        self.retriever, self.reader = retriever, reader


def teacher_of(said: Sequence[Tensor], marginal: str) -> tuple[Tensor, Tensor | None]:
    """``(teacher [Q,K,T], keep [Q,T])`` of each question's [K,T_q]: one part for the whole answer, or its tokens."""
    if marginal == "sequence":
        return torch.stack([s.sum(1, keepdim=True) for s in said]), None
    longest = max(s.shape[1] for s in said)
    teacher = torch.stack([functional.pad(s, (0, longest - s.shape[1])) for s in said])
    keep = torch.tensor([[t < s.shape[1] for t in range(longest)] for s in said], device=teacher.device)
    return teacher, keep


class Joint(Steps[Pair, EndToEndSettings]):
    """Trains both models of ``model`` in place.

    ``hidden`` has for each question a passage that it must not find (-1: none): of a masked sentence, its own.
    """

    def __init__(
        self, model: Pair, texts: Texts, reading: Reading, evidence: Evidence, settings: EndToEndSettings,
        temperature: float, device: Device, folder: RunFolder, score: Score | None = None,
        hidden: Sequence[int] | None = None, stop: Callable[[], bool] = lambda: False, quiet: bool = False,
    ) -> None:  # fmt: skip
        self.texts, self.reading, self.evidence, self.s, self.temperature = (
            texts,
            reading,
            evidence,
            settings,
            temperature,
        )
        self.device, self.score, self.hidden, self.count = device, score, hidden, len(texts.questions)
        model = model.to(device.name)
        self.both = settings.both_sides
        model.retriever.passage.requires_grad_(self.both)
        if self.both:
            for table in (t for n, t in model.retriever.passage.named_parameters() if "embeddings.weight" in n):
                table.requires_grad_(False)
        self.parts = [list(trained(m).values()) for m in (model.retriever, model.reader)]
        adams = [
            optimiser(model.retriever.named_parameters(), settings.learning_rate, 0.0),
            optimiser(model.reader.named_parameters(), settings.reader_rate, 0.0),
        ]
        groups = [group for adam in adams for group in adam.param_groups]
        self.full = [settings.learning_rate] * len(adams[0].param_groups)
        self.full += [settings.reader_rate] * len(adams[1].param_groups)
        super().__init__(model, torch.optim.AdamW(groups, eps=1e-8, fused=True), folder, stop, quiet)

    def fit(self) -> None:
        """Train to the end; the last weights stay."""
        self.evidence.begin(self.state.step)
        self._measure(0)
        try:
            super().fit()
        finally:
            self.evidence.close()
        self._measure(self.s.epochs)

    def step(self, rows: list[int], step: int, total: int) -> str:
        """One update of the weights of both; the losses before it, in words."""
        per_epoch = total // self.s.epochs
        if step % per_epoch == 0:
            self._measure(step // per_epoch)
        vectors = self.evidence.at(step)
        self.rates(self.full, rate(step, total, math.floor(self.s.rate_warm_up * total)))
        retriever, reader = self.model.retriever, self.model.reader
        questions = [self.texts.questions[i] for i in rows]
        places = self.find(rows, vectors)
        reader.train()
        asked = [
            Asked([self.reading.input(self.reading.questions[i], int(p)) for p in row], self.reading.answer(i, step))
            for i, row in zip(rows, places, strict=True)
        ]
        count = sum(len(a.answer) for a in asked)
        key = (self.s.seed, step, 2)
        said = learn(reader, asked, self.device, self.s.chunk, key, 1 / count, self.s.objective != "alt-1")
        teacher, keep = self.feedback(rows, places, said)
        retriever.train()
        distinct, at = torch.unique(torch.from_numpy(places), return_inverse=True)
        sides = [(retriever.question, questions, (self.s.seed, step, 0))]
        if self.both:
            sides.append(
                (retriever.passage, [self.texts.passages[p] for p in distinct.tolist()], (self.s.seed, step, 1))
            )

        def objective(q: Tensor, p: Tensor | None = None) -> Tensor:
            p = vectors[distinct].to(q.device) if p is None else p
            scores = (q.unsqueeze(1) * p[at.to(q.device)]).sum(-1) / self.temperature
            return OBJECTIVES[self.s.objective](scores, teacher, keep).mean()

        if self.both:
            loss = cached_backward(sides, objective, self.texts.tokens, self.device, self.s.chunk)
        else:
            tower, texts, seed = sides[0]
            value = objective(run(tower, texts, self.texts.tokens, self.device, self.s.chunk, seed)[0])
            value.backward()  # type: ignore[no-untyped-call]
            loss = value.detach()
        heard = sum(s.loss for s in said) / count
        # Each by itself: the gradients of a reader would else decide how far the retriever goes.
        norms = [float(clip_grad_norm_(part, self.s.max_norm)) for part in self.parts]
        if not all(map(math.isfinite, [*norms, float(loss), heard])):
            raise TrainingError(
                f"a loss or its gradient is not finite at step {step + 1}: lower --learning-rate or --reader-rate"
            )
        self.optimiser.step()
        return f"reader {heard:.2f}, retriever {float(loss):.2f}"

    def feedback(
        self, rows: list[int], places: NDArray[np.int64], said: Sequence[Said]
    ) -> tuple[Tensor, Tensor | None]:
        """What the retriever hears of the passages at ``places`` [Q,K]: ``(teacher [Q,K,T], keep [Q,T])``."""
        if self.s.objective == "alt-1":
            return torch.zeros(*places.shape, 1, device=self.device.name), None
        return teacher_of([s.alone for s in said], self.s.marginal)

    def find(self, rows: list[int], vectors: Tensor) -> NDArray[np.int64]:
        """The places [B,K] of the passages that the question encoder as it is finds in ``vectors``."""
        questions = [self.texts.questions[i] for i in rows]
        q = encode_all(self.model.retriever.question, questions, self.texts.tokens, self.device)
        k = min(self.s.hits, len(vectors) - (self.hidden is not None))
        if self.hidden is None:
            return search(q, vectors, k)[0]
        found = search(q, vectors, k + 1)[0]
        return np.stack([row[row != self.hidden[i]][:k] for i, row in zip(rows, found, strict=True)])

    def _measure(self, done: int) -> None:
        """Score the weights after ``done`` epochs, once."""
        if self.score is None or len(self.state.history) > done:
            return
        self.measured(done, self.score(self.evidence.at(self.state.step) if done < self.s.epochs else self._last()))

    def _last(self) -> Tensor:
        """The passages' vectors by the last weights."""
        return self.evidence.encode(self.model.retriever.passage, True) if self.both else self.evidence.at(0)

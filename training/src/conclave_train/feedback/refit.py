"""The reader learns from what the retriever finds, after each round."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from torch.nn.utils import clip_grad_norm_

from conclave_train.errors import TrainingError
from conclave_train.fit.encode import Device, seed_chunk
from conclave_train.fit.schedule import optimiser, rate
from conclave_train.fit.state import RunFolder
from conclave_train.fit.steps import Steps
from conclave_train.model.tower import freeze_embeddings
from conclave_train.reading.loop import read
from conclave_train.reading.loss import answer_among_nll
from conclave_train.reading.model import Reader
from conclave_train.reading.pairs import Pair, Pairs
from conclave_train.settings import EndToEndSettings

PASSAGES = 8  # of those found; a reader is trained on as many (DPR: 24), and each costs a pass there and back


class Refit(Steps[Reader, EndToEndSettings]):
    """Trains ``reader`` in place: one pass over the questions, for the first term of EMDR2's objective.

    (Sachan et al. 2021, section 2.3: log p(a|q,Z).) Z are the first passages that
    were found for a question, ``places`` [Q,K], and one at least that holds an
    answer; a question without such a passage says nothing.
    """

    def __init__(
        self, reader: Reader, pairs: Pairs, answers: Sequence[Sequence[str]], holders: Sequence[Sequence[int]],
        places: NDArray[np.int64], longest: int, settings: EndToEndSettings, device: Device, folder: RunFolder,
        stop: Callable[[], bool] = lambda: False, quiet: bool = False,
    ) -> None:  # fmt: skip
        self.pairs, self.answers, self.holders, self.places = pairs, answers, holders, places
        self.longest, self.device, self.count, self.s = longest, device, len(answers), replace(settings, epochs=1)
        reader = reader.to(device.name)
        freeze_embeddings(reader.tower)
        self.parameters = [p for p in reader.parameters() if p.requires_grad]
        adam = optimiser(reader.named_parameters(), settings.learning_rate, 0.0)
        super().__init__(reader, adam, folder, stop, quiet)
        reader.eval()

    def step(self, rows: list[int], step: int, total: int) -> str:
        """One update of the weights; the loss before it, in words."""
        self.rates([self.s.learning_rate] * 2, rate(step, total, math.floor(self.s.rate_warm_up * total)))
        groups = [group for i in rows if (group := self.group(i))]
        if not groups:
            return ""
        self.model.train()
        losses = 0.0
        for number, group in enumerate(groups):  # one at a time, for the memory of one
            seed_chunk(self.s.seed, step, number)
            start, end, select = read(self.model, group, self.pairs.tokens, self.device)
            loss = answer_among_nll(start, end, select, [pair.spans for pair in group])
            (loss / len(groups)).backward()  # type: ignore[no-untyped-call]
            losses += float(loss.detach())
        norm = clip_grad_norm_(self.parameters, self.s.max_norm)
        if not math.isfinite(float(norm)) or not math.isfinite(losses):
            raise TrainingError(f"the reader's loss is not finite at step {step + 1}: lower --learning-rate")
        self.optimiser.step()
        return f"reader's loss {losses / len(groups):.2f}"

    def group(self, i: int) -> list[Pair]:
        """Question i with what it reads; empty where nothing of that holds an answer."""
        held = set(self.holders[i])
        found = [int(p) for p in self.places[i]]
        chosen = found[:PASSAGES]
        if not held & set(chosen):
            chosen = [*chosen[:-1], *[p for p in found if p in held][:1]]
        made = [self.pairs.pair(i, p, self.longest, self.answers[i] if p in held else ()) for p in chosen]
        return made if any(pair.spans for pair in made) else []

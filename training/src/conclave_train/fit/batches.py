"""Which questions and passages stand in which batch, as a pure function of seed, epoch and step.

A resumed run needs no state of a random generator: it asks for the batch of its
step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conclave_train.data.records import Domain, Question
from conclave_train.errors import TrainingError


@dataclass(frozen=True)
class Batch:
    """Places of questions [B] and distinct passages [P], each question's target column, and the mask [B,P]."""

    questions: NDArray[np.int64]
    passages: NDArray[np.int64]
    targets: NDArray[np.int64]
    ignore: NDArray[np.bool_]


class Batches:
    """The batches of a training set.

    ``negatives[i]`` are the places of question i's hard negatives, the hardest
    first. Passages of equal text count as one, and questions of equal text share
    their positives: neither is ever a negative of the other (false in-batch
    negatives).
    """

    def __init__(
        self,
        domain: Domain,
        questions: Sequence[Question],
        negatives: Sequence[Sequence[int]],
        *,
        size: int,
        hard: int,
        seed: int,
        groups: Sequence[int] | None = None,
    ) -> None:
        if size < 2:
            raise TrainingError(f"a batch of {size}: in-batch negatives need at least 2 questions")
        if not questions:
            raise TrainingError("there is no question to train on")
        self.size, self.hard, self.seed = min(size, len(questions)), hard, seed
        self.negatives = negatives
        self.groups = None if groups is None else np.asarray(groups)
        first: dict[tuple[str, str], int] = {}
        self.same = np.array([first.setdefault((p.title, p.text), i) for i, p in enumerate(domain.passages)])
        self.positives = [[domain.index[id] for id in q.positives] for q in questions]
        shared: dict[str, set[int]] = {}
        for q, places in zip(questions, self.positives, strict=True):
            shared.setdefault(plain(q.text), set()).update(int(self.same[p]) for p in places)
        self.answers = [shared[plain(q.text)] for q in questions]

    @property
    def per_epoch(self) -> int:
        """Batches in an epoch; a last one of fewer than 2 questions is left out."""
        counts = [len(self.positives)] if self.groups is None else np.unique(self.groups, return_counts=True)[1]
        return sum(len(_cuts(int(n), self.size)) for n in counts)

    def epoch(self, epoch: int) -> list[NDArray[np.int64]]:
        """The questions of each batch of an epoch.

        With groups, each batch comes from one group, so that its in-batch
        negatives are of the question's own domain; groups take turns at random.
        """
        random = np.random.default_rng([self.seed, 1, epoch])
        members = [np.arange(len(self.positives))]
        if self.groups is not None:
            members = [np.flatnonzero(self.groups == g) for g in np.unique(self.groups)]
        batches: list[NDArray[np.int64]] = []
        for m in members:
            order = random.permutation(m)
            batches.extend(order[a:b] for a, b in _cuts(len(m), self.size))
        if self.groups is None:
            return batches
        return [batches[i] for i in random.permutation(len(batches))]

    def batch(self, epoch: int, number: int, order: Sequence[NDArray[np.int64]] | None = None) -> Batch:
        """Batch ``number`` of ``epoch``; ``order`` is ``self.epoch(epoch)`` where the caller has it."""
        chosen = (order or self.epoch(epoch))[number]
        random = np.random.default_rng([self.seed, 2, epoch, number])
        columns: dict[int, int] = {}
        place: list[int] = []

        def column(passage: int) -> int:
            key = int(self.same[passage])
            if key not in columns:
                columns[key] = len(place)
                place.append(passage)
            return columns[key]

        targets = []
        for q in chosen:
            options = self.positives[q]
            targets.append(column(options[int(random.integers(len(options)))]))
        for q in chosen:
            hard = [n for n in self.negatives[q] if int(self.same[n]) not in self.answers[q]]
            take = min(self.hard, len(hard))
            for i in random.choice(len(hard), take, replace=False) if take else []:
                column(hard[int(i)])
        ignore = np.zeros((len(chosen), len(place)), np.bool_)
        for row, q in enumerate(chosen):
            for answer in self.answers[q]:
                if answer in columns and columns[answer] != targets[row]:
                    ignore[row, columns[answer]] = True
        return Batch(chosen, np.array(place, np.int64), np.array(targets, np.int64), ignore)


def plain(text: str) -> str:
    """A question's text without what does not change the question."""
    return " ".join(text.lower().split()).rstrip("? ")


def _cuts(count: int, size: int) -> list[tuple[int, int]]:
    return [(a, min(a + size, count)) for a in range(0, count, size) if min(a + size, count) - a > 1]

"""The passages that a late expert is trained over, and which of them each question meets."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from conclave_train.data.records import Domain, Question
from conclave_train.fit.batches import plain
from conclave_train.retrieval.accuracy import search
from conclave_train.retrieval.bm25 import BM25
from conclave_train.retrieval.negatives import Filter, Negatives


@dataclasses.dataclass(frozen=True)
class Found:
    """For each question the first places of the pool: by the base's vectors, and by BM25."""

    base: Negatives
    bm25: Negatives

    def both(self, i: int) -> list[int]:
        """Question i's places, each once."""
        return list(dict.fromkeys([*self.base[i], *self.bm25[i]]))


def find(
    index: BM25, questions: Sequence[Question], vectors: tuple[Tensor, Tensor], depth: int, tick: Callable[[int], None]
) -> Found:
    """The first ``depth`` of the base (``vectors`` of questions and passages) and of BM25."""
    places, _ = search(*vectors, depth)
    words = []
    for question in questions:
        words.append(index.search(question.text, depth))
        tick(1)
    return Found([[int(p) for p in row] for row in places], words)


def without_answers(pool: Domain, questions: Sequence[Question], found: Found, filter: Filter, depth: int) -> Found:
    """The first ``depth`` of each list that may be negatives; those that the data names stand before BM25's.

    Questions of equal text share their answers, as in the batches of ``expert``.
    """
    answers: dict[str, list[str]] = {}
    for q in questions:
        answers.setdefault(plain(q.text), []).extend(q.positives)
    base, words = [], []
    for i, q in enumerate(questions):
        asked = dataclasses.replace(q, positives=tuple(dict.fromkeys(answers[plain(q.text)])))
        named = [pool.index[id] for id in q.negatives]
        base.append(filter(asked, found.base[i], depth))
        words.append(filter(asked, list(dict.fromkeys([*named, *found.bm25[i]])), depth))
    return Found(base, words)


def draw(found: Found, i: int, count: int, bm25_share: float, random: np.random.Generator) -> list[int]:
    """``count`` different negatives of question i: that share of them BM25's, the rest the base's.

    Where one list is too short, the other fills up; fewer where both are.
    """
    words, base = random.permutation(found.bm25[i]), random.permutation(found.base[i])
    wanted = round(count * bm25_share)
    first = _ints(words)[:wanted]
    second = [p for p in _ints(base) if p not in first][: count - len(first)]
    taken = {*first, *second}
    rest = [p for p in _ints(words) if p not in taken]
    return [*first, *second, *rest][:count]


def _ints(values: NDArray[np.generic]) -> list[int]:
    return [int(v) for v in values]

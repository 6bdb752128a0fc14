"""Hard negatives: passages that rank high for a question and do not answer it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

import numpy as np
from torch import Tensor

from conclave_train.data.records import Domain, Question
from conclave_train.retrieval.accuracy import search
from conclave_train.retrieval.bm25 import BM25

# DPR's tokens: runs of letters, digits and marks, or single characters that are
# neither space nor control (Karpukhin et al., published code, SimpleTokenizer).
_TOKEN = re.compile(r"\w+|[^\w\s]")
Negatives = list[list[int]]


class Filter:
    """Says which passages may be a question's negatives: no positive, no copy of one, none with an answer in it."""

    def __init__(self, domain: Domain, use_answers: bool = True) -> None:
        self.domain, self.use_answers = domain, use_answers
        self._tokens: dict[int, str] = {}
        self._texts = [(p.title, p.text) for p in domain.passages]

    def __call__(self, question: Question, candidates: Sequence[int], depth: int) -> list[int]:
        """The first ``depth`` candidates that may be negatives."""
        positives = {self.domain.index[id] for id in question.positives}
        texts = {self._texts[p] for p in positives}
        answers = [a for a in map(flat, question.answers) if a.strip()] if self.use_answers else []
        kept: list[int] = []
        for place in candidates:
            if place in positives or self._texts[place] in texts:
                continue
            if answers and any(a in self._flat(place) for a in answers):
                continue
            kept.append(place)
            if len(kept) == depth:
                break
        return kept

    def _flat(self, place: int) -> str:
        if place not in self._tokens:
            self._tokens[place] = flat(self._texts[place][1])
        return self._tokens[place]


def flat(text: str) -> str:
    """The tokens of a text between single spaces, so that a substring is a run of tokens."""
    return f" {' '.join(_TOKEN.findall(unicodedata.normalize('NFKD', text).lower()))} "


def given(domain: Domain, questions: Sequence[Question]) -> Negatives:
    """The negatives that the data names."""
    return [[domain.index[id] for id in q.negatives] for q in questions]


def from_bm25(
    domain: Domain, questions: Sequence[Question], filter: Filter, depth: int, tick: Callable[[int], None]
) -> Negatives:
    """The first ``depth`` passages that BM25 finds and the filter lets through."""
    index = BM25(domain.passages)
    out = []
    for question in questions:
        out.append(filter(question, index.search(question.text, 3 * depth + 20), depth))
        tick(1)
    return out


def from_vectors(
    domain: Domain,
    questions: Sequence[Question],
    vectors: tuple[Tensor, Tensor],
    filter: Filter,
    depth: int,
    ceiling: float,
) -> Negatives:
    """The first ``depth`` passages that the model itself finds: vectors of ``(questions, passages)``.

    A passage that scores more than ``ceiling`` times the best positive is taken
    for an answer that nobody marked, and left out (Moreira et al. 2024,
    "NV-Retriever", section 3.2: positive-aware mining).
    """
    q, p = vectors
    places, scores = search(q, p, 3 * depth + 20)
    out = []
    for i, question in enumerate(questions):
        best = max(float(q[i] @ p[domain.index[id]]) for id in question.positives)
        limit = best - (1 - ceiling) * abs(best)
        out.append(filter(question, [int(c) for c in places[i][scores[i] <= np.float32(limit)]], depth))
    return out


def merge(first: Negatives, second: Negatives, depth: int) -> Negatives:
    """Both lists of each question, taken in turn, without repetition, at most ``depth``."""
    out = []
    for a, b in zip(first, second, strict=True):
        mixed = [x for pair in zip(a, b, strict=False) for x in pair]
        short = min(len(a), len(b))
        out.append(list(dict.fromkeys([*mixed, *a[short:], *b[short:]]))[:depth])
    return out

"""Which passages each question meets in which step: functions of the seed, so that a resumed run needs no state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from conclave_train.data.records import Domain, Question
from conclave_train.fit.batches import plain
from conclave_train.progress import Progress
from conclave_train.reading.pairs import Pair, Pairs
from conclave_train.retrieval.negatives import Filter, Negatives, from_bm25, merge


@dataclass(frozen=True)
class Groups:
    """Questions with their positives and negatives by place; ``count`` negatives are drawn for each."""

    questions: Sequence[Question]
    positives: Sequence[Sequence[int]]
    negatives: Negatives
    pairs: Pairs
    count: int
    longest: int
    seed: int

    def group(self, i: int, step: int) -> list[Pair]:
        """Question i's pairs: one with a passage that answers, then the others. Empty where it cannot be learned from.

        Where a question has answers, a passage counts whose text has one of them
        among the tokens that are read; the others' labels may be wrong.
        """
        random = np.random.default_rng([self.seed, 2, step, i])
        first = self.positive(i, [int(p) for p in random.permutation(self.positives[i])])
        if first is None:
            return []
        others = random.permutation(self.negatives[i])[: self.count]
        return [first[1], *(self.pairs.pair(i, int(p), self.longest) for p in others)]

    def positive(self, i: int, places: Sequence[int]) -> tuple[int, Pair] | None:
        """The first of ``places`` whose pair with question i can be learned from, and the pair."""
        answers = self.questions[i].answers
        made = ((place, self.pairs.pair(i, place, self.longest, answers)) for place in places)
        return next(((place, pair) for place, pair in made if pair.spans or not answers), None)


def hard_negatives(domain: Domain, questions: Sequence[Question], depth: int, quiet: bool) -> Negatives:
    """The passages that the data names for each question, else the first ``depth`` of BM25's hits and neighbours.

    Neighbours stand beside the question's passage in the same document: the
    words that BM25 looks for are in them or not, and they are about the same.
    None answers the question. Questions of equal text share their answers.
    """
    shared: dict[str, list[str]] = {}
    for q in questions:
        shared.setdefault(plain(q.text), []).extend(q.positives)
    found = [[domain.index[id] for id in q.negatives if id not in shared[plain(q.text)]] for q in questions]
    missing = [i for i, places in enumerate(found) if not places]
    if missing:
        asked = [
            Question(q.id, q.text, tuple(dict.fromkeys(shared[plain(q.text)])), q.answers)
            for q in (questions[i] for i in missing)
        ]
        keep = Filter(domain)
        near = [keep(q, neighbours(domain, q), depth) for q in asked]
        with Progress("BM25 negatives", len(missing), "questions", quiet=quiet) as bar:
            mined = from_bm25(domain, asked, keep, depth, bar.tick)
        for i, places in zip(missing, merge(mined, near, depth), strict=True):
            found[i] = places
    return [places[:depth] for places in found]


def neighbours(domain: Domain, question: Question) -> list[int]:
    """The two passages before and after the question's first, nearest first, as far as their titles are the same."""
    place, passages = domain.index[question.positives[0]], domain.passages
    title = passages[place].title
    beside = (place + step for step in (1, -1, 2, -2))
    return [p for p in beside if 0 <= p < len(passages) and passages[p].title == title]

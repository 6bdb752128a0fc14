"""Making labels of what was found: which passage answers each question, and which look as if."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conclave_train.data.records import Domain, Question
from conclave_train.feedback.holders import Holders
from conclave_train.finding.hits import Ranking
from conclave_train.retrieval.negatives import Filter

# Of pairs (question, place of a passage) that holds an answer: log p(a | q, z), -inf where it cannot be read there.
Judge = Callable[[list[tuple[int, int]]], list[float]]


@dataclass(frozen=True)
class Labelled:
    """Questions with the passage that was taken for each, and what became of the others."""

    questions: list[Question | None]  # one for each that was asked; None: it has no label
    holding: list[tuple[str, ...]]  # for each, all passages found that hold an answer
    nowhere: int  # no passage holds an answer, or too many do
    unfound: int  # some passage holds an answer; none of those found does
    ambiguous: int  # several of the first passages found hold an answer
    changed: int  # of these, the judge took another one than the first

    @property
    def asked(self) -> int:
        """How many were asked."""
        return len(self.questions)

    @property
    def count(self) -> int:
        """How many have a label."""
        return sum(q is not None for q in self.questions)

    def describe(self) -> str:
        """The counts, for people."""
        return (
            f"{self.count:,} of {self.asked:,} questions have an answer in a passage that was found "
            f"({self.nowhere:,} in no passage, or in too many; {self.unfound:,} in passages that were not found); "
            f"{self.ambiguous:,} in several of the first"
        )


def label(
    domain: Domain, rankings: Sequence[Ranking], holders: Holders, hits: int, hard: int, judge: Judge | None = None
) -> Labelled:
    """Labels for the questions of ``domain``, from one ranking for each.

    The positive is the first passage found that holds an answer. Where several of the first
    ``hits`` do, ``judge`` decides: that with the largest p(a | q, z) · p(z | q) is taken, p(z | q)
    being proportional to the exponential of the fusion's score, which is the log-odds of the
    default's gate. The negatives are the first ``hard`` passages found that hold no answer.
    """
    filter = Filter(domain)
    places = [[(domain.index[h.id], h.score) for h in ranking if h.id in domain.index] for ranking in rankings]
    held = [set(holders(q.answers)) for q in domain.questions]
    holding = [[(p, s) for p, s in found if p in own] for found, own in zip(places, held, strict=True)]
    several = {
        i: near
        for i, (found, own) in enumerate(zip(places, held, strict=True))
        if len(near := [(p, s) for p, s in found[:hits] if p in own]) > 1
    }
    said: dict[tuple[int, int], float] = {}
    if judge:
        pairs = [(i, p) for i, near in several.items() for p, _ in near]
        said = dict(zip(pairs, judge(pairs), strict=True))
    made: list[Question | None] = []
    changed = 0
    for i, question in enumerate(domain.questions):
        if not holding[i]:
            made.append(None)
            continue
        chosen = holding[i][0][0]
        if judge and i in several:
            best = max(several[i], key=lambda hit: said[i, hit[0]] + hit[1])[0]
            changed += best != chosen
            chosen = best
        named = dataclasses.replace(question, positives=(domain.passages[chosen].id,), negatives=())
        wrong = filter(named, [p for p, _ in places[i]], hard)
        made.append(dataclasses.replace(named, negatives=tuple(domain.passages[p].id for p in wrong)))
    return Labelled(
        made,
        [tuple(domain.passages[p].id for p, _ in found) for found in holding],
        nowhere=sum(not own for own in held),
        unfound=sum(bool(own) and not found for own, found in zip(held, holding, strict=True)),
        ambiguous=len(several),
        changed=changed,
    )


def standing(rankings: Sequence[Ranking], wanted: Sequence[set[str]]) -> dict[str, float]:
    """Where the first of the ``wanted`` passages stands: top-1, top-5 and top-20 in percent, and MRR@10 in percent."""
    ranks = [
        next((r for r, hit in enumerate(ranking, 1) if hit.id in own), 10**9)
        for ranking, own in zip(rankings, wanted, strict=True)
    ]
    out = {f"top-{k}": 100 * sum(r <= k for r in ranks) / len(ranks) for k in (1, 5, 20)}
    out["mrr@10"] = 100 * sum(1 / r for r in ranks if r <= 10) / len(ranks)
    return out

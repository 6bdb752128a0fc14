"""Which passages hold an answer: all that questions without marked passages say about them."""

from __future__ import annotations

from collections.abc import Sequence

from conclave_train.data.records import Passage
from conclave_train.retrieval.negatives import flat


class Holders:
    """Finds the passages whose text has an answer, by whole tokens as DPR compares them.

    An answer that more than ``most`` (a share) of the passages hold says nothing
    of any of them, and is left out.
    """

    def __init__(self, passages: Sequence[Passage], most: float) -> None:
        self.texts = [flat(p.text) for p in passages]
        self.most = most * len(passages)
        self._with: dict[str, set[int]] = {}
        for place, text in enumerate(self.texts):
            for token in text.split():
                self._with.setdefault(token, set()).add(place)

    def __call__(self, answers: Sequence[str]) -> list[int]:
        """The places of the passages that hold any of ``answers``, in order."""
        found: set[int] = set()
        for answer in map(flat, answers):
            rare = [self._with.get(token, set()) for token in answer.split()]
            held = [place for place in min(rare, key=len, default=()) if answer in self.texts[place]]
            if len(held) <= self.most:
                found.update(held)
        return sorted(found)

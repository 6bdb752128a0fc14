"""What a search found, and who can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

DEPTH = 100  # passages of a ranking: what one search gives where its limits are the default's


@dataclass(frozen=True)
class Hit:
    """A passage in a ranking; ``score`` is the fusion's, of no fixed unit."""

    id: str
    score: float


Ranking = list[Hit]


class Finder(Protocol):
    """Answers questions with rankings of passages, best first."""

    def rankings(self, questions: Sequence[str], depth: int) -> list[Ranking]:
        """At most ``depth`` passages for each question."""
        ...

    def describe(self) -> str:
        """Who was asked, for the card."""
        ...

    def identity(self) -> str:
        """What a resumed run must have in common: who is asked."""
        ...


@runtime_checkable
class Extensible(Finder, Protocol):
    """A finder that can say what its answers would be with one more expert."""

    def with_expert(self, bundle: Path, name: str) -> Extensible:
        """The same with the expert of ``bundle`` added; what was asked before stays as it is."""
        ...

"""The records that training works on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conclave_train.errors import TrainingError


@dataclass(frozen=True)
class Passage:
    """A text that may answer questions; ``title`` and ``tags`` may be empty."""

    id: str
    title: str
    text: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """A question with the ids of the passages that answer it.

    ``negatives`` are passages that look like an answer and are none, where the
    data names some (DPR's hard negatives); else they are mined. ``answers`` are
    strings that an answering passage contains, where known.
    """

    id: str
    text: str
    positives: tuple[str, ...]
    answers: tuple[str, ...] = ()
    negatives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """A file that was read, by what it held: SHA-256 of its bytes as they are on disk."""

    path: Path
    sha256: str
    records: int

    @classmethod
    def of(cls, path: Path, records: int) -> Source:
        """Hash ``path``."""
        with path.open("rb") as file:
            return cls(path, hashlib.file_digest(file, "sha256").hexdigest(), records)


@dataclass(frozen=True)
class Domain:
    """Passages and the questions about them."""

    name: str
    passages: Sequence[Passage]
    questions: Sequence[Question]
    sources: tuple[Source, ...] = ()
    index: dict[str, int] = field(init=False, repr=False, compare=False)  # passage id → place

    def __post_init__(self) -> None:
        index = {p.id: i for i, p in enumerate(self.passages)}
        if len(index) != len(self.passages):
            seen: set[str] = set()
            twice = next(p.id for p in self.passages if p.id in seen or seen.add(p.id))  # type: ignore[func-returns-value]
            raise TrainingError(f"{self.name}: two passages have the id {twice!r}")
        object.__setattr__(self, "index", index)

    def fingerprint(self) -> str:
        """SHA-256 over every record that training can see, in order."""
        hash = hashlib.sha256()
        for p in self.passages:
            hash.update(repr((p.id, p.title, p.text)).encode())
        for q in self.questions:
            hash.update(repr((q.id, q.text, q.positives, q.answers, q.negatives)).encode())
        return hash.hexdigest()


def union(name: str, domains: Sequence[Domain]) -> Domain:
    """All passages and questions of several domains as one; a passage id that two of them use is an error."""
    owner: dict[str, str] = {}
    for domain in domains:
        for passage in domain.passages:
            if owner.setdefault(passage.id, domain.name) != domain.name:
                raise TrainingError(
                    f"the passage id {passage.id!r} is in {owner[passage.id]} and in {domain.name}: "
                    "ids must tell passages of all domains apart"
                )
    return Domain(
        name,
        [p for d in domains for p in d.passages],
        [q for d in domains for q in d.questions],
        tuple(s for d in domains for s in d.sources),
    )

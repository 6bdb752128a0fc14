"""``CARD.md``: what an expert was made of and how well it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conclave_train.data.records import Source


@dataclass
class Card:
    """The facts of a card; tables are filled as a run goes on."""

    name: str
    kind: str  # what it is, one sentence
    licence: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    counts: dict[str, str] = field(default_factory=dict)
    accuracy: dict[str, Mapping[str, float]] = field(default_factory=dict)  # row → metric → percent
    accuracy_over: str = ""
    calibration: str = ""
    settings: dict[str, object] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """The card in Markdown."""
        parts = [f"# {self.name}", self.kind, _table(("", ""), list(self.facts.items()))]
        data = [(s.path.name, f"{s.records:,}", s.sha256) for s in self.sources]
        parts += ["## Trained on", _table(("file", "records", "SHA-256"), data)]
        if self.counts:
            parts.append(_table(("", ""), list(self.counts.items())))
        parts.append(f"Licence of the data: {self.licence or 'not stated; ask whoever trained it'}.")
        if self.accuracy:
            metrics = list(next(iter(self.accuracy.values())))
            rows = [(row, *(f"{values[m]:.1f}" for m in metrics)) for row, values in self.accuracy.items()]
            parts += ["## Measured", self.accuracy_over, _table(("", *metrics), rows)]
        if self.calibration:
            parts += ["## Confidence", self.calibration]
        parts += ["## Settings", _table(("", ""), [(k, str(v)) for k, v in self.settings.items()])]
        parts += ["Versions: " + ", ".join(f"{k} {v}" for k, v in self.versions.items()) + "."]
        return "\n\n".join(p for p in parts if p) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"

    return "\n".join([line(head), "|" + " --- |" * len(head), *(line(r) for r in rows)])

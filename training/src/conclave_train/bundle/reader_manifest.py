"""``expert.yaml`` of a reader: no vector comes of it, so it has none of the keys that decide about vectors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from conclave_train.bundle.manifest import seal
from conclave_train.reading.pairs import SPAN


@dataclass(frozen=True)
class ReaderManifest:
    """The values that decide about scores and spans, in the order of the file; ``files`` and ``format`` are added."""

    name: str
    max_tokens: tuple[int, int, int]  # question, title, and all together
    lower_case: bool
    source: str
    source_sha256: str
    architecture: str
    licence: str
    base_name: str = ""  # with delta: the name of the base's bundle
    delta: str = ""
    tokenizer: str = ""
    graph: str = ""  # without delta: its file
    notes: dict[str, str] = field(default_factory=dict)

    def encode(self, files: dict[str, str]) -> bytes:
        """The sealed text; ``files`` maps names to SHA-256."""
        out: dict[str, Any] = {"format": 1, "name": self.name, "kind": "reader"}
        if self.delta:
            out["base"] = {"name": self.base_name, "weights_sha256": self.source_sha256}
            out["delta"] = self.delta
        question, title, pair = self.max_tokens
        out |= {
            "max_tokens": {"question": question, "title": title, "pair": pair},
            "longest_span": SPAN,
            "lower_case": self.lower_case,
            "precision": "fp32",
        }
        if not self.delta:
            out["tokenizer"] = self.tokenizer
            out["reader"] = {
                "file": self.graph,
                "input_ids": "input_ids",
                "attention_mask": "attention_mask",
                "start": "start",
                "end": "end",
                "select": "select",
            }
        out["lineage"] = {
            "source": self.source,
            "source_sha256": self.source_sha256,
            "architecture": self.architecture,
            "licence": self.licence,
            "producer": "conclave-train",
            "notes": dict(sorted(self.notes.items())),
        }
        out["files"] = dict(sorted(files.items()))
        return seal(out)


def reader_manifest_of(values: dict[str, Any]) -> ReaderManifest:
    """From what :func:`read_manifest` read of a delta's bundle."""
    tokens, about = values["max_tokens"], values["lineage"]
    return ReaderManifest(
        name=values["name"],
        max_tokens=(tokens["question"], tokens["title"], tokens["pair"]),
        lower_case=values["lower_case"],
        source=about["source"],
        source_sha256=about["source_sha256"],
        architecture=about["architecture"],
        licence=about["licence"],
        base_name=values["base"]["name"],
        delta=values["delta"],
        notes=about["notes"],
    )

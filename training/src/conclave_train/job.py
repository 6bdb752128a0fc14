"""What a run is asked to do, and what is ready before its first step."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from conclave_train.bundle.card import Card
from conclave_train.bundle.manifest import Folder
from conclave_train.data.records import Domain, Question, union
from conclave_train.data.split import hold_out, share
from conclave_train.errors import TrainingError
from conclave_train.fit.encode import Device
from conclave_train.model.checkpoint import Checkpoint, read_checkpoint
from conclave_train.model.delta import Delta, write_delta
from conclave_train.model.tower import TEMPLATES
from conclave_train.progress import say
from conclave_train.settings import EnsembleSettings, ExpertSettings

DELTA = "delta.safetensors"


@dataclass(frozen=True)
class Task:
    """Something to be made of ``domains``, on the checkpoint ``base``, in the folder ``out``."""

    name: str
    domains: tuple[Domain, ...]
    base: Path
    out: Path
    run: Path
    base_name: str = field(default="base", kw_only=True)  # the base's bundle, for people
    licence: str = field(default="", kw_only=True)  # of the data
    device: Device = field(default_factory=Device, kw_only=True)
    fresh: bool = field(default=False, kw_only=True)
    quiet: bool = field(default=False, kw_only=True)
    stop: Callable[[], bool] = field(default=lambda: False, kw_only=True)

    def whole(self) -> Domain:
        """The domains as one."""
        if not self.domains:
            raise TrainingError("there is no data to train on")
        return self.domains[0] if len(self.domains) == 1 else union(self.name, self.domains)

    def identity(self, checkpoint: Checkpoint, whole: Domain, settings: Any, **more: object) -> dict[str, Any]:
        """What a resumed run must have in common with the one that was interrupted."""
        common = {"name": self.name, "base": checkpoint.sha256, "data": whole.fingerprint(), "bf16": self.device.bf16}
        return {**common, **more, **dataclasses.asdict(settings)}

    def card(
        self, kind: str, checkpoint: Checkpoint, whole: Domain, train: Sequence[Question], held: Sequence[Question]
    ) -> Card:
        """A card with what all have in common; ``kind`` is a sentence in which {names} stands for the data."""
        return Card(
            name=self.name,
            kind=kind.format(names=", ".join(d.name for d in self.domains)),
            licence=self.licence,
            sources=[source for domain in self.domains for source in domain.sources],
            facts={
                "base": f"{self.base_name} ({checkpoint.config.describe()})",
                "SHA-256 of the base's weights": checkpoint.sha256,
                "licence of the base": checkpoint.licence or "not stated by the checkpoint",
            },
            counts={
                "training questions": f"{len(train):,}",
                "questions kept back": f"{len(held):,}",
                "passages": f"{len(whole.passages):,}",
                "SHA-256 of all records": whole.fingerprint(),
            },
            versions=versions(),
        )

    def stated(self, checkpoint: Checkpoint, card: Card, whole: Domain) -> dict[str, Any]:
        """The fields of a manifest that all have in common, of a delta."""
        notes = {f"setting {k}": str(v) for k, v in card.settings.items()}
        notes |= {f"version {k}": v for k, v in card.versions.items()}
        notes |= {
            f"data {s.path.name} {i}": f"{s.records} records, sha256 {s.sha256}" for i, s in enumerate(card.sources)
        }
        notes["data fingerprint"] = whole.fingerprint()
        notes["trained on"] = ", ".join(d.name for d in self.domains)
        return {
            "name": self.name,
            "lower_case": checkpoint.tokens.lower_case,
            "source": self.base_name,
            "source_sha256": checkpoint.sha256,
            "architecture": checkpoint.config.describe(),
            "licence": checkpoint.licence,
            "base_name": self.base_name,
            "delta": DELTA,
            "notes": notes,
        }

    def write_delta(self, folder: Folder, delta: Delta) -> None:
        """Write the delta's file."""
        write_delta(folder.path(DELTA), delta, {"base": self.base_name, "name": self.name})

    def wrote(self, out: Path) -> Path:
        """Say where the bundle is, and how large."""
        if not self.quiet:
            say(f"wrote {out} ({sum(f.stat().st_size for f in out.iterdir()) / 2**20:.1f} MB)")
        return out


def read_shared(base: Path, what: str) -> Checkpoint:
    """The checkpoint of a base with one encoder for both sides."""
    checkpoint = read_checkpoint(base)
    if "shared" not in checkpoint.states:
        raise TrainingError(f"{base} has an encoder for each side; a {what} needs one for both")
    return checkpoint


def with_dropout(checkpoint: Checkpoint, dropout: float) -> Checkpoint:
    """The checkpoint with other dropout than its own; below 0: its own."""
    if dropout < 0:
        return checkpoint
    config = dataclasses.replace(checkpoint.config, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
    return dataclasses.replace(checkpoint, config=config)


@dataclass(frozen=True)
class Job(Task):
    """One expert to be made."""

    settings: ExpertSettings = field(default_factory=ExpertSettings)
    ensemble: EnsembleSettings | None = None  # None: the expert gets none
    weights: str = "delta"  # "delta": low-rank change of the base; "onnx": whole graphs
    template: str = ""  # "": title-dot-text, for DPR checkpoints pair
    pooling: str = ""  # "": the checkpoint's
    normalise: bool | None = None
    representatives: int = 256  # 0: none

    def check(self) -> None:
        """What can be known to fail before hours of work."""
        self.settings.check()
        if self.ensemble is not None:
            self.ensemble.check()
        if self.weights == "delta" and self.settings.embeddings == "trained":
            raise TrainingError("--embeddings trained: a delta cannot carry embedding tables; add --weights onnx")
        if self.settings.update == "low-rank" and self.settings.embeddings == "trained":
            raise TrainingError("--embeddings trained: low-rank training leaves the tables alone; use --update full")
        if self.template and self.template not in TEMPLATES:
            raise TrainingError(f"--template: {self.template!r} is not one of {', '.join(TEMPLATES)}")


@dataclass(frozen=True)
class Prepared:
    """The data, split: ``held`` is never trained on; it chooses the checkpoint and fits the temperature.

    A choice among a few epochs leaves little of a bias in the one number that is
    fitted afterwards; two halves would make both choices noisier.
    """

    checkpoint: Checkpoint
    domain: Domain
    train: list[Question]
    held: list[Question]
    groups: list[int]  # the domain of each training question
    template: str
    temperature: float

    def places(self, questions: list[Question]) -> list[list[int]]:
        """The places of each question's positives."""
        return [[self.domain.index[id] for id in q.positives] for q in questions]


def prepare(job: Job) -> Prepared:
    """Read the base, hold questions back, choose the training set."""
    job.check()
    s = job.settings
    whole = job.whole()
    checkpoint = with_dropout(read_checkpoint(job.base, job.pooling, job.normalise), s.dropout)
    longest = max(s.question_tokens, s.passage_tokens)
    if longest > checkpoint.config.max_position_embeddings:
        raise TrainingError(f"{longest} tokens are asked for; the base has {checkpoint.config.max_position_embeddings}")
    train, held, groups = divide(job.domains, s.hold_out, s.hold_out_most, s.limit)
    return Prepared(
        checkpoint=checkpoint,
        domain=whole,
        train=train,
        held=held,
        groups=groups,
        template=job.template or ("pair" if checkpoint.dpr else "title-dot-text"),
        temperature=s.temperature or (0.05 if checkpoint.head.normalise else 1.0),
    )


def divide(
    domains: Sequence[Domain], fraction: float, most: int, limit: int
) -> tuple[list[Question], list[Question], list[int]]:
    """``(train, held, groups)``: of each domain the questions kept back, at most ``most`` of all domains together.

    Of the rest at most ``limit`` a domain (0: all), chosen by hash; ``groups``
    are the domains' numbers of the training questions.
    """
    train: list[Question] = []
    held: list[Question] = []
    groups: list[int] = []
    for number, domain in enumerate(domains):
        rest, kept = hold_out(domain.questions, fraction, max(2, most // len(domains)))
        if limit and len(rest) > limit:
            chosen = {q.id for q in sorted(rest, key=lambda q: (share(q.id, "limit"), q.id))[:limit]}
            rest = [q for q in rest if q.id in chosen]
        train += rest
        held += kept
        groups += [number] * len(rest)
    if len(train) < 2:
        raise TrainingError(f"{len(train)} training questions are left after holding {len(held)} back: too few")
    return train, held, groups


def versions() -> dict[str, str]:
    """The versions that decide about a run's numbers."""
    found = {"python": platform.python_version()}
    for package in ("conclave-train", "numpy", "tokenizers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    found["torch"] = str(torch.__version__)  # with the build, such as +cu132
    return found

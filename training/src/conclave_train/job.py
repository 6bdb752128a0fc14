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

from conclave_train.data.records import Domain, Question, union
from conclave_train.data.split import hold_out, share
from conclave_train.errors import TrainingError
from conclave_train.fit.encode import Device
from conclave_train.model.checkpoint import Checkpoint, read_checkpoint
from conclave_train.model.tower import TEMPLATES
from conclave_train.settings import EnsembleSettings, ExpertSettings


@dataclass(frozen=True)
class Job:
    """One expert to be made of ``domains``, from the checkpoint ``base``, in the folder ``out``."""

    name: str
    domains: tuple[Domain, ...]
    base: Path
    out: Path
    run: Path
    settings: ExpertSettings = field(default_factory=ExpertSettings)
    ensemble: EnsembleSettings | None = None  # None: the expert gets none
    weights: str = "delta"  # "delta": low-rank change of the base; "onnx": whole graphs
    base_name: str = "base"  # the base's bundle, for people
    template: str = ""  # "": title-dot-text, for DPR checkpoints pair
    pooling: str = ""  # "": the checkpoint's
    normalise: bool | None = None
    licence: str = ""  # of the data
    representatives: int = 256  # 0: none
    device: Device = field(default_factory=Device)
    fresh: bool = False
    quiet: bool = False
    stop: Callable[[], bool] = lambda: False

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
        if not self.domains:
            raise TrainingError("there is no data to train on")


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
    checkpoint = read_checkpoint(job.base, job.pooling, job.normalise)
    if s.dropout >= 0:
        config = dataclasses.replace(
            checkpoint.config, hidden_dropout_prob=s.dropout, attention_probs_dropout_prob=s.dropout
        )
        checkpoint = dataclasses.replace(checkpoint, config=config)
    longest = max(s.question_tokens, s.passage_tokens)
    if longest > checkpoint.config.max_position_embeddings:
        raise TrainingError(f"{longest} tokens are asked for; the base has {checkpoint.config.max_position_embeddings}")
    train, held, groups = divide(job.domains, s.hold_out, s.hold_out_most, s.limit)
    return Prepared(
        checkpoint=checkpoint,
        domain=job.domains[0] if len(job.domains) == 1 else union(job.name, job.domains),
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


def identity(job: Job, prepared: Prepared) -> dict[str, Any]:
    """What a resumed run must have in common with the one that was interrupted."""
    return {
        "name": job.name,
        "base": prepared.checkpoint.sha256,
        "data": prepared.domain.fingerprint(),
        "template": prepared.template,
        "pooling": prepared.checkpoint.head.pooling,
        "normalise": prepared.checkpoint.head.normalise,
        "bf16": job.device.bf16,
        "ensemble": None if job.ensemble is None else dataclasses.asdict(job.ensemble),
        "weights": job.weights,
        **dataclasses.asdict(job.settings),
    }


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

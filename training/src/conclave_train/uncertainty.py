"""An expert's ensemble and its temperature, on frozen vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from conclave_train.data.records import Domain, Question
from conclave_train.fit.encode import Device, encode_all
from conclave_train.fit.state import RunFolder
from conclave_train.model.tokens import Tokens
from conclave_train.model.tower import BiEncoder
from conclave_train.muf.fit import Frozen, fit_members, loss_over
from conclave_train.muf.measure import measure
from conclave_train.muf.members import Members
from conclave_train.progress import Progress, say
from conclave_train.retrieval.negatives import Filter, Negatives, from_bm25, from_vectors, given
from conclave_train.settings import EnsembleSettings

FEWEST_TO_CALIBRATE = 30


class Encoding(Protocol):
    """What gives questions and passages the vectors that they have in service."""

    def questions(self, questions: Sequence[Question], quiet: bool = False) -> Tensor:
        """Vectors [Q,D]."""
        raise NotImplementedError

    def passages(self, domain: Domain, quiet: bool = False) -> Tensor:
        """Vectors [N,D]."""
        raise NotImplementedError


@dataclass(frozen=True)
class Served:
    """A model with what decides about its vectors in service."""

    model: BiEncoder
    tokens: Tokens
    template: str
    max_tokens: tuple[int, int]
    device: Device

    def questions(self, questions: Sequence[Question], quiet: bool = False) -> Tensor:
        """Vectors [Q,D]."""
        rows = self.tokens.questions([q.text for q in questions], self.max_tokens[0])
        with Progress("encoding questions", len(rows), "texts", quiet=quiet) as bar:
            return encode_all(self.model.question, rows, self.tokens, self.device, tick=bar.tick)

    def passages(self, domain: Domain, quiet: bool = False) -> Tensor:
        """Vectors [N,D]."""
        rows = self.tokens.passages(domain.passages, self.template, self.max_tokens[1])
        with Progress("encoding passages", len(rows), "texts", quiet=quiet) as bar:
            return encode_all(self.model.passage, rows, self.tokens, self.device, tick=bar.tick)


@dataclass(frozen=True)
class Asked:
    """Training questions, those kept back, and such as are about none of the expert's passages."""

    train: Sequence[Question]
    kept_back: Sequence[Question]
    foreign: Sequence[Question] = ()

    def encoded(self, domain: Domain, served: Encoding, folder: RunFolder, quiet: bool) -> dict[str, Tensor]:
        """The vectors of all three and of the passages, once for all runs over ``folder``."""
        vectors: dict[str, Tensor] | None = folder.load_part("vectors.pt")
        if vectors is None:
            groups = {"train": self.train, "kept_back": self.kept_back, "foreign": self.foreign}
            vectors = {n: served.questions(q, quiet) if q else torch.empty(0) for n, q in groups.items()}
            vectors["passages"] = served.passages(domain, quiet)
            folder.save_part("vectors.pt", vectors)
        return vectors


@dataclass(frozen=True)
class Uncertainty:
    """The ensemble as it is shipped (fp16 weights), and its calibration where there were questions for it."""

    members: Members
    calibration: dict[str, Any] | None
    summary: str


def fit_uncertainty(
    domain: Domain,
    asked: Asked,
    vectors: dict[str, Tensor],
    settings: EnsembleSettings,
    unit: bool,
    device: str,
    folder: RunFolder,
    stop: Callable[[], bool],
    quiet: bool,
) -> Uncertainty:
    """Train the members, fit the temperature on the questions kept back, and say what the confidence is worth."""
    temperature = settings.ensemble_temperature or (0.05 if unit else 1.0)
    positives = [[domain.index[id] for id in q.positives] for q in asked.kept_back]

    def kept_back(members: Members) -> float:
        return loss_over(members, vectors["kept_back"], vectors["passages"], positives, temperature)

    members = fit_members(
        domain, asked.train, _negatives(domain, asked.train, vectors, settings),
        Frozen(vectors["train"], vectors["passages"]), settings, temperature, device, folder, stop, quiet,
        kept_back if settings.ensemble_best and asked.kept_back else None,
    ).rounded()  # fmt: skip
    about = f"MUF with {members.members} members of {members.hidden} units{', residual' * members.residual}."
    if len(asked.kept_back) < FEWEST_TO_CALIBRATE:
        why = f"{len(asked.kept_back)} questions were kept back, and {FEWEST_TO_CALIBRATE} are needed"
        return Uncertainty(members, None, f"{about} Not calibrated: {why}; `conclave calibrate` does it later.")
    depth = min(settings.calibration_depth, len(domain.passages))
    worth = measure(members, vectors, positives, depth)
    shipped, count = worth.shipped, len(asked.kept_back) + len(asked.foreign)
    if shipped.edge and not quiet:
        say(
            f"the temperature of the least calibration error, {shipped.temperature:.3g}, is at an end of those "
            "that were tried: no temperature makes the confidence a probability (it may still tell right from wrong)"
        )
    foreign = f" and {len(asked.foreign)} foreign ones" if asked.foreign else ""
    calibration = {
        "temperature": shipped.temperature,
        "depth": depth,
        "ece_before": shipped.before,
        "ece_after": shipped.after,
        "questions": f"{len(asked.kept_back)} training questions kept back{foreign}, over the expert's own passages",
        "question_count": count,
    }
    return Uncertainty(members, calibration, f"{about} {worth.text(len(domain.passages), depth)}")


def _negatives(
    domain: Domain, questions: Sequence[Question], vectors: dict[str, Tensor], settings: EnsembleSettings
) -> Negatives:
    """What the data names, else what the expert itself or BM25 finds; none where none are used."""
    if not settings.ensemble_hard:
        return [[] for _ in questions]
    if settings.ensemble_negatives == "bm25":
        mined = from_bm25(domain, questions, Filter(domain), 20, lambda _: None)
    else:
        mined = from_vectors(domain, questions, (vectors["train"], vectors["passages"]), Filter(domain), 20, 0.98)
    return [named or own for named, own in zip(given(domain, questions), mined, strict=True)]

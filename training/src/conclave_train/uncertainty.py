"""An expert's ensemble and its temperature, on frozen vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from conclave_train.data.records import Domain, Question
from conclave_train.fit.encode import Device, encode_all
from conclave_train.fit.state import RunFolder
from conclave_train.model.tokens import Tokens
from conclave_train.model.tower import BiEncoder
from conclave_train.muf.confidence import fit_temperature
from conclave_train.muf.fit import Frozen, fit_members, member_scores
from conclave_train.muf.members import Members
from conclave_train.progress import Progress
from conclave_train.retrieval.accuracy import search
from conclave_train.retrieval.negatives import Filter, from_vectors, given
from conclave_train.settings import EnsembleSettings

FEWEST_TO_CALIBRATE = 30


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
class Uncertainty:
    """The ensemble as it is shipped (fp16 weights), and its calibration where there were questions for it."""

    members: Members
    calibration: dict[str, Any] | None
    summary: str


def fit_uncertainty(
    domain: Domain,
    train: Sequence[Question],
    calibrate: Sequence[Question],
    served: Served,
    settings: EnsembleSettings,
    folder: RunFolder,
    stop: Callable[[], bool],
    quiet: bool,
) -> Uncertainty:
    """Encode once, train the members on ``train``, fit the temperature on ``calibrate``.

    Hard negatives are what the expert itself finds, or what the data names.
    """
    kept = folder.load_part("vectors.pt")
    if kept is None:
        kept = {"train": served.questions(train, quiet), "passages": served.passages(domain, quiet)}
        kept["calibrate"] = served.questions(calibrate, quiet) if calibrate else torch.empty(0)
        folder.save_part("vectors.pt", kept)
    vectors = Frozen(kept["train"], kept["passages"])
    negatives = given(domain, train)
    mined = from_vectors(domain, train, (vectors.questions, vectors.passages), Filter(domain), 20, 0.98)
    negatives = [named or own for named, own in zip(negatives, mined, strict=True)]
    temperature = settings.ensemble_temperature or (0.05 if served.model.question.head.normalise else 1.0)
    members = fit_members(
        domain, train, negatives, vectors, settings, temperature, served.device.name, folder, stop, quiet
    ).rounded()
    about = f"MUF with {members.members} members of {members.hidden} units."
    if len(calibrate) < FEWEST_TO_CALIBRATE:
        why = f"{len(calibrate)} questions were kept back, and {FEWEST_TO_CALIBRATE} are needed"
        return Uncertainty(members, None, f"{about} Not calibrated: {why}; `conclave calibrate` does it later.")
    depth = min(settings.calibration_depth, len(domain.passages))
    places, _ = search(kept["calibrate"], vectors.passages, depth)
    positives = [{domain.index[id] for id in q.positives} for q in calibrate]
    hits = [int(row[0]) in good for row, good in zip(places, positives, strict=True)]
    fitted = fit_temperature(member_scores(members, kept["calibrate"], vectors.passages, places), hits)
    calibration = {
        "temperature": fitted.temperature,
        "depth": depth,
        "ece_before": fitted.before,
        "ece_after": fitted.after,
        "questions": f"{len(calibrate)} training questions kept back, over the expert's own passages",
        "question_count": len(calibrate),
    }
    summary = (
        f"{about} Temperature {fitted.temperature:.4g} over the "
        f"first {depth} hits, fitted on {len(calibrate)} questions kept back, over the expert's own "
        f"{len(domain.passages):,} passages: expected calibration error {fitted.before:.3f} with temperature 1, "
        f"{fitted.after:.3f} with it (on the same questions). Fit it again on the collection it is to serve."
    )
    return Uncertainty(members, calibration, summary)

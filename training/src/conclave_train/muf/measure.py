"""What an ensemble knows: whether its members can rank, and whether they are sure of what is right and at home."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from conclave_train.muf.confidence import Fitted, auroc, confidence, fit_temperature
from conclave_train.muf.fit import member_scores
from conclave_train.muf.members import Members
from conclave_train.retrieval.accuracy import search


@dataclass(frozen=True)
class Worth:
    """Over the expert's own passages. Shares are 0 to 1; an AUROC is None where one side is empty."""

    questions: int
    foreign: int
    expert: float  # top-1 of the expert
    members: NDArray[np.float64]  # top-1 of each member on its own [K]
    home: Fitted  # the temperature for questions at home (MUF section 4.3)
    together: Fitted | None  # for these and the foreign, to which no hit is right
    right: float | None  # AUROC of the confidence: right first hits against wrong, at home
    at_home: float | None  # and questions at home against foreign ones

    @property
    def shipped(self) -> Fitted:
        """The temperature for all questions: at home alone an expert that is nearly always right is sure of all."""
        return self.together or self.home

    def text(self, passages: int, depth: int) -> str:
        """The card's sentences."""
        m, home = 100 * self.members, self.home
        parts = [
            f"On the {self.questions} questions kept back, in {passages:,} of the expert's own passages, the members' "
            f"own top-1 is {m.mean():.1f} ({m.min():.1f} to {m.max():.1f}), the expert's {100 * self.expert:.1f}.",
            f"Temperature {home.temperature:.4g} over the first {depth} hits, fitted on these questions: expected "
            f"calibration error {home.before:.3f} with temperature 1, {home.after:.3f} with it (on the same).",
        ]
        if self.together:
            parts.append(
                f"Fitted on these and {self.foreign} foreign questions together it is {self.together.temperature:.4g} "
                f"({self.together.before:.3f}, {self.together.after:.3f}), which is the one in calibration.yaml."
            )
        parts.append("Fit it again on the collection it is to serve.")
        parts.append(f"AUROC of the confidence, right first hits against wrong: {_said(self.right)}.")
        if self.foreign:
            parts.append(f"Questions at home against foreign ones: {_said(self.at_home)}.")
        return " ".join(parts)


def _said(area: float | None) -> str:
    return "not known, since all are the same" if area is None else f"{area:.2f}"


def measure(members: Members, vectors: dict[str, Tensor], positives: Sequence[Sequence[int]], depth: int) -> Worth:
    """Measure on ``vectors``: of questions ``kept_back``, with their ``positives``, of ``foreign`` and ``passages``."""
    passages, questions, foreign = vectors["passages"], vectors["kept_back"], vectors["foreign"]
    places, _ = search(questions, passages, depth)
    hits = np.array([int(row[0]) in good for row, good in zip(places, positives, strict=True)])
    scores = member_scores(members, questions, passages, places)
    home, together, away = fit_temperature(scores, hits), None, None
    if len(foreign):
        away = member_scores(members, foreign, passages, search(foreign, passages, depth)[0])
        together = fit_temperature(np.concatenate([scores, away]), np.concatenate([hits, np.zeros(len(foreign))]))
    temperature = (together or home).temperature
    sure = confidence(scores, temperature)
    right = auroc(sure[hits], sure[~hits])
    at_home = None if away is None else auroc(sure, confidence(away, temperature))
    own = top_one(members, questions, passages, positives)
    return Worth(len(questions), len(foreign), float(hits.mean()), own, home, together, right, at_home)


def top_one(
    members: Members, questions: Tensor, passages: Tensor, positives: Sequence[Sequence[int]]
) -> NDArray[np.float64]:
    """The share of the questions [K] whose best passage, of all, by each member's own scores answers."""
    right = np.zeros(members.members)
    with torch.inference_mode():
        for a in range(0, len(questions), 64):
            first = (members(questions[a : a + 64]) @ passages.T).argmax(2).numpy()  # [b,K]
            for row, good in zip(first, positives[a : a + 64], strict=True):
                right += np.isin(row, list(good))
    return right / max(1, len(questions))

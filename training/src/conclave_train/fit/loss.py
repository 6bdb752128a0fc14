"""DPR's training objective."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class Loss:
    """``value``: the mean negative log-likelihood (scalar tensor); ``correct``: questions whose positive came first."""

    value: Tensor
    correct: int


def in_batch_nll(
    questions: Tensor,
    passages: Tensor,
    targets: Tensor,
    ignore: Tensor | None = None,
    temperature: float = 1.0,
) -> Loss:
    """Negative log-likelihood of each question's positive among all passages of the batch.

    ``questions`` [B,D], ``passages`` [P,D], ``targets`` int64 [B] (the column of
    the positive), ``ignore`` bool [B,P] (True: this passage answers this
    question too, so it is no negative). Scores are inner products divided by
    ``temperature``. (Karpukhin et al. 2020, eq. 2 and section 3.2, "In-batch
    negatives"; the temperature and the mask are not theirs.)
    """
    scores = questions @ passages.T / temperature
    if ignore is not None:
        scores = scores.masked_fill(ignore, -torch.inf)
    correct = int((scores.argmax(dim=1) == targets).sum())
    return Loss(F.cross_entropy(scores, targets), correct)

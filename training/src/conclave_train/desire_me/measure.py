"""What a head is worth: each question's measures, and whether a difference may be chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from conclave_train.desire_me.head import Head

METRICS = ("ndcg@10", "top-1", "top-20")
Measured = Mapping[str, NDArray[np.float64]]  # metric → a number for each question


def changed(head: Head | None, questions: Tensor) -> Tensor:
    """The questions' vectors behind a head; None: as they are."""
    if head is None:
        return questions
    with torch.inference_mode():
        return torch.cat([head(part)[0] for part in torch.split(questions, 512)])


def measure(questions: Tensor, passages: Tensor, positives: Sequence[Sequence[int]]) -> dict[str, NDArray[np.float64]]:
    """nDCG@10 with grades of 0 and 1, and whether an answer is among the first 1 and 20, by exact search."""
    ndcg, first = np.empty(len(positives)), np.empty(len(positives))
    for a in range(0, len(positives), 256):
        scores = questions[a : a + 256] @ passages.T
        for i, (row, good) in enumerate(zip(scores, positives[a : a + 256], strict=True), start=a):
            at = torch.tensor(sorted(set(good))).unsqueeze(1)
            own = row[at]
            earlier = (row == own) & (torch.arange(len(row)) < at)  # equal scores rank by place
            ranks = 1 + ((row > own) | earlier).sum(1).numpy()
            ideal = (1 / np.log2(np.arange(2, 2 + min(10, len(at))))).sum()
            ndcg[i] = (1 / np.log2(1 + ranks[ranks <= 10])).sum() / ideal
            first[i] = ranks.min()
    return {"ndcg@10": ndcg, "top-1": (first == 1).astype(np.float64), "top-20": (first <= 20).astype(np.float64)}


def means(measured: Measured) -> dict[str, float]:
    """In percent."""
    return {metric: 100 * float(measured[metric].mean()) for metric in METRICS}


def chance(a: NDArray[np.float64], b: NDArray[np.float64], draws: int = 10_000, seed: int = 13) -> float:
    """The p-value of the difference of means by a paired randomisation, two-sided."""
    difference = a - b
    moved = difference[difference != 0]
    if not len(moved):
        return 1.0
    random = np.random.default_rng(seed)
    wanted, as_far = abs(moved.sum()) - 1e-9, 0
    for _ in range(0, draws, 500):
        signs = random.integers(0, 2, (500, len(moved))) * 2 - 1
        as_far += int((np.abs(signs @ moved) >= wanted).sum())
    return (as_far + 1) / (draws + 1)

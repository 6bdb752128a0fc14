"""A few hundred question vectors that stand for what an expert was trained on (familiarity).

The server compares a new question, as the base encoder sees it, with the
nearest of them. They are vectors of the base encoder, since one vector of the
question then serves all experts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from conclave_train.model.tensors import write_tensors

FILE, FORMAT = "representatives.safetensors", "conclave-representatives-1"


def representatives(vectors: Tensor, count: int, seed: int, rounds: int = 12) -> Tensor:
    """``count`` unit vectors [R,D] for ``vectors`` [N,D]: centres of spherical k-means.

    Each centre is replaced by the question next to it, so that a representative
    is a question's own vector and its similarity 1 with itself. With no more
    questions than ``count``, all of them.
    """
    x = torch.nn.functional.normalize(vectors, dim=1)
    if len(x) <= count:
        return x
    random = np.random.default_rng([seed, 4])
    centres = x[torch.from_numpy(np.sort(random.choice(len(x), count, replace=False)))]
    for _ in range(rounds):
        nearest = (x @ centres.T).argmax(1)
        sums = torch.zeros_like(centres).index_add_(0, nearest, x)
        filled = sums.norm(dim=1) > 0
        centres = torch.where(filled[:, None], torch.nn.functional.normalize(sums, dim=1), centres)
    chosen = torch.tensor(sorted(set((centres @ x.T).argmax(1).tolist())))
    return x[chosen]


def write_representatives(path: Path, vectors: Tensor, base_sha256: str) -> None:
    """``questions`` fp16 [R,D], with the base encoder they are of."""
    write_tensors(path, {"questions": vectors.half()}, {"format": FORMAT, "base_sha256": base_sha256})

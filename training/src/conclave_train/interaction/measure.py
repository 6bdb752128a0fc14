"""How well a late head puts what other sources found into order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from conclave_train.interaction.fit import scores
from conclave_train.interaction.head import LateHead
from conclave_train.interaction.pool import Found
from conclave_train.interaction.states import States
from conclave_train.progress import Progress

NOWHERE = 1 << 40  # the rank of a positive that is not among the candidates


def ranks_in(lists: Sequence[Sequence[int]], positives: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """The rank, from 1, of each question's first positive in its list of places."""
    found = np.full(len(lists), NOWHERE, np.int64)
    for i, (places, good) in enumerate(zip(lists, positives, strict=True)):
        at = [rank for rank, place in enumerate(places, start=1) if place in set(good)]
        found[i] = at[0] if at else NOWHERE
    return found


def re_ranked(
    head: LateHead,
    questions: States,
    passages: States,
    candidates: Found,
    device: str,
    label: str = "measuring",
    quiet: bool = False,
) -> list[list[int]]:
    """Each question's candidates, of the base and of BM25, by the head's score, then by place."""
    out = []
    with Progress(label, len(questions), "questions", quiet=quiet) as bar, torch.inference_mode():
        for i in range(len(questions)):
            places = np.array([sorted(candidates.both(i))], np.int64)
            row = scores(head, questions, passages, [i], places, device)[0]
            order = row.sort(descending=True, stable=True).indices.cpu().numpy()
            out.append([int(p) for p in places[0][order]])
            bar.tick(1)
    return out

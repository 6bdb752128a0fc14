"""The best answer span of a passage."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conclave_train.reading.pairs import SPAN, Span


def best_span(
    start: NDArray[np.float32], end: NDArray[np.float32], text_at: int, length: int, longest: int = SPAN
) -> tuple[Span, float] | None:
    """The span of the text with the largest start + end, and that sum; None where there is no text.

    ``start``, ``end`` [L]; the text is the tokens from ``text_at`` on, of
    ``length`` in all. A span has at most ``longest`` tokens; of equal ones the
    first wins, then the shortest. (Karpukhin et al. 2020, section 6.1)
    """
    s, e = start[text_at:length], end[text_at:length]
    if len(s) == 0:
        return None
    sums = s[:, None] + e[None, :]
    distance = np.arange(len(s))[None, :] - np.arange(len(s))[:, None]
    sums = np.where((distance >= 0) & (distance < longest), sums, -np.inf)
    a, b = divmod(int(sums.argmax()), len(s))
    return (text_at + a, text_at + b), float(sums[a, b])

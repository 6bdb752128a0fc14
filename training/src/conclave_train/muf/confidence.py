"""Confidence from the ensemble's scores, its calibration error, and the temperature that lowers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

EPSILON = 1e-6  # inside the logarithms, as the authors' code has it
BINS = 10
# The upper ends of the bins: products, as numpy's arange(0, 1.1, 0.1) of the
# authors' get_ece has them and the server too, so the third is 0.30000000000000004.
EDGES = np.arange(1, BINS + 1) * 0.1


def confidence(scores: ArrayLike, temperature: float) -> NDArray[np.float64]:
    """1 - MI / ln K, within [0, 1], of the members' ``scores`` [..., K, L] of the same L passages.

    P_k = softmax(scores_k / τ); MI = H(mean_k P_k) - mean_k H(P_k). Zero passages
    give 0; the caller leaves out fewer than two passages or members. (MUF, Li et
    al. 2021, equations 2 to 5, with the temperature as a divisor, as the authors'
    code does)
    """
    s = np.asarray(scores, np.float64)
    if s.size == 0:
        return np.zeros(s.shape[:-2])
    p = np.exp((s - s.max(axis=-1, keepdims=True)) / temperature)
    p /= p.sum(axis=-1, keepdims=True)
    information = _entropy(p.mean(axis=-2)) - _entropy(p).mean(axis=-1)
    return np.asarray(np.clip(1 - information / np.log(s.shape[-2]), 0.0, 1.0))


def _entropy(p: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(-(p * np.log(p + EPSILON)).sum(axis=-1))


def calibration_error(confidences: ArrayLike, hits: ArrayLike) -> float:
    """Expected calibration error: Σ |bin|/N · |accuracy - confidence| over ten bins.

    Bins are closed at both ends and the first that fits is taken, so 0.1 is in
    the first; a value outside [0, 1] is in none but counts in N. (the authors'
    ``get_ece``)
    """
    c, h = np.asarray(confidences, np.float64), np.asarray(hits, np.float64)
    if not len(c):
        return 0.0
    bins = np.searchsorted(EDGES, c, side="left")
    total = 0.0
    for b in range(BINS):
        inside = (bins == b) & (c >= 0)
        if inside.any():
            total += inside.sum() / len(c) * abs(h[inside].mean() - c[inside].mean())
    return float(total)


def auroc(high: ArrayLike, low: ArrayLike) -> float | None:
    """The chance that one of ``high`` is above one of ``low``, ties half; None where one is empty."""
    a, b = np.asarray(high, np.float64), np.sort(np.asarray(low, np.float64))
    if not len(a) or not len(b):
        return None
    below, up_to = np.searchsorted(b, a, "left"), np.searchsorted(b, a, "right")
    return float((below + up_to).mean() / 2 / len(b))


@dataclass(frozen=True)
class Fitted:
    """The temperature found, and the calibration error with temperature 1 and with it.

    ``edge``: it stands at an end of the grid, so that a better one may lie beyond.
    """

    temperature: float
    before: float
    after: float
    edge: bool


def fit_temperature(
    scores: NDArray[np.float32], hits: ArrayLike, low: float = 1e-4, high: float = 1e2, points: int = 49
) -> Fitted:
    """The temperature of the least calibration error for ``scores`` [Q, K, L] and top-1 ``hits`` [Q].

    A logarithmic grid, then golden section between the neighbours of its best
    point. The error is not smooth, so the best value ever seen is kept, the
    lower temperature on a tie.
    """
    seen: dict[float, float] = {}

    def error(log: float) -> float:
        t = float(np.exp(log))
        if t not in seen:
            seen[t] = calibration_error(confidence(scores, t), hits)
        return seen[t]

    grid = np.linspace(np.log(low), np.log(high), points)
    best = min(range(points), key=lambda i: error(float(grid[i])))
    _golden(error, float(grid[max(0, best - 1)]), float(grid[min(points - 1, best + 1)]))
    temperature = min(seen, key=lambda t: (seen[t], t))
    before = calibration_error(confidence(scores, 1.0), hits)
    ends = [float(np.exp(grid[i])) for i in (0, -1)]
    return Fitted(temperature, before, seen[temperature], temperature in ends)


def _golden(f: Callable[[float], float], a: float, b: float, steps: int = 16) -> None:
    """Golden-section search for the minimum of ``f`` on [a, b]; the values are the caller's to keep."""
    ratio = (np.sqrt(5) - 1) / 2
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    for _ in range(steps):
        if f(c) <= f(d):
            b, d = d, c
            c = b - ratio * (b - a)
        else:
            a, c = c, d
            d = a + ratio * (b - a)

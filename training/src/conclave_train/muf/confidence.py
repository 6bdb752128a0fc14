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


def confidence(scores: ArrayLike, temperature: float) -> float:
    """1 - MI / ln K, within [0, 1], of the members' ``scores`` [K, L] of the same L passages.

    P_k = softmax(scores_k / τ); MI = H(mean_k P_k) - mean_k H(P_k). Zero passages
    give 0; the caller leaves out fewer than two passages or members. (MUF,
    equations 2 to 5, with the temperature as a divisor, as the authors' code does)
    """
    s = np.asarray(scores, np.float64)
    if s.size == 0:
        return 0.0
    logits = (s - s.max(axis=1, keepdims=True)) / temperature
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    mean = p.mean(axis=0)
    information = _entropy(mean) - _entropy(p).mean()
    return float(np.clip(1 - information / np.log(len(s)), 0.0, 1.0))


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


@dataclass(frozen=True)
class Fitted:
    """The temperature found, and the calibration error with temperature 1 and with it."""

    temperature: float
    before: float
    after: float


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
            seen[t] = calibration_error([confidence(s, t) for s in scores], hits)
        return seen[t]

    grid = np.linspace(np.log(low), np.log(high), points)
    best = min(range(points), key=lambda i: error(float(grid[i])))
    _golden(error, float(grid[max(0, best - 1)]), float(grid[min(points - 1, best + 1)]))
    temperature = min(seen, key=lambda t: (seen[t], t))
    return Fitted(temperature, calibration_error([confidence(s, 1.0) for s in scores], hits), seen[temperature])


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

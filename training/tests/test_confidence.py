"""MUF's confidence and calibration error, against values of the authors' own functions."""

from __future__ import annotations

import numpy as np
import pytest

from conclave_train.muf.confidence import auroc, calibration_error, confidence, fit_temperature

A: list[list[float]] = [[80, 79.5, 70, 60]] * 3
B: list[list[float]] = [[80, 79.5, 70, 60], [79, 81, 70, 60], [70, 71, 75, 60]]
C: list[list[float]] = [[80, 79.5, 70, 60], [80, 81, 70, 60], [80, 71, 75, 60]]


@pytest.mark.parametrize(
    ("temperature", "expected"),
    [
        (1e-3, (1.0, 1.82e-6, 0.420620746)),
        (1e-2, (1.0, 1.82e-6, 0.420620746)),
        (1, (1.0, 0.372543039, 0.777308904)),
        (10, (1.0, 0.959063816, 0.973248630)),
        (1000, (1.0, 0.999996048, 0.999997281)),
    ],
)
def test_known_confidences(temperature: float, expected: tuple[float, ...]) -> None:
    assert [confidence(s, temperature) for s in (A, B, C)] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        ([20], 1.0),
        ([19, 1], 0.933733984),
        ([15, 5], 0.812287917),
        ([10, 10], 0.768621787),
        ([5, 5, 5, 5], 0.537243574),
        ([1] * 20, 0.0),
    ],
)
def test_votes(votes: list[int], expected: float) -> None:
    """At a low temperature, confidence is one minus the entropy of the members' first choices."""
    scores = np.zeros((20, 20))
    member = 0
    for choice, count in enumerate(votes):
        for _ in range(count):
            scores[member, choice] = 1
            member += 1
    assert confidence(scores, 1e-3) == pytest.approx(expected, abs=3e-5)


def test_known_calibration_error() -> None:
    """0.1 is in the first bin; a value above 1 is in none but counts."""
    c = [0.05, 0.15, 0.95, 1.0, 0.55, 0.55, 0.1, 1.0000001]
    assert calibration_error(c, [0, 1, 1, 1, 0, 1, 1, 1]) == pytest.approx(0.23125, abs=1e-9)
    assert calibration_error([], []) == 0


@pytest.mark.parametrize("edge", [3, 6, 7])
def test_bins_end_where_arange_does(edge: int) -> None:
    """The authors' edges are ``arange(0, 1.1, 0.1)``; a confidence of just its third, above 0.3, is in the third bin.

    A hit beside it in the same bin shares its bin's mean; were the edges
    decimals, the two would stand in two bins and their errors would add up.
    """
    at = float(np.arange(0, 1.1, 0.1)[edge])
    assert at > edge / 10
    below = at - 0.05
    assert calibration_error([at, below], [0, 1]) == pytest.approx(abs(0.5 - (at + below) / 2), abs=1e-12)
    above = float(np.nextafter(at, 1))
    assert calibration_error([above, below], [0, 1]) == pytest.approx((above + 1 - below) / 2, abs=1e-12)


def test_temperature_lowers_the_error() -> None:
    random = np.random.default_rng(2)
    hits = random.random(200) < 0.6
    # Members agree more where the expert is right.
    noise = np.where(hits, 0.3, 1.5)[:, None, None]
    scores = (random.normal(size=(200, 1, 10)) + noise * random.normal(size=(200, 8, 10))).astype(np.float32)
    fitted = fit_temperature(scores, hits)
    at = [calibration_error([confidence(s, t) for s in scores], hits) for t in (0.01, 0.1, 1.0, 10.0)]
    assert fitted.after <= min(at) + 1e-12
    assert fitted.before == at[2]
    assert fitted.after == calibration_error([confidence(s, fitted.temperature) for s in scores], hits)
    assert not fitted.edge
    never = fit_temperature(scores, np.zeros(200, bool), low=0.5, high=2.0)
    assert never.edge  # the lowest is the best, and lower ones would be better still
    assert never.temperature == pytest.approx(0.5)


def test_confidences_of_a_stack_are_those_of_each() -> None:
    scores = np.random.default_rng(4).normal(size=(5, 3, 7))
    assert confidence(scores, 0.3).tolist() == pytest.approx([float(confidence(s, 0.3)) for s in scores], abs=1e-15)


def test_auroc_counts_pairs() -> None:
    random = np.random.default_rng(5)
    a, b = random.integers(0, 6, 40), random.integers(0, 5, 30)
    pairs = [1.0 if x > y else 0.5 if x == y else 0.0 for x in a for y in b]
    assert auroc(a, b) == pytest.approx(float(np.mean(pairs)), abs=1e-12)
    assert auroc([], b) is None
    assert auroc(a, []) is None

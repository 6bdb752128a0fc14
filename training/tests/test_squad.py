"""Exact match and F1, against values worked out by hand from SQuAD's definitions."""

from __future__ import annotations

import pytest

from conclave_train.reading.squad import exact_match, f1, normalise


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The U.S. Army", "us army"),
        ("the a an", ""),
        ("  A  Tale of\tTwo Cities!", "tale of two cities"),
        ("“Quoted”", "“quoted”"),  # ASCII punctuation alone
        ("theatre an-other", "theatre another"),  # articles are whole words; punctuation goes first
        ("1,642 metres", "1642 metres"),
    ],
)
def test_normalise(text: str, plain: str) -> None:
    assert normalise(text) == plain


@pytest.mark.parametrize(
    ("said", "answers", "exact", "shared"),
    [
        ("the July 16 , 2017", ["July 16, 2017"], 1, 1),
        ("Denver Broncos", ["Broncos"], 0, 2 / 3),  # precision 1/2, recall 1
        ("in the city of New York", ["New York City"], 0, 2 * 3 / (5 + 3)),  # in, city, of, new, york
        ("no no no", ["no no"], 0, 4 / 5),  # words count as often as they come
        ("Paris", ["London", "paris."], 1, 1),  # the best answer counts
        ("Paris", ["London"], 0, 0),
        ("the", ["a"], 1, 1),  # both are nothing after normalising
        ("the", ["cat"], 0, 0),
        ("cat", [], 0, 0),
    ],
)
def test_scores(said: str, answers: list[str], exact: float, shared: float) -> None:
    assert exact_match(said, answers) == exact
    assert f1(said, answers) == pytest.approx(shared)

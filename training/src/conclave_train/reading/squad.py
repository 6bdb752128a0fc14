"""Exact match and token F1 as SQuAD's evaluation script defines them (Rajpurkar et al. 2016, section 6.1)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))


def normalise(text: str) -> str:
    """Lower case, without ASCII punctuation and articles, single spaces."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(said: str, answers: Sequence[str]) -> float:
    """1 where ``said`` is one of the answers after normalising, else 0."""
    return float(any(normalise(said) == normalise(a) for a in answers))


def f1(said: str, answers: Sequence[str]) -> float:
    """The largest harmonic mean of precision and recall over the words that ``said`` shares with an answer."""
    return max((_f1(normalise(said).split(), normalise(a).split()) for a in answers), default=0.0)


def _f1(said: list[str], answer: list[str]) -> float:
    if not said or not answer:
        return float(said == answer)
    same = sum((Counter(said) & Counter(answer)).values())
    return 2 * same / (len(said) + len(answer))

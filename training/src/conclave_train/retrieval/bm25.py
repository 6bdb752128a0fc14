"""BM25 over the training passages, to find hard negatives.

The formula and the defaults are the server's (Lucene's: k1 0.9, b 0.4, no factor
k1+1), with exact document lengths, English stop words and Porter's stemmer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import Stemmer
from numpy.typing import NDArray

from conclave_train.data.records import Passage

_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['’]s\b")
_STOP = frozenset(
    """a an and are as at be but by for if in into is it no not of on or such that the their then there these they
    this to was will with""".split()
)


class BM25:
    """An index in memory: per term, the passages that hold it and what each is worth."""

    def __init__(self, passages: Sequence[Passage], k1: float = 0.9, b: float = 0.4) -> None:
        self._stem = Stemmer.Stemmer("porter")
        self.size = len(passages)
        counts = [Counter(self.words(f"{p.title}\n{p.text}")) for p in passages]
        lengths = np.array([sum(c.values()) for c in counts], np.float64)
        norms = k1 * (1 - b + b * lengths / max(1e-9, lengths.mean() if len(lengths) else 1.0))
        postings: dict[str, tuple[list[int], list[int]]] = {}
        for place, count in enumerate(counts):
            for word, times in count.items():
                places, frequencies = postings.setdefault(word, ([], []))
                places.append(place)
                frequencies.append(times)
        self._terms: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
        for word, (places, frequencies) in postings.items():
            at, tf = np.array(places), np.array(frequencies, np.float64)
            idf = np.log(1 + (self.size - len(at) + 0.5) / (len(at) + 0.5))
            self._terms[word] = (at, idf * tf / (tf + norms[at]))

    def words(self, text: str) -> list[str]:
        """Lower-cased, stemmed words without stop words."""
        words = [w for w in _WORD.findall(_POSSESSIVE.sub("", text.lower())) if w not in _STOP]
        return [w for w in self._stem.stemWords(words) if w]

    def search(self, question: str, k: int) -> list[int]:
        """The places of the first ``k`` passages, ties by place; passages without any word are left out."""
        scores = np.zeros(self.size)
        for word, times in Counter(self.words(question)).items():
            if word in self._terms:
                at, worth = self._terms[word]
                scores[at] += times * worth
        found = np.flatnonzero(scores > 0)
        if len(found) > k:
            floor = np.partition(scores[found], len(found) - k)[len(found) - k]
            found = found[scores[found] >= floor]
        return [int(i) for i in found[np.lexsort((found, -scores[found]))][:k]]

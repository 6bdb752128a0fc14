"""Questions made of passages alone: sentences taken out of them, and sentences with a salient span masked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from conclave_train.data.records import Passage, Question

MASK = "[MASK]"
SHORTEST = 5  # words of a sentence that is asked
KEPT = 0.1  # share of the sentences that stay in their passage, so that equal words are learned too
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")
_EDGES = re.compile(r"^[^\w]+|[^\w%]+$")


@dataclass(frozen=True)
class Cloze:
    """A question made of the passage at ``place``, and the passage as it is to be found."""

    question: Question
    passage: Passage
    place: int


def sentences(text: str) -> list[str]:
    """The sentences of a text, by their full stops, question and exclamation marks."""
    return [s.strip() for s in _SENTENCE.split(text) if s.strip()]


def inverse_cloze(passages: Sequence[Passage], seed: int) -> list[Cloze]:
    """One sentence of each passage of two or more, which the rest of the passage is to be found by.

    (Lee et al. 2019, inverse cloze task.) A tenth of the sentences stay where they are.
    """
    out = []
    for place, p in enumerate(passages):
        parts = sentences(p.text)
        long = [i for i, s in enumerate(parts) if len(s.split()) >= SHORTEST]
        if len(parts) < 2 or not long:
            continue
        random = np.random.default_rng([seed, 5, place])
        i = long[int(random.integers(len(long)))]
        rest = parts if random.random() < KEPT else parts[:i] + parts[i + 1 :]
        asked = Question(f"ict:{place}", parts[i], (p.id,))
        out.append(Cloze(asked, Passage(p.id, p.title, " ".join(rest)), place))
    return out


def masked_spans(passages: Sequence[Passage], seed: int) -> list[Cloze]:
    """One sentence of each passage with one of its salient spans masked, which is the answer.

    (Guu et al. 2020, REALM: masked salient spans; there by a tagger and patterns, here by :func:`spans`.)
    """
    out = []
    for place, p in enumerate(passages):
        found = [
            (s, a, b)
            for s in sentences(p.text)
            if len(s.split()) >= SHORTEST
            for a, b in spans(s)
            if b - a < len(s) / 2
        ]
        if not found:
            continue
        random = np.random.default_rng([seed, 6, place])
        s, a, b = found[int(random.integers(len(found)))]
        asked = Question(f"mss:{place}", f"{s[:a]}{MASK}{s[b:]}", (p.id,), (s[a:b],))
        out.append(Cloze(asked, p, place))
    return out


def spans(sentence: str) -> list[tuple[int, int]]:
    """Where numbers, dates and capitalised names stand: offsets ``[begin, end)``, in order.

    A name is a run of capitalised words, a number a word with a digit in it, a date or an amount a run of both. The
    first word of the sentence is capitalised anyway: it counts only in a run. A comma ends a run, except between
    numbers ("March 12, 2020").
    """
    words = []
    for match in re.finditer(r"\S+", sentence):
        bare = _EDGES.sub("", match[0])
        begin = match.start() + match[0].find(bare) if bare else match.end()
        ends = bool(bare) and match[0][match[0].find(bare) + len(bare) :]
        words.append((begin, begin + len(bare), bare, ends or ""))
    out: list[tuple[int, int]] = []
    run: list[int] = []

    def close() -> None:
        if run and (run != [0] or _number(words[0][2])):
            out.append((words[run[0]][0], words[run[-1]][1]))
        run.clear()

    for i, (_, _, bare, _) in enumerate(words):
        number = _number(bare)
        if not number and not _name(bare):
            close()
            continue
        if run:
            before = words[run[-1]]
            if before[3] and not (before[3] == "," and number and _number(before[2])):
                close()
        run.append(i)
    close()
    return out


def _number(word: str) -> bool:
    return any(c.isdigit() for c in word)


def _name(word: str) -> bool:
    return len(word) > 1 and word[0].isupper()

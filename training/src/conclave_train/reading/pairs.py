"""From a question and a passage to the reader's input, and the places of the answers in it.

``[CLS] question [SEP] title [SEP] text``, without a last [SEP], as DPR's reader
has it (reader_data.py); both [SEP] are there without a title too, so that the
text begins after the second one always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from conclave_train.data.records import Passage
from conclave_train.model.tokens import Ids, Tokens

LONGEST = 256  # tokens of a pair, in service
TITLE = 32  # tokens of a title
SPAN = 30  # tokens of an answer: at 10, three of five of a scientific collection's answers are lost
MOST_SPANS = 10  # gold spans of a pair that are learned from (DPR)

Span = tuple[int, int]  # the first and the last token


@dataclass(frozen=True)
class Pieces:
    """A text's word pieces: ids, their characters' places in the text, and each one's word."""

    ids: list[int]
    places: list[tuple[int, int]]
    words: list[int]

    def find(self, wanted: Sequence[int]) -> list[Span]:
        """Where the pieces ``wanted`` stand as whole words."""
        n, out = len(wanted), []
        for a in range(len(self.ids) - n + 1) if n else ():
            if self.ids[a] != wanted[0] or self.ids[a : a + n] != list(wanted):
                continue
            begins = a == 0 or self.words[a - 1] != self.words[a]
            ends = a + n == len(self.ids) or self.words[a + n] != self.words[a + n - 1]
            if begins and ends:
                out.append((a, a + n - 1))
        return out


@dataclass(frozen=True)
class Pair:
    """A question and a passage as one row of tokens; ``spans`` are the answers' places in ``ids``."""

    ids: Ids
    text_at: int  # the place of the text's first token
    spans: tuple[Span, ...] = ()


class Pairs:
    """Makes pairs of questions and passages, each tokenised once."""

    def __init__(self, tokens: Tokens, questions: Sequence[str], passages: Sequence[Passage], question_most: int):
        self.tokens, self.most = tokens, question_most
        self._questions = [q.strip() for q in questions]
        self._passages = passages
        self._asked: dict[int, list[int]] = {}
        self._read: dict[int, tuple[list[int], Pieces]] = {}

    def question(self, i: int) -> list[int]:
        """The ids of question i, cut."""
        if i not in self._asked:
            self._asked[i] = self.pieces(self._questions[i]).ids[: self.most]
        return self._asked[i]

    def passage(self, place: int) -> tuple[list[int], Pieces]:
        """The title's ids, cut, and the text's pieces."""
        if place not in self._read:
            p = self._passages[place]
            self._read[place] = (self.pieces(p.title.strip()).ids[:TITLE], self.pieces(p.text))
        return self._read[place]

    def pieces(self, text: str) -> Pieces:
        """A text's pieces; their places are those of Python's characters."""
        e = self.tokens.tokenizer.encode(text, add_special_tokens=False)
        return Pieces(list(e.ids), list(e.offsets), [-1 if w is None else w for w in e.word_ids])

    def pair(self, i: int, place: int, longest: int, answers: Sequence[str] = ()) -> Pair:
        """Question i with the passage at ``place``, at most ``longest`` tokens, the text cut.

        An answer with a character that the vocabulary lacks is not looked for: the
        pieces of another such word would be equal.
        """
        question, (title, text) = self.question(i), self.passage(place)
        wanted = [ids for ids in (self.pieces(a).ids for a in answers) if self.tokens.unknown not in ids]
        sep = self.tokens.sep
        head = [self.tokens.cls, *question, sep, *title, sep]
        room = max(0, longest - len(head))
        spans = gold(text, wanted, room)
        at = len(head)
        return Pair(
            np.array([*head, *text.ids[:room]][:longest], np.int32), at, tuple((at + a, at + b) for a, b in spans)
        )

    def words(self, place: int, pair: Pair, span: Span) -> str:
        """The characters of a span of a pair with the passage at ``place``."""
        text = self.passage(place)[1]
        begin, end = text.places[span[0] - pair.text_at][0], text.places[span[1] - pair.text_at][1]
        return self._passages[place].text[begin:end]


def gold(text: Pieces, answers: Sequence[Sequence[int]], room: int) -> list[Span]:
    """The first places of the answers among the first ``room`` pieces; longer ones than SPAN are left out."""
    found = {s for a in answers if len(a) <= SPAN for s in text.find(a) if s[1] < room}
    return sorted(found)[:MOST_SPANS]

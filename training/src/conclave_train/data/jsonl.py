"""JSON Lines: passages ``{"id","title","text"}``, questions ``{"id","question","answers","positive_ids"}``.

Passages may have ``tags`` and questions ``hard_negative_ids`` too. Other keys are passed over.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from conclave_train.data.lines import records
from conclave_train.data.records import Passage, Question
from conclave_train.errors import DataError

Labels = Literal["needed", "used", "ignored"]


def read_passages(paths: Sequence[Path]) -> list[Passage]:
    """The passages of all files; an id that comes twice is an error naming both places."""
    passages: list[Passage] = []
    places: dict[str, str] = {}
    for path in paths:
        before = len(passages)
        for record in records(path):
            passage = Passage(
                id=record.string("id", "_id"),
                title=record.string("title", default="", empty=True).strip(),
                text=record.string("text", "contents"),
                tags=record.strings("tags"),
            )
            here = f"{path}:{record.line}"
            if (first := places.setdefault(passage.id, here)) != here:
                raise record.fail("id", f"{passage.id!r} is the id of the passage at {first} too")
            passages.append(passage)
        if len(passages) == before:
            raise DataError(path, "holds no passage")
    return passages


def read_questions(paths: Sequence[Path], known: Container[str], labels: Labels = "needed") -> list[Question]:
    """The questions of all files. ``known`` are the passages' ids; any other id is an error.

    ``labels`` that are not "needed" may be missing or empty; of those that are "ignored", ids of
    other passages are passed over.
    """
    questions: list[Question] = []
    places: dict[str, str] = {}
    for path in paths:
        before = len(questions)
        for record in records(path):
            question = Question(
                id=record.string("id", "_id", default=f"{path.name}:{record.line}"),
                text=record.string("question", "text").strip(),
                positives=record.strings("positive_ids", needed=labels == "needed"),
                answers=record.strings("answers"),
                negatives=record.strings("hard_negative_ids"),
            )
            here = f"{path}:{record.line}"
            if (first := places.setdefault(question.id, here)) != here:
                raise record.fail("id", f"{question.id!r} is the id of the question at {first} too")
            if labels == "ignored":
                question = replace(
                    question,
                    positives=tuple(id for id in question.positives if id in known),
                    negatives=tuple(id for id in question.negatives if id in known),
                )
            for name, ids in (
                ("positive_ids", question.positives),
                ("hard_negative_ids", question.negatives),
            ):
                for i, id in enumerate(ids):
                    if id not in known:
                        raise record.fail(f"{name}[{i}]", f"{id!r} is the id of no passage given")
            if both := set(question.positives) & set(question.negatives):
                raise record.fail("hard_negative_ids", f"{min(both)!r} is among positive_ids too")
            questions.append(question)
        if len(questions) == before:
            raise DataError(path, "holds no question")
    return questions

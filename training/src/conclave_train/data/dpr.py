"""DPR's retriever training file: a JSON array (or JSON Lines) of

``{question, answers, positive_ctxs, negative_ctxs, hard_negative_ctxs}`` with contexts
``{title, text, passage_id | psg_id}``. A context without an id gets one from its text.
(facebookresearch/DPR, README, "Retriever input data format")
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from conclave_train.data.fields import Record
from conclave_train.data.lines import open_bytes, records
from conclave_train.data.records import Passage, Question
from conclave_train.errors import DataError


def read(path: Path) -> tuple[list[Passage], list[Question]]:
    """The questions with a positive, and every passage that any question names.

    Questions without a positive are left out, as DPR does. Hard negatives come
    first among the negatives and ordinary ones fill up behind them (DPR takes
    an ordinary one only where no hard one is there).
    """
    passages: dict[str, Passage] = {}
    questions: list[Question] = []
    total = 0
    for record in _records(path):
        total += 1
        groups = {
            name: tuple(dict.fromkeys(_context(ctx, passages) for ctx in record.objects(name)))
            for name in ("positive_ctxs", "hard_negative_ctxs", "negative_ctxs")
        }
        text = record.string("question").strip()
        positives = groups["positive_ctxs"]
        if not positives:
            continue
        negatives = groups["hard_negative_ctxs"] or groups["negative_ctxs"]
        questions.append(
            Question(
                id=record.string("id", "question_id", default=f"{path.name}:{total}"),
                text=text,
                positives=positives,
                answers=record.strings("answers"),
                negatives=tuple(id for id in negatives if id not in positives),
            )
        )
    if not questions:
        raise DataError(path, f"no question with a positive passage among {total} records")
    return list(passages.values()), questions


def _records(path: Path) -> Iterator[Record]:
    with open_bytes(path) as file:
        start = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start.startswith(b"["):
        yield from records(path)
        return
    with open_bytes(path) as file:
        try:
            values = json.loads(file.read().decode("utf-8-sig"))
        except json.JSONDecodeError as error:
            raise DataError(path, f"is not JSON: {error.msg} at column {error.colno}", line=error.lineno) from error
        except UnicodeDecodeError as error:
            raise DataError(path, f"byte {error.start} is not UTF-8") from error
    for i, value in enumerate(values):
        if not isinstance(value, dict):
            raise DataError(path, "is not a JSON object", place=f"record {i + 1}")
        yield Record(value, path, place=f"record {i + 1}")


def _context(record: Record, passages: dict[str, Passage]) -> str:
    title = record.string("title", default="", empty=True).strip()
    text = record.string("text")
    made = "sha256:" + hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()[:24]
    id = record.string("passage_id", "psg_id", default=made)
    old = passages.setdefault(id, Passage(id, title, text))
    if old.text != text:
        raise record.fail("text", f"another passage had the id {id!r} before")
    return id

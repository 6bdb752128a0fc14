"""Errors meant for people: what was wrong, with which value, what to do."""

from __future__ import annotations

from os import PathLike
from pathlib import Path


class TrainingError(Exception):
    """An error whose text is all that a person needs; the command prints it without a trace."""


class DataError(TrainingError):
    """Bad input data, with the place: ``file:line: field "x": problem``.

    ``line`` counts from 1; for a JSON array, which has records rather than
    lines, ``place`` says which record.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        problem: str,
        *,
        line: int | None = None,
        place: str = "",
        field: str = "",
    ) -> None:
        self.path, self.line, self.field, self.problem = Path(path), line, field, problem
        where = str(path)
        if line is not None:
            where += f":{line}"
        if place:
            where += f": {place}"
        if field:
            where += f': field "{field}"'
        super().__init__(f"{where}: {problem}")


class NoGainError(TrainingError):
    """What was trained is not better than what was there, on the questions kept back: nothing is published."""


class Interrupted(TrainingError):
    """The run was stopped; its state is on disk and the same command goes on from there."""

"""Taking typed fields out of decoded JSON, with errors that name the place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conclave_train.errors import DataError


@dataclass(frozen=True)
class Record:
    """One decoded JSON object and where it stands."""

    values: dict[str, Any]
    path: Path
    line: int | None = None
    place: str = ""

    def fail(self, field: str, problem: str) -> DataError:
        """The error for one field of this record, to be raised by the caller."""
        return DataError(self.path, problem, line=self.line, place=self.place, field=field)

    def string(self, *names: str, default: str | None = None, empty: bool = False) -> str:
        """The first of ``names`` that is there, as a string; with ``empty``, it may be blank."""
        for name in names:
            value = self.values.get(name)
            if value is None:
                continue
            if isinstance(value, int) and not isinstance(value, bool):
                value = str(value)  # ids are numbers in some collections
            if not isinstance(value, str):
                raise self.fail(name, f"is {_kind(value)}, and a string is needed")
            try:
                value.encode()
            except UnicodeEncodeError:  # half of a surrogate pair, from an escape
                raise self.fail(name, "holds a lone surrogate, which is no character") from None
            if not empty and not value.strip():
                raise self.fail(name, "is empty")
            return value
        if default is not None:
            return default
        raise self.fail(names[0], "is missing")

    def strings(self, name: str, *, needed: bool = False) -> tuple[str, ...]:
        """A list of strings; without ``needed`` it may be missing or empty."""
        value = self.values.get(name)
        if value is None and not needed:
            return ()
        if value is None:
            raise self.fail(name, "is missing")
        if not isinstance(value, list):
            raise self.fail(name, f"is {_kind(value)}, and a list of strings is needed")
        for i, item in enumerate(value):
            if not isinstance(item, str):
                raise self.fail(f"{name}[{i}]", f"is {_kind(item)}, and a string is needed")
        if needed and not value:
            raise self.fail(name, "is empty: a question needs at least one passage that answers it")
        return tuple(value)

    def objects(self, name: str) -> list[Record]:
        """A list of objects; it may be missing."""
        value = self.values.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fail(name, f"is {_kind(value)}, and a list of objects is needed")
        records = []
        for i, item in enumerate(value):
            if not isinstance(item, dict):
                raise self.fail(f"{name}[{i}]", f"is {_kind(item)}, and an object is needed")
            place = f"{self.place}, {name}[{i}]" if self.place else f"{name}[{i}]"
            records.append(Record(item, self.path, self.line, place))
        return records


def _kind(value: object) -> str:
    names = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), "null")

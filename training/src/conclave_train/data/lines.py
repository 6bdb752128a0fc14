"""JSON Lines files, gzip-compressed or not."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from conclave_train.data.fields import Record
from conclave_train.errors import DataError

# A line of this length is a binary file or a JSON array, not a record.
LONGEST_LINE = 64 << 20


def open_bytes(path: Path) -> BinaryIO:
    """Open ``path`` for reading, through gzip if it begins like a gzip file."""
    try:
        with path.open("rb") as probe:
            compressed = probe.read(2) == b"\x1f\x8b"
        return cast(BinaryIO, gzip.open(path, "rb") if compressed else path.open("rb"))
    except FileNotFoundError:
        raise DataError(path, "there is no such file") from None
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror or error}") from error


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers from 1; blank ones are passed over."""
    number = 0
    with open_bytes(path) as file:
        try:
            while raw := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(raw) > LONGEST_LINE:
                    raise DataError(path, f"the line is longer than {LONGEST_LINE} bytes", line=number)
                try:
                    text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise DataError(path, f"byte {error.start} is not UTF-8", line=number) from error
                if text.strip():
                    yield number, text
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(path, f"the gzip data are damaged: {error}", line=number + 1) from error


def records(path: Path) -> Iterator[Record]:
    """The JSON objects of a JSON Lines file."""
    for number, text in lines(path):
        try:
            value = json.loads(text)
        except json.JSONDecodeError as error:
            raise DataError(path, f"is not JSON: {error.msg} at column {error.colno}", line=number) from error
        except RecursionError as error:
            raise DataError(path, "is nested too deeply", line=number) from error
        if not isinstance(value, dict):
            raise DataError(path, "is not a JSON object", line=number)
        yield Record(value, path, number)

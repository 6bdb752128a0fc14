"""Answers of a server, read into the types of types.py."""

from __future__ import annotations

import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, cast


def read(wanted: Any, value: Any) -> Any:
    """JSON as a type of types.py. Fields that a newer server added are left out."""
    arguments = typing.get_args(wanted)
    if types.NoneType in arguments:
        return None if value is None else read(arguments[0], value)
    if typing.get_origin(wanted) is list and isinstance(value, list):
        return [read(arguments[0], item) for item in value]
    if not is_dataclass(wanted) or not isinstance(value, dict):
        return value
    given = {}
    for f in fields(wanted):
        hint = _hints(cast(type, wanted))[f.name]
        if value.get(f.name) is not None or (f.name in value and types.NoneType in typing.get_args(hint)):
            given[f.name] = read(hint, value[f.name])
        elif f.default is f.default_factory is MISSING:
            raise ValueError(f"the server did not answer as conclave does: there is no {f.name} in {value!s:.200}")
    return cast(type, wanted)(**given)


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)

"""What pydantic found wrong in an experiment file, in one line: expected, found, where."""

from __future__ import annotations

import types
import typing
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from featbert.errors import nearest


def told(table: type[BaseModel], error: dict[str, Any], top: Sequence[str]) -> str:
    """One mistake, with the nearest known key for an unknown one.

    Args:
        table: the model that was validated.
        error: as in `ValidationError.errors()`.
        top: keys known at the top of the file.
    """
    # Alternatives of a union (`int` or "none") are told by pydantic as places; they are no keys.
    place = ".".join(str(p) for p in error["loc"] if _is_key(p))
    if error["type"] == "extra_forbidden":
        known = _keys(table, error["loc"][:-1]) if len(error["loc"]) > 1 else top
        return f"unknown key {place!r}{nearest(str(error['loc'][-1]), known)}"
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    return f"{place}: {message}" + (
        "" if error["type"] == "value_error" else f" expected, found {error['input']!r}"
    )


def _is_key(part: Any) -> bool:
    return not (isinstance(part, str) and (part in ("int", "str") or "[" in part))


def _keys(table: type[BaseModel], place: tuple[Any, ...]) -> list[str]:
    """Keys known in the table at `place`."""
    for part in place:
        kind = table.model_fields[part].annotation
        if typing.get_origin(kind) is types.UnionType:
            kind = next(k for k in typing.get_args(kind) if k is not type(None))
        assert isinstance(kind, type)
        table = kind
    return list(table.model_fields)

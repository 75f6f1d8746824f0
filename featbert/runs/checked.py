"""Dataclasses from plain data, every field's type checked: how records are read."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import types
import typing
from typing import Any, Literal

from featbert.errors import InputError


class RecordError(InputError):
    """A run record that is damaged, foreign or of another format version."""


def build_checked(kind: type, data: Any, *, where: str) -> Any:
    """The dataclass `kind` from plain data, every field's type checked; raises RecordError."""
    return _build(kind, data, where, "")


@functools.cache
def _type_hints(kind: type) -> dict[str, Any]:
    """Field types of a dataclass; evaluating them takes longer than checking a record."""
    return typing.get_type_hints(kind)


def _build(kind: Any, value: Any, where: str, at: str) -> Any:
    """`value` as `kind`, checked all the way down; `at` is the dotted place in the record."""

    def refuse(expected: str) -> RecordError:
        found = type(value).__name__
        return RecordError(f"{expected} expected at {at or 'the top'} of {where}, found {found}")

    origin = typing.get_origin(kind)
    if kind is Any:
        return value
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in typing.get_args(kind):
            return None
        (inner,) = [k for k in typing.get_args(kind) if k is not type(None)]
        return _build(inner, value, where, at)
    if origin is Literal:
        if value not in typing.get_args(kind):
            raise refuse(f"one of {', '.join(map(str, typing.get_args(kind)))}")
        return value
    if origin is list:
        if not isinstance(value, list):
            raise refuse("a list")
        (inner,) = typing.get_args(kind)
        return [_build(inner, v, where, f"{at}[{i}]") for i, v in enumerate(value)]
    if origin is dict:
        if not isinstance(value, dict):
            raise refuse("a table")
        _, inner = typing.get_args(kind)
        return {k: _build(inner, v, where, f"{at}.{_key(k)}") for k, v in value.items()}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        if not isinstance(value, dict):
            raise refuse("a table")
        hints = _type_hints(kind)
        missing = [name for name in _required(kind) if name not in value]
        if missing:
            place = f"{at}." if at else ""
            raise RecordError(f"field {place}{missing[0]} expected in {where}, it is missing")
        return kind(
            **{
                n: _build(k, value[n], where, f"{at}.{n}".strip("."))
                for n, k in hints.items()
                if n in value
            }
        )
    if kind is float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise refuse("a number")
        try:
            number = float(value)
        except OverflowError:
            raise refuse("a number below 1e308") from None
        # A loss may diverge and take a mix with it; a score or a cost that is no number is damage.
        if at.startswith(("scores.", "cost.")) and not math.isfinite(number):
            raise refuse("a finite number")
        return number
    if kind is int and (isinstance(value, bool) or not isinstance(value, int)):
        raise refuse("a whole number")
    if kind is str and not isinstance(value, str):
        raise refuse("text")
    return value


def _key(name: str) -> str:
    """A table's key as messages show it: a plain word as it is, others quoted and cut."""
    return name if re.fullmatch(r"[\w-]{1,60}", name) else repr(name[:60])


def _required(kind: type) -> list[str]:
    """Fields without a default: a record that lacks them is damaged, not merely older."""
    return [
        f.name
        for f in dataclasses.fields(kind)
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]

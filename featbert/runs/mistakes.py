"""What pydantic found wrong in an experiment file, in one line: expected, found, where."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from featbert.errors import nearest

_EXPECTED = {
    "bool_type": "true or false",
    "date_type": "text",
    "dict_type": "a table",
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of fewer digits",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "a table",
    "string_type": "text in quotes",
}
# Characters of a mistake with what is to do about it.
LONGEST_MISTAKE = 400
# Characters of a key with those of its tables; one that is longer is a mistake itself.
LONGEST_PLACE = 120
# Tables and lists within one another; the files at hand have five at most.
DEEPEST = 20
_BOUNDS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("of at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("of at most", "le"),
}


def expectation(error: Mapping[str, Any]) -> str:
    """What was expected where pydantic found something else, in words.

    Args:
        error: as in `ValidationError.errors()`.
    """
    kind, context = str(error["type"]), error.get("ctx", {})
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return f"a number {words} {context[key]}"
    if kind == "literal_error":
        return str(context["expected"])
    if kind == "too_short":
        return f"a list of at least {context['min_length']}"
    if kind == "string_too_short":
        return "text that is not empty"
    return _EXPECTED.get(kind) or str(error["msg"]).removeprefix("Input should be ")


def told(
    table: type[BaseModel], errors: Iterable[Mapping[str, Any]], top: Sequence[str]
) -> list[str]:
    """All mistakes, a line each, with the nearest known key or value for an unknown one.

    Args:
        table: the model that was validated.
        errors: `ValidationError.errors()`.
        top: keys known at the top of the file.
    """
    lines: dict[str, None] = {}
    # What fits none of several alternatives (`int` or "none") is one mistake, not one for each.
    alternatives: dict[str, list[str]] = {}
    found: dict[str, Any] = {}
    for error in errors:
        # Alternatives are told by pydantic as places, too; they are no keys.
        place = cut(".".join(str(p) for p in error["loc"] if _is_key(p)), LONGEST_PLACE)
        if error["type"] == "extra_forbidden":
            known = _keys(table, error["loc"][:-1]) if len(error["loc"]) > 1 else top
            lines[f"unknown key {place!r}{nearest(str(error['loc'][-1]), known)}"] = None
        elif error["type"] == "value_error":
            lines[f"{place}: {str(error['msg']).removeprefix('Value error, ')}"] = None
        else:
            alternatives.setdefault(place, []).append(expectation(error))
            found[place] = error["input"]
    for place, expected in alternatives.items():
        wanted = " or ".join(dict.fromkeys(expected))
        near = nearest(found[place], _quoted(wanted)) if isinstance(found[place], str) else ""
        lines[f"{place}: {wanted} expected, found {shown(found[place])}{near}"] = None
    return list(lines)


def shown(value: Any, width: int = 200) -> str:
    """`value` as Python writes it, for a message: cut at `width` characters."""
    return cut(repr(value), width)


def cut(text: str, width: int) -> str:
    """`text`, or its beginning where it has more than `width` characters."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _quoted(text: str) -> list[str]:
    """What stands in quotes: "'a' or 'b'" -> a, b."""
    return text.split("'")[1::2]


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


def unusable(value: Any, place: str = "", depth: int = 0) -> str | None:
    """What in a file's data can be no part of any experiment, and would be too much for the checks.

    Args:
        place, depth: of `value` in the file.
    """
    if depth > DEEPEST:
        return f"tables in at most {DEEPEST} others expected, {place[:60]!r} has more"
    if isinstance(value, int) and value.bit_length() > 63:
        told = cut(place, LONGEST_PLACE)
        return f"{told}: a whole number of at most 64 bits expected, found a longer one"
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    found = (unusable(v, f"{place}.{k}".lstrip("."), depth + 1) for k, v in inner)
    return next(filter(None, found), None)

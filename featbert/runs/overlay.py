"""Keys laid over keys: how one experiment file says several things at once.

Tables are merged key by key, everything else is replaced. `combinations` makes the products of
`[variants]` and `[grid]`, which have the shape of the file itself with lists at the ends:

    [variants]
    context = ["sentence", "document"]
    [variants.finetune]
    freeze_to = ["none", 0, 3]
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from featbert.errors import InputError
from featbert.runs.mistakes import shown

# More are no experiment that anybody waits for, and would fill the memory before it is refused.
MOST_COMBINATIONS = 10_000


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the keys of `over` instead, tables merged; neither is changed."""
    result = dict(base)
    for key, value in over.items():
        before = result.get(key)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        result[key] = merged(before, value) if both else value  # type: ignore[arg-type]
    return result


def flattened(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys and values of the ends of a table."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def nested(key: str, value: Any) -> dict[str, Any]:
    """The table that a dotted key and its value stand for."""
    for part in reversed(key.split(".")):
        value = {part: value}
    result: dict[str, Any] = value
    return result


def combinations(table: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    """One overlay for each combination of the lists in `table`; one empty one for none.

    Raises:
        InputError: a key whose value is no list of at least one value, or more combinations than
            `MOST_COMBINATIONS`; told with `where`.
    """
    ends = list(flattened(table))
    for key, values in ends:
        if not isinstance(values, list) or not values:
            raise InputError(
                f"{where}.{key}: a list of values to try expected, found {shown(values)}; "
                f"as in {where}.{key} = [1, 2]"
            )
        if len({repr(v) for v in values}) != len(values):
            raise InputError(f"{where}.{key}: each value once expected, found {shown(values)}")
    if (count := math.prod(len(values) for _, values in ends)) > MOST_COMBINATIONS:
        raise InputError(
            f"{where}: at most {MOST_COMBINATIONS:,} combinations expected, found {count:,}"
        )
    overlays = []
    for values in itertools.product(*(values for _, values in ends)):
        overlay: dict[str, Any] = {}
        for (key, _), value in zip(ends, values, strict=True):
            overlay = merged(overlay, nested(key, value))
        overlays.append(overlay)
    return overlays

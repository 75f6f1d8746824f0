"""Ticks of logarithmic axes in units that people say: seconds, minutes, hours; GFLOP, TFLOP."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from featbert.report.figures import style

# A place on the axis, its label, and its rank: the lower, the rounder.
Tick: TypeAlias = tuple[float, str, int]

_SECOND, _MINUTE, _HOUR, _DAY = 1, 60, 3600, 86_400
_STEPS = ((1, 0), (10, 1), (5, 2), (30, 2), (2, 3), (20, 3))
_FLOPS = ("", "k", "M", "G", "T", "P", "E")
_APART = 0.12  # inches between labels
_BEYOND = 0.28  # that a label may reach over the end of an x axis


def times(low: float, high: float) -> list[Tick]:
    """Round times between two numbers of seconds."""
    found = [
        tick for tick in plain(low, min(high, 0.9), unit=" s") if tick[0] < _SECOND
    ]  # in decimals
    for unit, name in ((_SECOND, "s"), (_MINUTE, "min"), (_HOUR, "h")):
        steps = [step for step in _STEPS if unit != _HOUR or step[0] < 20]
        found += [(n * unit, f"{n} {name}", rank) for n, rank in steps]
    days = plain(1.0, max(high / _DAY, 1.0), unit=" d")
    found += [(n * _DAY, label, rank) for n, label, rank in days]
    return sorted(tick for tick in found if low <= tick[0] <= high)


def operations(low: float, high: float) -> list[Tick]:
    """Round numbers of operations between two numbers of them."""

    def label(number: float) -> str:
        power = min(max(int(math.log10(number) + 1e-9) // 3, 0), len(_FLOPS) - 1)
        return f"{number / 1000**power:.10g} {_FLOPS[power]}FLOP"

    return [(number, label(number), rank) for number, _, rank in plain(low, high)]


def plain(low: float, high: float, *, unit: str = "") -> list[Tick]:
    """1, 2 and 5 times powers of ten between two numbers above 0."""
    if not 0 < low <= high:
        return []
    found = []
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for digit, rank in ((1, 0), (2, 2), (5, 1)):
            number = float(f"{digit}e{power}")
            if low <= number <= high:
                found.append((number, f"{number:.10g}{unit}", rank))
    return found


def around(
    numbers: Sequence[float], ticks: Callable[[float, float], list[Tick]], *, room: float = 1.2
) -> tuple[float, float]:
    """Limits around numbers above 0, wide enough for two ticks."""
    low, high = min(numbers) / room, max(numbers) * room
    while len(ticks(low, high)) < 2:
        low, high = max(low / 1.2, 1e-300), min(high * 1.2, 1e300)
    return low, high


def fitting(
    ticks: Sequence[Tick], limits: tuple[float, float], inches: float, *, upright: bool = False
) -> list[Tick]:
    """The ticks whose labels keep apart on an axis of `inches`, rounder ones before others.

    Args:
        upright: whether the axis is a y axis, along which a label takes its height.
    """
    low, high = (math.log(limit) for limit in limits)
    kept: list[tuple[float, float, Tick]] = []
    for tick in sorted(ticks, key=lambda tick: tick[2]):
        middle = inches * (math.log(tick[0]) - low) / (high - low)
        along = style.line_height(style.SMALL) - 0.04
        half = along / 2 if upright else (style.text_width(tick[1], style.SMALL) + _APART) / 2
        if not upright and middle + half - _APART / 2 > inches + _BEYOND:
            continue
        if all(middle + half <= start or middle - half >= end for start, end, _ in kept):
            kept.append((middle - half, middle + half, tick))
    return sorted(tick for _, _, tick in kept)

"""Contestants in turn in one process, so that what the machine does meanwhile hits all alike."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence

from benchmarks.record import Spread, spread

# Does its work in a round (numbered from 1) and says the seconds that count.
Work = Callable[[int], float]


def in_turn(works: Mapping[str, Work], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contestant by round.

    Every round has all of them, every second round in the opposite order, so that nobody always
    comes after the one that warms the processor. Garbage is collected between them.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for number in range(1, rounds + 1):
        order = list(works) if number % 2 else list(works)[::-1]
        for name in order:
            gc.collect()
            seconds[name].append(works[name](number))
    return seconds


def ratio(slower: Sequence[float], faster: Sequence[float]) -> Spread:
    """How many times faster, round by round: neighbours in time are compared."""
    return spread([s / f for s, f in zip(slower, faster, strict=True)])

"""What other processes do for the same experiment: left to them, and waited for at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from featbert.io import is_locked

# Seconds between two looks at what is waited for.
LOOK_EVERY = 0.2


class Elsewhere:
    """Runs and encoders that wait for another process, by name, and the lock that it has."""

    def __init__(self, on_wait: Callable[[str], None] | None = None) -> None:
        """`on_wait` hears, once each, what is waited for."""
        self._locks: dict[str, tuple[str, Path]] = {}
        self._told: set[str] = set()
        self._on_wait = on_wait

    def __contains__(self, name: str) -> bool:
        return name in self._locks

    def add(self, name: str, error: Exception, lock: Path) -> None:
        """What another process trains, adapts or extracts for, as an error said."""
        told, _, advice = str(error).rpartition("; ")
        self._locks[name] = (told or advice, lock)

    def wait(self) -> None:
        """Until one of the locks is free; those that are free then are forgotten."""
        for told, _ in self._locks.values():
            if self._on_wait is not None and told not in self._told:
                self._on_wait(told)
            self._told.add(told)
        while all(is_locked(lock) for _, lock in self._locks.values()):
            time.sleep(LOOK_EVERY)
        self._locks = {
            n: (told, lock) for n, (told, lock) in self._locks.items() if is_locked(lock)
        }

"""What reading costs: bytes that a process asked for and bytes that came from the disk (Linux)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from featbert.errors import InputError

COUNTERS = Path("/proc/self/io")


@dataclass(frozen=True)
class Read:
    """One reading: seconds, bytes asked for, and bytes that the disk gave."""

    seconds: float
    asked: int
    from_disk: int


def read_cold(path: Path, read: Callable[[], object]) -> Read:
    """Carries out `read` after the system has forgotten what it holds of the file.

    Raises:
        InputError: a system without the counters.
    """
    forget(path)
    asked, disk = counters()
    started = time.perf_counter()
    read()
    seconds = time.perf_counter() - started
    asked_after, disk_after = counters()
    return Read(seconds, asked_after - asked, disk_after - disk)


def forget(path: Path) -> None:
    """Drops the file's pages from the page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def counters() -> tuple[int, int]:
    """Bytes that this process has asked for, and bytes that the disk has given it."""
    try:
        lines = dict(line.split(": ") for line in COUNTERS.read_text("utf-8").splitlines())
        return int(lines["rchar"]), int(lines["read_bytes"])
    except OSError:
        raise InputError(f"counters of bytes expected in {COUNTERS}, as Linux has them") from None

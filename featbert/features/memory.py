"""Memory of this process: what is left, what was taken at most, and how it is given back."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

from featbert.features.device import Device

# Parameters of mallopt (malloc.h of glibc).
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
# Where glibc's own adjustment ends in a process that frees large blocks: trim, mmap.
USUAL = (64 << 20, 32 << 20)
KEPT = (2**31 - 1, 1 << 30)


@contextlib.contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Within it, blocks that are freed serve the next ones instead of going back to the system.

    A training step frees and takes the same large blocks again and again (the gradient of the word
    embeddings above all), and each comes back as pages that the system must clear first. Afterwards
    what is unused is given back. glibc's malloc alone; nothing happens elsewhere.
    """
    _set_thresholds(KEPT)
    try:
        yield
    finally:
        _set_thresholds(USUAL)
        _give_back()


def available_memory() -> int:
    """Bytes that a process can still take without pushing others out; 0 where nobody says."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/meminfo").read_text("utf-8").split("\n")
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    with contextlib.suppress(ValueError, OSError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 0


def reset_peak_memory(device: Device) -> None:
    """Begins a new measurement of the highest memory, where the system can.

    What earlier work left to the allocator is given back first, so that it does not count.
    """
    gc.collect()
    if device.kind == "cuda":
        torch.cuda.reset_peak_memory_stats()
    _give_back()
    with contextlib.suppress(OSError):  # Linux: sets VmHWM to the present size
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory(device: Device) -> int:
    """Highest memory in bytes since the reset: allocated on the GPU, or resident here."""
    if device.kind == "cuda":
        return int(torch.cuda.max_memory_allocated())
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text("utf-8").split("\n")
        line = next(line for line in lines if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _set_thresholds(thresholds: tuple[int, int]) -> None:
    with contextlib.suppress(OSError, AttributeError):  # glibc
        libc = ctypes.CDLL(None)
        for name, value in zip((TRIM_THRESHOLD, MMAP_THRESHOLD), thresholds, strict=True):
            libc.mallopt(name, value)


def _give_back() -> None:
    with contextlib.suppress(OSError, AttributeError):  # glibc
        ctypes.CDLL(None).malloc_trim(0)

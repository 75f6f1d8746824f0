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

from featbert.errors import InputError
from featbert.features.device import Device

# Parameters of mallopt (malloc.h of glibc).
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
CONTROL_GROUPS = Path("/sys/fs/cgroup")
# Where glibc's own adjustment ends in a process that frees large blocks: trim, mmap.
USUAL = (64 << 20, 32 << 20)
KEPT = (2**31 - 1, 1 << 30)
# Bytes of a float32 parameter; of one that is trained: itself, its gradient, Adam's two moments.
FROZEN_BYTES, TRAINED_BYTES = 4, 16


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


class NoRoomError(InputError):
    """Work that needs more memory than there is, as is known before it begins."""


def check_memory(need: int, device: Device, *, what: str, less: str) -> None:
    """Refuses work that cannot succeed.

    Args:
        need: bytes that it takes at least.
        what: the work: "fine-tuning bert-large-cased".
        less: what to do where there is no room.

    Raises:
        NoRoomError: the device has less left.
    """
    have = available_memory()
    if device.kind == "cuda":
        have = torch.cuda.mem_get_info()[0]
    if 0 < have < need:
        raise NoRoomError(
            f"{need / 1e9:.1f} GB of memory at least expected for {what}, {have / 1e9:.1f} GB are "
            f"left; {less}"
        )


def available_memory() -> int:
    """Bytes that this process can still take without pushing others out; 0 where nobody says.

    Of a container or a batch job that is what is left of its limit, where that is less.
    """
    known = [_of_machine(), *map(_of_group, _groups()), _of_process()]
    return max(0, min((left for left in known if left is not None), default=0))


def _of_machine() -> int | None:
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/meminfo").read_text("utf-8").split("\n")
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    with contextlib.suppress(ValueError, OSError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _groups() -> list[Path]:
    """The control groups (version 2) that this process is in, as containers and services are."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/cgroup").read_text("utf-8").split("\n")
        own = CONTROL_GROUPS / next(line for line in lines if line.startswith("0::"))[4:]
        return [folder for folder in (own, *own.parents) if folder.is_relative_to(CONTROL_GROUPS)]
    return []


def _of_group(folder: Path) -> int | None:
    """What is left of a control group's limit."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        limit = int((folder / "memory.max").read_text("utf-8"))  # "max" where there is none
        taken = int((folder / "memory.current").read_text("utf-8"))
        lines = (folder / "memory.stat").read_text("utf-8").split("\n")
        # Files that were read and are not in use: they give way.
        files = next(line for line in lines if line.startswith("inactive_file "))
        return limit - taken + int(files.split()[1])
    return None


def _of_process() -> int | None:
    """What is left of the limit of this process's addresses (`ulimit -v`)."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text("utf-8").split()[0])
        return limit - pages * resource.getpagesize()
    return None


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

"""Memory of this process: what is left, what was taken at most, and how it is given back."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

from featbert.encoders.device import Device
from featbert.errors import InputError

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
        _trim()


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
    if _lacks(need, device) is not None:
        give_back()  # what earlier work left may be in the way
        if (have := _lacks(need, device)) is not None:
            raise NoRoomError(
                f"{need / 1e9:.1f} GB of memory at least expected for {what}, {have / 1e9:.1f} GB "
                f"are left; {less}"
            )


def _lacks(need: int, device: Device) -> int | None:
    """The bytes that are left where they are fewer than what is needed, the swap included."""
    have: int | None
    if device.kind == "cuda":
        unused = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        have = torch.cuda.mem_get_info()[0] + unused
    elif (have := available_memory()) is not None:
        have += _of_machine("SwapFree:") or 0
    return have if have is not None and have < need else None


def available_memory() -> int | None:
    """Bytes that this process can still take without pushing others out; None where nobody says.

    Of a container or a batch job that is what is left of its limit, where that is less.
    """
    known = [_of_machine(), *map(_of_group, _groups()), _of_process()]
    left = [bytes_left for bytes_left in known if bytes_left is not None]
    return max(0, min(left)) if left else None


def _of_machine(name: str = "MemAvailable:") -> int | None:
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/meminfo").read_text("utf-8").split("\n")
        return int(next(line for line in lines if line.startswith(name)).split()[1]) * 1024
    return None


def _groups(listed: Path = Path("/proc/self/cgroup"), root: Path = CONTROL_GROUPS) -> list[Path]:
    """The control groups that this process is in, as containers and services are: folders.

    Version 2 has one tree of groups ("0::/..."), version 1 one for memory ("4:memory:/...").
    """
    found: list[Path] = []
    with contextlib.suppress(OSError, ValueError):
        for line in listed.read_text("utf-8").split("\n"):
            number, _, rest = line.partition(":")
            kinds, _, place = rest.partition(":")
            top = root / "memory" if "memory" in kinds.split(",") else root
            if place.startswith("/") and (top != root or (number, kinds) == ("0", "")):
                own = top / place.lstrip("/")
                found += [f for f in (own, *own.parents) if f.is_relative_to(top)]
    return found


def _of_group(folder: Path) -> int | None:
    """What is left of a control group's limit; files that were read give way."""
    for limit, taken, given in (
        ("memory.max", "memory.current", ("inactive_file", "active_file", "slab_reclaimable")),
        (
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            ("total_inactive_file", "total_active_file"),
        ),
    ):
        with contextlib.suppress(OSError, ValueError):  # "max" where there is none
            most = int((folder / limit).read_text("utf-8"))
            now = int((folder / taken).read_text("utf-8"))
            rows = (folder / "memory.stat").read_text("utf-8").split("\n")
            stat = dict(row.split() for row in rows if row)
            return most - now + sum(int(stat.get(name, 0)) for name in given)
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
    _trim()
    with contextlib.suppress(OSError):  # Linux: sets VmHWM to the present size
        Path("/proc/self/clear_refs").write_text("5")


def give_back() -> None:
    """Gives back to the system what nobody uses any more, on a GPU too."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    _trim()


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


def _trim() -> None:
    with contextlib.suppress(OSError, AttributeError):  # glibc
        ctypes.CDLL(None).malloc_trim(0)

"""Memory of this process: what is left, what it took at most, and how it is given back."""

import contextlib
import ctypes
import gc
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import torch

from featbert.encoders.device import Device
from featbert.errors import InputError

# Parameters of mallopt (malloc.h of glibc): trim and mmap thresholds, and where glibc's own
# adjustment of these ends in a process that frees large blocks.
USUAL = {-1: 64 << 20, -3: 32 << 20}
KEPT = {-1: 2**31 - 1, -3: 1 << 30}
# Bytes of a float32 parameter; of one that is trained: itself, its gradient, Adam's two moments.
FROZEN_BYTES, TRAINED_BYTES = 4, 16


@contextlib.contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Within it, glibc's freed blocks serve the next ones; afterwards they are given back."""
    _glibc("mallopt", *KEPT.items())
    try:
        yield
    finally:
        _glibc("mallopt", *USUAL.items())
        _glibc("malloc_trim", (0,))


def check_memory(need: int, device: Device, *, what: str, less: str) -> None:
    """Raises InputError where `what` needs more bytes than are left on the device; `less` helps."""
    if _free(device) < need:
        give_back()  # what earlier work left may be in the way
    have = _free(device)
    if have < need:
        raise InputError(
            f"too little memory for {what}: {have / 1e9:.1f} GB are left, it takes "
            f"{need / 1e9:.1f} GB at least; {less}"
        )


def _free(device: Device) -> int:
    """Bytes that are left on the device; on a processor with its swap."""
    if device.kind == "cuda":
        unused = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        return int(torch.cuda.mem_get_info()[0]) + unused
    return available_memory() + int(psutil.swap_memory().free)


def available_memory() -> int:
    """Bytes left without swapping, or of a limit of the process, a container or a batch job."""
    left = [int(psutil.virtual_memory().available), *_left_of_groups()]
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        left.append(limit - int(psutil.Process().memory_info().vms))
    return max(0, min(left))


# Of control groups of version 2, and of 1: the folder, and what is there.
_GROUPS = {
    "0::": ("", "memory.max", "memory.current", ("inactive_file", "active_file")),
    "memory": (
        *("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
        ("total_inactive_file", "total_active_file"),
    ),
}


def _left_of_groups(
    listed: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> list[int]:
    """What is left of each control group's limit; pages of files do not count."""
    found = []
    with contextlib.suppress(OSError):
        for line in listed.read_text("utf-8").splitlines():
            number, kinds, path = line.split(":", 2)
            version = "0::" if number == "0" else "memory" * ("memory" in kinds.split(","))
            if version not in _GROUPS:
                continue
            folder, *names, kept = _GROUPS[version]
            top = root / str(folder)
            own = top / path.lstrip("/")
            for group in [own, *own.parents][: len(own.parts) - len(top.parts) + 1]:
                with contextlib.suppress(OSError, ValueError):  # "max" where there is no limit
                    limit, used = (int((group / str(name)).read_text("utf-8")) for name in names)
                    stat = (group / "memory.stat").read_text("utf-8")
                    sizes = dict(entry.split() for entry in stat.splitlines())
                    files = sum(int(sizes.get(name, 0)) for name in (*kept, "slab_reclaimable"))
                    found.append(limit - used + files)
    return found


def reset_peak_memory(device: Device) -> None:
    """Starts a new measurement of the highest memory, without what earlier work left unused."""
    gc.collect()
    if device.kind == "cuda":
        torch.cuda.reset_peak_memory_stats()
    _glibc("malloc_trim", (0,))
    with contextlib.suppress(OSError):  # Linux: sets VmHWM to the present size
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory(device: Device) -> int:
    """Highest memory in bytes since the reset: allocated on the GPU, or resident here."""
    if device.kind == "cuda":
        return int(torch.cuda.max_memory_allocated())
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text("utf-8").split("\n")
        return int(next(n for n in lines if n.startswith("VmHWM:")).split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def give_back() -> None:
    """Gives unused memory back to the system, on a GPU too."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    _glibc("malloc_trim", (0,))


def _glibc(function: str, *calls: tuple[int, ...]) -> None:
    with contextlib.suppress(OSError, AttributeError):  # not glibc
        for arguments in calls:
            getattr(ctypes.CDLL(None), function)(*arguments)

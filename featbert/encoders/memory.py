"""Memory of this process: free and peak memory, and memory returned to the system."""

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

# Parameters of mallopt (malloc.h of glibc): trim and mmap thresholds. The usual ones are those that
# glibc itself reaches in a process that frees large blocks.
USUAL_THRESHOLDS = {-1: 64 << 20, -3: 32 << 20}
KEEPING_THRESHOLDS = {-1: 2**31 - 1, -3: 1 << 30}
# Bytes of a float32 parameter. A trained one has a gradient and two moments of Adam, too.
FROZEN_BYTES, TRAINED_BYTES = 4, 16


@contextlib.contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Within it, glibc reuses freed blocks. Afterwards they are returned to the system."""
    _glibc("mallopt", *KEEPING_THRESHOLDS.items())
    try:
        yield
    finally:
        _glibc("mallopt", *USUAL_THRESHOLDS.items())
        _glibc("malloc_trim", (0,))


def check_memory(need: int, device: Device, *, what: str, less: str) -> None:
    """Raises InputError if `what` needs more bytes than the device has free. `less` is advice."""
    if _free(device) < need:
        give_back()  # unused memory of earlier work
    free = _free(device)
    if free < need:
        raise InputError(
            f"too little memory for {what}: {free / 1e9:.1f} GB are left, it takes "
            f"{need / 1e9:.1f} GB at least; {less}"
        )


def _free(device: Device) -> int:
    """Free bytes of the device, or of a processor with its swap."""
    if device.kind == "cuda":
        unused = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        return int(torch.cuda.mem_get_info()[0]) + unused
    return available_memory() + int(psutil.swap_memory().free)


def available_memory() -> int:
    """Free bytes without swapping, within limits of the process, a container or a batch job."""
    free = [int(psutil.virtual_memory().available), *_free_in_groups()]
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        free.append(limit - int(psutil.Process().memory_info().vms))
    return max(0, min(free))


# Files of control groups: folder, limit, usage, and pages of files in memory.stat.
_VERSION_2 = ("", "memory.max", "memory.current", ("inactive_file", "active_file"))
_VERSION_1 = (
    *("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ("total_inactive_file", "total_active_file"),
)


def _free_in_groups(
    groups_file: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> list[int]:
    """Bytes up to the limit of each control group. Pages of files do not count as used."""
    free = []
    lines: list[str] = []
    with contextlib.suppress(OSError):
        lines = groups_file.read_text("utf-8").splitlines()
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number != "0" and "memory" not in controllers.split(","):
            continue
        folder, limit_file, usage_file, pages = _VERSION_2 if number == "0" else _VERSION_1
        top = root / folder
        group = top / path.lstrip("/")
        for level in [group, *group.parents][: len(group.parts) - len(top.parts) + 1]:
            with contextlib.suppress(OSError, ValueError):  # "max" is no limit
                limit, used = (
                    int((level / name).read_text("utf-8")) for name in (limit_file, usage_file)
                )
                stat = (level / "memory.stat").read_text("utf-8").splitlines()
                sizes = dict(entry.split() for entry in stat)
                files = sum(int(sizes.get(name, 0)) for name in (*pages, "slab_reclaimable"))
                free.append(limit - used + files)
    return free


def reset_peak_memory(device: Device) -> None:
    """Starts a new measurement of peak memory, after unused memory is returned."""
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
    """Returns unused memory to the system, also of a GPU."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    _glibc("malloc_trim", (0,))


def _glibc(function: str, *calls: tuple[int, ...]) -> None:
    with contextlib.suppress(OSError, AttributeError):  # not glibc
        for arguments in calls:
            getattr(ctypes.CDLL(None), function)(*arguments)

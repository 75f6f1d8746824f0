"""The machine's devices and precisions. Their names do not load torch, only functions do."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import platform
import re
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from featbert.errors import FeatbertError, InputError, check_known, spelling
from featbert.progress import stage
from featbert.versions import library_versions

if TYPE_CHECKING:
    import torch
    from torch import Tensor

# Solvers compute in fp64. Models compute in the others.
Precision = Literal["fp32", "bf16", "fp16", "fp64"]
PRECISIONS = ("auto", "fp32", "bf16", "fp16")
DEVICES = dict.fromkeys(("auto", "cpu", "cuda", "mps"))

# The number of torch's threads before `use_threads` set another one, if it did.
_THREADS_BEFORE: list[int] = []
# Bytes of address space that a process takes which has loaded a library.
ADDRESS_SPACE = {"scipy": 700_000_000, "torch": 1_300_000_000}


@dataclass(frozen=True)
class Device:
    """A device that computes, as signatures name it."""

    kind: str  # "cpu", "cuda" or "mps"
    name: str
    threads: int  # of torch, on the processor
    number: int | None = None  # of the chosen GPU among several

    @property
    def spec(self) -> str:
        """Its name for `find_device`, such as cuda:1."""
        return self.kind if self.number is None else f"{self.kind}:{self.number}"

    @property
    def torch(self) -> torch.device:
        import torch

        return torch.device(self.kind)

    @property
    def facts(self) -> dict[str, Any]:
        """Fields of records: the device and the versions of libraries."""
        return {
            "device": self.kind,
            "device_name": self.name,
            "threads": self.threads,
            "versions": library_versions(),
        }


def check_address_space(library: str) -> None:
    """Raises FeatbertError if a limit of the process leaves too little for a library.

    OpenBLAS, which scipy brings, would wait for memory without end while it is imported.
    """
    limit, need = resource.getrlimit(resource.RLIMIT_AS)[0], ADDRESS_SPACE[library]
    if limit != resource.RLIM_INFINITY and limit < need:
        raise FeatbertError(
            f"a limit (ulimit -v) leaves {limit / 1e6:,.0f} MB of address space, loading {library} "
            f"takes {need / 1e6:,.0f} MB at least; raise it"
        )


def load_torch(threads: int | None = None) -> None:
    """Imports torch as a stage. It makes half a million objects that garbage collection skips."""
    if "torch" not in sys.modules:
        check_address_space("torch")
        with stage("loading torch", ""):
            gc.disable()
            importlib.import_module("torch")
            gc.enable()
            gc.freeze()
    use_threads(threads)


def use_threads(n: int | None) -> None:
    """Sets torch's number of threads. With None it is the one before any was set here."""
    if n is None and not _THREADS_BEFORE:
        return
    import torch

    if n is None:
        n = _THREADS_BEFORE.pop()
    elif not _THREADS_BEFORE:
        _THREADS_BEFORE.append(torch.get_num_threads())
    torch.set_num_threads(n)


@contextlib.contextmanager
def computing_threads(n: int) -> Iterator[None]:
    """Within the block torch computes on `n` threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def find_device(spec: str = "auto") -> Device:
    """The device to compute on. "auto" takes a GPU of CUDA if there is one.

    A number, as in "cuda:1", sets torch's current GPU. InputError for a device that is absent.
    """
    kind, colon, digits = spec.partition(":")
    check_known(spelling("device"), [kind], DEVICES)
    if colon and (kind != "cuda" or not re.fullmatch("[0-9]{1,3}", digits)):
        raise InputError(f"{spec!r} is no GPU with its number, as in cuda:1", setting="device")
    number = int(digits) if colon else None
    import torch

    gpu, threads = torch.cuda.is_available(), torch.get_num_threads()
    if gpu:  # fp32 means fp32, in the LSTM (cuDNN) as in the encoder
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
    available = {"cuda": gpu, "mps": torch.backends.mps.is_available()}
    if not available.get(kind, True):
        raise InputError(f"is {spec}, but torch finds no GPU; use auto or cpu", setting="device")
    if not gpu or kind in ("cpu", "mps"):
        return Device(kind if kind == "mps" else "cpu", processor_name(), threads)
    if number is not None:
        if number >= (count := torch.cuda.device_count()):
            raise InputError(f"no GPU cuda:{number}; torch finds cuda:0 to cuda:{count - 1}")
        torch.cuda.set_device(number)
    return Device("cuda", torch.cuda.get_device_name(), threads, number)


def has_fast_bf16(kind: str) -> bool:
    """Whether a kind of device multiplies bfloat16 matrices faster than float32 ones.

    Emulated it is slower. Intel's processors from Sapphire Rapids on multiply it in AMX. Without
    AMX, which a virtual machine may hide, they take twice the time of fp32 (`benchmarks`).
    """
    import torch

    if kind != "cpu":  # Apple's was never measured
        return kind == "cuda" and bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if _processor_has("avx512_fp16") and processor_name().startswith("Intel"):
        return has_amx()
    return _processor_has("avx512_bf16", "amx_bf16", "bf16", "arm_bf16")


def has_amx() -> bool:
    """Whether the processor multiplies tiles of bfloat16 matrices."""
    return _processor_has("amx_bf16")


def _processor_has(*capabilities: str) -> bool:
    import torch

    present: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(present.get(name, False) for name in capabilities)


def find_precision(name: str, device: Device) -> Precision:
    """The precision to compute in: "auto" is bf16 if that is faster, else fp32."""
    check_known(spelling("precision"), [name], PRECISIONS)
    if name == "auto":
        return "bf16" if has_fast_bf16(device.kind) else "fp32"
    if name == "fp16" and device.kind != "cuda":
        raise InputError("fp16 computes on a GPU of CUDA only; elsewhere use fp32 or auto")
    return cast(Precision, name)


def torch_dtype(precision: str) -> torch.dtype:
    """torch's type of numbers in this precision."""
    import torch

    return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]


def autocast(device: Device, precision: Precision) -> AbstractContextManager[None]:
    """Within it, products of fp32 weights are computed in `precision`, but never in fp64."""
    if precision in ("fp32", "fp64"):
        return contextlib.nullcontext()
    import torch

    return torch.autocast(device.kind, dtype=torch_dtype(precision))


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor on `device`. The host does not wait for the copy."""
    if device.type == "cuda" and not tensor.is_cuda:
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


class Stopwatch:
    """Seconds that blocks of work take on a device. Nobody waits for the device meanwhile."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._seconds = 0.0
        self._events: list[tuple[torch.Event, torch.Event]] = []

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Within it the time counts."""
        import torch

        if self.device.type == "cpu":
            clock = time.perf_counter()
            yield
            self._seconds += time.perf_counter() - clock
            return
        begin, end = (torch.Event(self.device, enable_timing=True) for _ in range(2))
        begin.record()
        yield
        end.record()
        self._events.append((begin, end))

    @property
    def seconds(self) -> float:
        """Seconds of all blocks. Waits for the device."""
        for _, end in self._events:
            end.synchronize()
        return self._seconds + sum(a.elapsed_time(b) for a, b in self._events) / 1000


@functools.cache
def processor_name() -> str:
    """The processor as the system names it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8").split("\n"):
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()

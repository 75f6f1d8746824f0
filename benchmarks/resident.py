"""Memory of a piece of work in a process of its own, above what the process holds before it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from featbert.encoders.device import Device
from featbert.encoders.memory import peak_memory, reset_peak_memory
from featbert.errors import InputError

STATUS = Path("/proc/self/status")
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Peak:
    """Resident bytes before a piece of work, and at most during it."""

    before: int
    highest: int

    @property
    def above(self) -> int:
        """What the work took."""
        return self.highest - self.before


def peak_of(work: Callable[[], object], device: Device) -> Peak:
    """Carries out `work`; memory that earlier work left unused is given back first."""
    reset_peak_memory(device)
    before = resident()
    work()
    return Peak(before, peak_memory(device))


def resident() -> int:
    """Resident bytes of this process (Linux).

    Raises:
        InputError: another system.
    """
    try:
        lines = STATUS.read_text("utf-8").split("\n")
    except OSError:
        raise InputError(f"a process's size expected in {STATUS}, as Linux has it") from None
    return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1]) * 1024


def in_own_process(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """What `work` returns, from a process that has done nothing before."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *args, **named).result()

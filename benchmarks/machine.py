"""The machine: what it is, and the rate at which it multiplies matrices.

The rate is measured by torch's own product of like shape in the same run, so that a benchmark can
say how far from it the work is: operations by shape, over seconds, over the rate.
"""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch.nn import functional

from featbert.encoders.device import (
    DTYPES,
    Device,
    Precision,
    find_device,
    find_precision,
    has_native_bf16,
)
from featbert.versions import library_versions

CHUNKS = 7
CHUNK_SECONDS = 0.1


@dataclass(frozen=True)
class Product:
    """The product that a layer is made of: (rows, inner) by (inner, columns)."""

    rows: int
    inner: int
    columns: int

    @property
    def flops(self) -> float:
        """A multiply-add counts as two."""
        return 2.0 * self.rows * self.inner * self.columns

    def __str__(self) -> str:
        return f"{self.rows}x{self.inner}x{self.columns}"


def cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def precisions(device: Device) -> list[str]:
    """fp32, and what `--precision auto` is here where that is another one."""
    return list(dict.fromkeys(["fp32", str(find_precision("auto", device))]))


def facts(device: Device | None = None) -> dict[str, Any]:
    """Processor or GPU, cores, threads, whether bfloat16 is native, versions; no names of hosts."""
    device = device or find_device()
    processor = find_device("cpu")
    return {
        "processor": processor.name,
        "cores": cores(),
        "threads": torch.get_num_threads(),
        "gpu": device.name if device.kind == "cuda" else None,
        "bf16": "native" if has_native_bf16(device) else "emulated",
        "system": f"{platform.system()} {platform.machine()}",
        "versions": library_versions(),
    }


def matmul_rate(product: Product, precision: str, device: Device) -> float:
    """Operations a second of one product: a limit, so the best of chunks of a tenth of a second."""
    dtype = DTYPES[cast(Precision, precision)]
    made = {"device": device.torch, "dtype": torch.float32}
    left = torch.randn(product.rows, product.inner, **made).to(dtype)  # type: ignore[call-overload]
    right = torch.randn(product.columns, product.inner, **made).to(dtype)  # type: ignore[call-overload]
    with torch.inference_mode():
        _seconds(left, right, 2, device)  # kernels are chosen and memory is taken
        once = _seconds(left, right, 2, device) / 2
        times = max(1, round(CHUNK_SECONDS / once))
        seconds = [_seconds(left, right, times, device) / times for _ in range(CHUNKS)]
    return product.flops / min(seconds)


def synchronize(device: Device) -> None:
    """Waits for the GPU, so that a clock tells what was done."""
    if device.kind == "cuda":
        torch.cuda.synchronize()


def _seconds(left: torch.Tensor, right: torch.Tensor, times: int, device: Device) -> float:
    synchronize(device)
    started = time.perf_counter()
    for _ in range(times):
        functional.linear(left, right)
    synchronize(device)
    return time.perf_counter() - started

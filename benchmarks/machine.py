"""The machine: what it is, how fast it multiplies matrices, what a process holds.

The rate is measured in the same run by torch's own product of a like shape, so that a benchmark can
say how far the work is from it: operations by shape, over seconds, over the rate.
"""

import multiprocessing
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple, ParamSpec, TypeVar

import psutil
import torch
from torch.nn import functional

from featbert.encoders.device import (
    Device,
    find_device,
    find_precision,
    has_fast_bf16,
    torch_dtype,
)
from featbert.encoders.memory import peak_memory as device_peak
from featbert.encoders.memory import reset_peak_memory
from featbert.versions import library_versions

CHUNKS = 7
CHUNK_SECONDS = 0.1
# Of a sentence of news, special tokens included.
WORDS, PIECES = 16, 20
P = ParamSpec("P")
T = TypeVar("T")


class Product(NamedTuple):
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


def feed_forward(tokens: int, hidden_size: int) -> Product:
    """The largest product of a transformer layer over a batch of tokens."""
    return Product(tokens, hidden_size, 4 * hidden_size)


def facts(device: Device | None = None) -> dict[str, Any]:
    """Processor or GPU, cores, threads, whether bf16 is faster, versions; no host names."""
    device = device or find_device()
    return {
        "processor": find_device("cpu").name,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "threads": torch.get_num_threads(),
        "gpu": device.name if device.kind == "cuda" else None,
        "bf16": "fast" if has_fast_bf16(device.kind) else "slow",
        "system": f"{platform.system()} {platform.machine()}",
        "versions": library_versions(),
    }


def precisions(device: Device) -> list[str]:
    """fp32, and what `--precision auto` is here where that is another one."""
    return list(dict.fromkeys(["fp32", str(find_precision("auto", device))]))


def matmul_rate(product: Product, precision: str, device: Device) -> float:
    """Operations per second of one product: an upper limit, so the best of several chunks."""
    dtype = torch_dtype(precision)
    vectors = torch.randn(product.rows, product.inner, device=device.torch).to(dtype)
    weight = torch.randn(product.columns, product.inner, device=device.torch).to(dtype)

    def seconds(times: int) -> float:
        synchronize(device)
        started = time.perf_counter()
        for _ in range(times):
            functional.linear(vectors, weight)
        synchronize(device)
        return (time.perf_counter() - started) / times

    with torch.inference_mode():
        seconds(2)  # chooses kernels, takes memory
        times = max(1, round(CHUNK_SECONDS / seconds(2)))
        return product.flops / min(seconds(times) for _ in range(CHUNKS))


def synchronize(device: Device) -> None:
    """Waits for the GPU, so that the clock covers finished work."""
    if device.kind == "cuda":
        torch.cuda.synchronize()


def peak_memory(work: Callable[[], T]) -> tuple[T, int, int]:
    """What the work returns, resident bytes before it, and at most during it."""
    reset_peak_memory(find_device("cpu"))
    before = psutil.Process().memory_info().rss
    done = work()
    return done, before, device_peak(find_device("cpu"))


def in_own_process(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """What `work` returns, from a new process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *args, **named).result()

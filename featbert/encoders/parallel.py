"""Batches of an encoder, several at a time on a processor.

Threads that share a batch meet after every operation: each waits for the slowest, which beside
another busy process takes many times as long. Threads with a batch each meet once a block.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from featbert.encoders.device import computing_threads

Batch = TypeVar("Batch")
Result = TypeVar("Result")
# More of them wait for Python's lock; with more threads each computes on several.
MOST_WORKERS = 8


def map_batches(
    compute: Callable[[Batch], Result], batches: Iterable[Batch], device: torch.device
) -> Iterator[Result]:
    """`compute` of each batch, without gradients; the results in order.

    A batch has the same number of threads however many there are, which its last digits depend on.
    """

    def work(batch: Batch) -> Result:
        with torch.inference_mode():
            return compute(batch)

    threads = torch.get_num_threads()
    most = min(threads, MOST_WORKERS) if device.type == "cpu" else 1
    if most == 1:
        yield from map(work, batches)
        return
    each = threads // most
    with (
        computing_threads(each),
        ThreadPoolExecutor(most, initializer=torch.set_num_threads, initargs=(each,)) as pool,
    ):
        yield from pool.map(work, batches)

"""Batches of an encoder, several at a time on a processor.

Threads that share a batch meet after every operation: each waits for the slowest, which beside
another busy process takes many times as long. Threads with a batch each meet once a block.
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar
from weakref import WeakKeyDictionary

import torch

from featbert.encoders.device import computing_threads
from featbert.encoders.encoder import Encoder

Batch = TypeVar("Batch")
Result = TypeVar("Result")
# More of them wait for Python's lock; with more threads each computes on several.
MOST_WORKERS = 8
_copies: WeakKeyDictionary[Encoder, list[Encoder]] = WeakKeyDictionary()


def map_batches(
    compute: Callable[[Encoder, Batch], Result], encoder: Encoder, batches: Iterable[Batch]
) -> Iterator[Result]:
    """`compute` of the encoder and each batch, without gradients; the results in order.

    A batch has the same number of threads however many there are, which its last digits depend on.
    """
    batches = list(batches)
    on_cpu = next(encoder.parameters()).device.type == "cpu"
    threads = torch.get_num_threads()
    most = min(threads, MOST_WORKERS) if on_cpu else 1
    workers = max(1, min(most, len(batches)))
    encoders: SimpleQueue[Encoder] = SimpleQueue()
    for one in (encoder, *_sharing(encoder, workers - 1)):
        encoders.put(one)

    def work(batch: Batch) -> Result:
        one = encoders.get()
        try:
            with torch.inference_mode():
                return compute(one, batch)
        finally:
            encoders.put(one)

    if most == 1:
        yield from map(work, batches)
        return
    each = threads // most
    with (
        computing_threads(each),
        ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(each,)) as pool,
    ):
        yield from pool.map(work, batches)


def _sharing(encoder: Encoder, n: int) -> list[Encoder]:
    """The encoder `n` times more with the same weights; hooks are of one thread, weights of all."""
    weights = (*encoder.parameters(), *encoder.buffers())
    copies = _copies.setdefault(encoder, [])
    if copies and next(copies[0].parameters()) is not weights[0]:  # it was moved or converted
        copies.clear()
    memo = {id(one): one for one in (*weights, encoder.wordpieces, encoder.model.config)}
    copies.extend(copy.deepcopy(encoder, dict(memo)) for _ in range(n - len(copies)))
    return copies[:n]

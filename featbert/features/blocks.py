"""Hidden states of a block, computed in batches that depend only on the block.

Stores, and predictions from frozen states, are computed here, so their vectors are equal.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from featbert.encoders.alignment import Alignment
from featbert.encoders.batches import segment_pool
from featbert.encoders.batching import Ints, TokenBudget, length_batches, padded_tokens
from featbert.encoders.device import computing_threads, to_device
from featbert.encoders.encoder import Encoder

# Batches at a time: more wait for Python's lock. With more threads each batch has several.
MAX_WORKERS = 8
# How windows become a unit. The mean of a unit is computed from sums of subwords.
WINDOW_POOLING = {"cls": "mean", "mean": "sum", "max": "max"}


@dataclass(frozen=True, kw_only=True)
class BlockReader:
    """Reads hidden states of `layers` for each of `kinds` (`Manifest.kinds`), in `dtype`."""

    encoder: Encoder
    layers: Sequence[int]
    kinds: Sequence[str]
    dtype: torch.dtype
    budget: TokenBudget
    device: torch.device

    def states(
        self, alignment: Alignment, units: Ints, advance: Callable[[int], None] = lambda n: None
    ) -> dict[str, Tensor]:
        """(layers, vectors, H) of a block for each kind, on the device.

        `units` are consecutive numbers of context units. `advance` gets the words of each batch.
        """
        encoder, layers, kinds = self.encoder, self.layers, self.kinds
        budget, device = self.budget, self.device
        windows = np.arange(alignment.units[units[0]], alignment.units[units[-1] + 1])
        edges = alignment.owned[windows[[0, -1]] + [0, 1]]
        windows_per_unit = np.diff(alignment.units)[units]
        whole_lengths = alignment.whole_lengths[windows]

        def table_of(rows: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.empty((len(layers), rows, encoder.hidden_size), dtype=dtype, device=device)

        # Parts of words have the store's precision, windows float32 until they are pooled to units.
        tables = {kind: table_of(len(windows)) for kind in kinds if kind != "words"}
        if "words" in kinds:
            tables["words"] = table_of(int(edges[1] - edges[0]), self.dtype)
        firsts, pieces = "cls" in kinds, not {"mean", "max"}.isdisjoint(kinds)

        def compute(rows: Ints) -> None:
            parts = alignment.owned_parts(windows[rows] if "words" in kinds else windows[:0])
            batch = encoder.batcher.windows(
                alignment, windows[rows], parts, firsts=firsts, pieces=pieces
            )
            part_rows = to_device(torch.from_numpy(parts - edges[0]), device)
            window_rows = to_device(torch.from_numpy(rows), device)
            n_first = len(parts) + len(rows) * firsts
            for k, layer in enumerate(encoder.hidden_states(batch.to(device), layers)):
                # bfloat16 is converted through float32, which takes less than half of the time
                if "words" in kinds:
                    put_rows(
                        tables["words"][k], part_rows, layer[: len(parts)].float().to(self.dtype)
                    )
                if firsts:
                    put_rows(tables["cls"][k], window_rows, layer[len(parts) : n_first].float())
                for kind in {"mean", "max"}.intersection(kinds):
                    pooled = segment_pool(
                        layer[n_first:], whole_lengths[rows], WINDOW_POOLING[kind]
                    )
                    put_rows(tables[kind][k], window_rows, pooled)

        lengths = alignment.window_lengths[windows]

        def cut(rows: Ints, tokens: int) -> Iterator[Ints]:
            return (rows[part] for part in length_batches(lengths[rows], tokens))

        def compute_bucket(rows: Ints) -> int:
            budget.compute_parts(rows, compute, size=lambda r: padded_tokens(lengths[r]), cut=cut)
            return int(alignment.begun_words[windows[rows]].sum())

        for n in map_batches(compute_bucket, cut(np.arange(len(windows)), budget.tokens), device):
            advance(n)
        for kind, states in tables.items():
            if kind == "words":
                first, end = alignment.unit_words[units[[0, -1]] + [0, 1]]
                counts = np.diff(alignment.word_parts[first : end + 1])
                sizes = np.diff(alignment.parts[edges[0] : edges[1]])[:, 0]
                tables[kind] = _whole_words(states, counts, sizes, encoder.pooling)
                continue
            pooled = _pooled_by_layer(states, windows_per_unit, WINDOW_POOLING[kind])
            if kind == "mean":
                begins = np.cumsum(windows_per_unit) - windows_per_unit
                n_pieces = np.add.reduceat(whole_lengths, begins)
                pooled /= to_device(torch.from_numpy(n_pieces), device)[:, None]
            tables[kind] = pooled.to(self.dtype)
        return tables


def _whole_words(parts: Tensor, counts: Ints, sizes: Ints, pooling: str) -> Tensor:
    """(layers, M, H) vectors of parts -> (layers, N, H) of words.

    `counts` (N,) are parts of each word, `sizes` (M,) pieces of each part.
    """
    if len(sizes) == len(counts):
        return parts
    ends = np.cumsum(counts)
    if pooling != "mean":
        chosen = ends - counts if pooling == "first" else ends - 1
        return parts[:, to_device(torch.from_numpy(chosen), parts.device)]
    shares = sizes / np.repeat(np.add.reduceat(sizes, ends - counts), counts)
    weights = to_device(torch.from_numpy(shares), parts.device).float()
    return _pooled_by_layer(parts * weights[:, None], counts, "sum").to(parts.dtype)


def _pooled_by_layer(vectors: Tensor, lengths: Ints, how: str) -> Tensor:
    """(layers, N, H) -> (layers, U, H) float32: each layer's `segment_pool`."""
    return torch.stack([segment_pool(layer, lengths, how) for layer in vectors])


def map_batches(
    compute: Callable[[Any], Any], batches: Iterable[Any], device: torch.device
) -> Iterator[Any]:
    """`compute` of each batch, in order, without gradients, on a processor several at a time.

    Threads that share a batch meet after every operation: each waits for the slowest, which takes
    many times as long while another process is busy. Threads with a batch each meet once per block.
    A batch has the same number of threads however many batches there are, because its last digits
    depend on it.
    """

    def work(batch: Any) -> Any:
        with torch.inference_mode():
            return compute(batch)

    threads = torch.get_num_threads()
    workers = min(threads, MAX_WORKERS) if device.type == "cpu" else 1
    if workers == 1:
        yield from map(work, batches)
        return
    share = threads // workers
    with (
        computing_threads(share),
        ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(share,)) as pool,
    ):
        yield from pool.map(work, batches)


def put_rows(table: Tensor, rows: Tensor, values: Tensor) -> None:
    """table[rows] = values. No row occurs twice."""
    if table.device.type == "cpu":  # numpy copies whole rows, torch number by number
        table.numpy()[rows.numpy()] = values.numpy()
    else:
        table.index_copy_(0, rows, values)

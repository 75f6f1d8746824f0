"""Hidden states of a text block by block: the one way in which frozen vectors are computed.

A block is a run of whole context units (sentences or documents). Its windows are sorted by length
and batched under a token budget, so that the batches, and with them the last bits of the vectors,
follow from the block alone: what a store holds and what is computed in memory are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from featbert.encoders.alignment import Alignment
from featbert.encoders.copies import to_device
from featbert.encoders.encoder import Encoder
from featbert.encoders.fitting import TokenBudget
from featbert.features.store.manifest import DTYPE_BYTES

Ints = NDArray[np.int64]

# Padded tokens of a batch. On a processor small ones pad least, and are large enough for its full
# matrix rate.
TOKEN_BUDGET = {"cpu": 512, "cuda": 32768}
BLOCK_WORDS = 8192
# Two blocks are in memory at a time: one is computed, one is written.
BLOCK_BYTES = 160 << 20


def block_edges(alignment: Alignment, block_words: int) -> tuple[Ints, Ints]:
    """Edges of blocks of whole context units: in windows (K + 1,), and in words (K + 1,)."""
    unit_words = alignment.owned[alignment.units]
    edges = [0]
    for unit in range(1, len(unit_words)):
        if unit_words[unit] - unit_words[edges[-1]] >= block_words or unit == len(unit_words) - 1:
            edges.append(unit)
    return alignment.units[edges], unit_words[edges]


def block_words(num_layers: int, hidden_size: int, dtype: str) -> int:
    """Words of a block: as many as keep padding low, fewer where an encoder's vectors are large.

    Which layers are kept plays no part, so that the same layer has the same bits in every store.
    """
    word = (num_layers + 1) * hidden_size * DTYPE_BYTES[dtype]
    return max(1, min(BLOCK_WORDS, BLOCK_BYTES // word))


def block_states(
    encoder: Encoder,
    alignment: Alignment,
    windows: Ints,
    layers: Sequence[int],
    *,
    dtype: torch.dtype,
    budget: TokenBudget,
    device: torch.device,
    tell: Callable[[int], None] | None = None,
) -> Tensor:
    """(layers, words, H) of the words that a block's windows own, on the device.

    Args:
        windows: consecutive window numbers.
        dtype: that the states are rounded to.
        budget: of a batch; a batch that does not fit is computed in parts of half the size.
        tell: hears the words of each batch.
    """
    first, stop = alignment.owned[windows[0]], alignment.owned[windows[-1] + 1]
    shape = (len(layers), int(stop - first), encoder.hidden_size)
    states = torch.empty(shape, dtype=dtype, device=device)
    lengths = alignment.window_lengths[windows]

    def fill(rows: Ints) -> None:
        """States of one batch."""
        found = encoder.hidden_states(encoder.batch(alignment, windows[rows]).to(device), layers)
        places = torch.from_numpy(alignment.owned_words(windows[rows]) - first)
        there = to_device(places, device)
        for held, layer in zip(states, found, strict=True):
            held.index_copy_(0, there, layer.to(dtype))
        if tell is not None:
            tell(len(places))

    budget.attempt_lengths(lengths, fill)
    return states

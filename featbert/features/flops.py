"""Floating-point operations by shape: what a forward pass must compute, on any machine.

A multiply-add counts as two. Only matrix products count: a matrix of parameters costs 2 for each
of its entries and each token it is applied to; attention costs 4 n^2 H for a window of n tokens
and each layer (scores, and the weighted sum of values). Padding is not counted, as it is no work
that anybody asked for. Training costs three forward passes, one forward and two backward; layers
below the lowest one that is trained have the forward pass alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import nn


def matrix_entries(module: nn.Module) -> int:
    """Entries of the matrices that every token meets; embedding tables are only looked up."""
    tables = {id(m.weight) for m in module.modules() if isinstance(m, nn.Embedding)}
    return sum(p.numel() for p in module.parameters() if p.dim() > 1 and id(p) not in tables)


def encoder_flops(
    encoder: nn.Module, window_lengths: NDArray[np.int64], *, num_layers: int, hidden_size: int
) -> float:
    """One forward pass of an encoder over windows of these lengths, specials included."""
    lengths = window_lengths.astype(np.float64)
    attention = 4.0 * num_layers * hidden_size * float((lengths**2).sum())
    return 2.0 * matrix_entries(encoder) * float(lengths.sum()) + attention

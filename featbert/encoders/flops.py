"""Floating-point operations by shape: what a forward pass must compute, on any machine.

A multiply-add counts as two. Only matrix products count: a matrix of parameters costs 2 for each
of its entries and each token it is applied to; attention costs 4 n^2 H for a window of n tokens
and each layer (scores, and the weighted sum of values). Padding is not counted, as it is no work
that anybody asked for, and no layer above the highest one that is read. Training costs three
forward passes, one forward and two backward; layers below the lowest one that is trained have the
forward pass alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from torch import nn

if TYPE_CHECKING:
    from featbert.encoders.encoder import Encoder


# Of modules that were asked about: walking one takes longer than a short step of it.
_counted: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()


def matrix_entries(module: nn.Module) -> int:
    """Entries of the matrices that every token meets; embedding tables are only looked up."""
    if module not in _counted:
        tables = {id(m.weight) for m in module.modules() if isinstance(m, nn.Embedding)}
        _counted[module] = sum(
            p.numel() for p in module.parameters() if p.dim() > 1 and id(p) not in tables
        )
    return _counted[module]


def encoder_flops(
    encoder: Encoder, window_lengths: NDArray[np.int64], *, highest: int | None = None
) -> float:
    """One forward pass over windows of these lengths, specials included, up to layer `highest`."""
    lengths = window_lengths.astype(np.float64)
    computed = encoder.num_layers if highest is None else highest
    attention = 4.0 * computed * encoder.hidden_size * float((lengths**2).sum())
    entries = matrix_entries(encoder) - _entries_above(encoder, computed)
    return 2.0 * entries * float(lengths.sum()) + attention


def _entries_above(encoder: Encoder, layer: int) -> int:
    if layer == encoder.num_layers or not encoder.has_stack:
        return 0
    depths = encoder.parameter_depths
    named = encoder.model.named_parameters()
    return sum(p.numel() for name, p in named if p.dim() > 1 and depths[name] > layer)

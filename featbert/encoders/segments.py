"""Pooling of segments: consecutive or numbered vectors become one vector."""

import numpy as np
import torch
from torch import Tensor

from featbert.encoders.batching import Ints
from featbert.encoders.device import to_device


def segment_pool(vectors: Tensor, lengths: Ints, how: str) -> Tensor:
    """(W, D) -> (B, D) float32: sum, mean, max or first ("cls") of runs of `lengths` (B,)."""
    if how == "cls":
        starts = torch.from_numpy(np.cumsum(lengths) - lengths)
        return vectors.index_select(0, to_device(starts, vectors.device)).float()
    sizes = to_device(torch.from_numpy(lengths), vectors.device)
    pooled: Tensor = torch.segment_reduce(vectors.float(), how, lengths=sizes, unsafe=True)
    return pooled


def segment_means(vectors: Tensor, segments: Tensor, count: int) -> Tensor:
    """(Q, D) -> (count, D): mean of the vectors with each number in `segments` (Q,)."""
    total = vectors.new_zeros((count, vectors.shape[1]), dtype=torch.float32)
    total = total.index_add(0, segments, vectors.float())
    sizes = torch.bincount(segments, minlength=count).unsqueeze(1)
    return (total / sizes).to(vectors.dtype)

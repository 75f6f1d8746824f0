"""Several vectors as one: those of a text's words."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from featbert.encoders.device import to_device


def segment_pool(vectors: Tensor, lengths: NDArray[np.int64], how: str) -> Tensor:
    """(W, D) -> (B, D) float32: mean, max or first ("cls") of texts with `lengths` words (B,)."""
    if how == "cls":
        starts = torch.from_numpy(np.cumsum(lengths) - lengths)
        return vectors.index_select(0, to_device(starts, vectors.device)).float()
    sizes = to_device(torch.from_numpy(lengths), vectors.device)
    pooled: Tensor = torch.segment_reduce(vectors.float(), how, lengths=sizes, unsafe=True)
    return pooled


def pooled_by_layer(words: Tensor, lengths: NDArray[np.int64], kind: str) -> Tensor:
    """(layers, N, H) -> (layers, U, H) mean or max of units with these lengths, in their dtype."""
    return torch.stack([segment_pool(layer, lengths, kind).to(layer.dtype) for layer in words])

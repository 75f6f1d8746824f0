"""Attention between two texts that were encoded apart, for heads that read the words of both.

    h = W x                          d numbers for each vector x
    e_ij = h_i . h_j / sqrt(d)       for vector i of the first text and j of the second
    a_i = sum_j softmax_j(e_ij) h_j  and a_j = sum_i softmax_i(e_ij) h_i
    [h, a, |h - a|, h * a]           4d numbers for each vector

Both texts share W, so similar words attend to each other before anything is learned.

Sources: Parikh et al. 2016, section 3, and Chen et al. 2017 (ESIM), sections 3.2 and 3.3.
"""

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from featbert.encoders.batching import Ints
from featbert.encoders.device import to_device
from featbert.encoders.kernels import Dropout

SIZE = 256  # d


class Attention(nn.Module):
    """Dropout, and one layer of attention from each text to the other."""

    def __init__(self, width: int, *, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.project = nn.Linear(width, SIZE, bias=False)
        self.width = 4 * SIZE

    def forward(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(W, D) -> (W, 4d). lengths (B, 2) are vectors of both texts of each pair."""
        projected = self.project(self.dropout(vectors.float()))
        texts = projected.split(lengths.ravel().tolist())
        first, second = (pad_sequence(texts[k::2], batch_first=True) for k in (0, 1))
        scores = first @ second.mT / math.sqrt(SIZE)  # (B, longest first, longest second)
        attended = []
        for e, text, sizes in ((scores, second, lengths[:, 1]), (scores.mT, first, lengths[:, 0])):
            padding = torch.from_numpy(np.arange(text.shape[1]) >= sizes[:, None])
            e = e.masked_fill(to_device(padding, projected.device)[:, None], -torch.inf)
            attended.append(e.softmax(2) @ text)
        pairs = zip(*attended, lengths.tolist(), strict=True)
        means = torch.cat([part for a, b, (n, m) in pairs for part in (a[:n], b[:m])])
        return torch.cat([projected, means, (projected - means).abs(), projected * means], dim=1)

"""Pooling: the vectors of a text become one vector.

    cls        the encoder's first special piece           (D)
    pooler     the same through the checkpoint's pooler    (D), of an encoder that is tuned
    mean, max  over all subwords, special ones included    (D)
    max_mean   both, one after the other                   (2D)
    word_mean  over the words                              (D)
    attention  weighted mean; weights softmax(w . x + b)   (D) over the words, w and b learned

A body that reads words pools what it makes of them by mean, max, max_mean or attention. Mean and
max of subwords are what sentence-transformers computes (`pooling_mode` mean and max).

Two texts that are encoded apart give u and v, and then [u; v; |u - v|; u * v] (Mou et al. 2016;
Conneau et al. 2017).

cls, mean and max do not depend on what is trained, so they are computed once where nothing comes
between them and the states (`KEPT_POOLINGS`).
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from featbert.encoders.batching import Ints
from featbert.encoders.device import to_device
from featbert.encoders.encoder import segment_pool
from featbert.encoders.tunings import get_tuning
from featbert.models.registry import KEPT_POOLINGS


class Pooling(nn.Module):
    """One vector of `width` numbers for each sequence."""

    def __init__(self, width: int, settings: Any, texts: int = 1) -> None:
        """`width` is D of the vectors it reads; `texts` is 2 for pairs that were encoded apart."""
        super().__init__()
        # The pooler is the encoder's: what it makes of first pieces is read like these.
        how = settings.sentence_pooling
        self.how = {"pooler": "cls", "word_mean": "mean"}.get(how, how)
        # Of what a store keeps, maximum and mean of a text are two vectors.
        kept = get_tuning(settings.tuning).frozen and settings.reads in KEPT_POOLINGS
        self.kept = len(KEPT_POOLINGS[settings.reads]) if kept else 0
        self.texts = texts
        own = 2 * width if self.how == "max_mean" else width
        self.width = own if texts == 1 else 4 * own
        self.scores = nn.Linear(width, 1) if self.how == "attention" else None

    def forward(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(W, D) -> (B, width); lengths (B,) are vectors of each sequence, (B, 2) of its texts."""
        sizes = lengths.ravel()
        if self.scores is not None:
            vectors = vectors.float()
            pooled = _attended(vectors, self.scores(vectors).float(), sizes)
        elif self.kept:
            pooled = vectors.float().view(-1, self.kept * vectors.shape[1])
        elif self.how == "max_mean":
            parts = [segment_pool(vectors, sizes, how) for how in ("max", "mean")]
            pooled = torch.cat(parts, dim=1)
        else:
            pooled = segment_pool(vectors, sizes, self.how)
        if self.texts == 1:
            return pooled
        first, second = pooled[0::2], pooled[1::2]
        return torch.cat([first, second, (first - second).abs(), first * second], dim=1)


def _attended(vectors: Tensor, scores: Tensor, sizes: Ints) -> Tensor:
    """(W, D) and (W, 1) -> (B, D) mean, weighted by a softmax over each text's words."""
    text_of = to_device(torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes)), vectors.device)
    # Softmax does not change when each text's highest score is taken off.
    highest = segment_pool(scores.detach(), sizes, "max").index_select(0, text_of)
    weights = (scores - highest).exp()
    total = weights.new_zeros(len(sizes), 1).index_add(0, text_of, weights)
    summed = vectors.new_zeros(len(sizes), vectors.shape[1])
    return summed.index_add(0, text_of, weights * vectors) / total

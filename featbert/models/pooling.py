"""Pooling: the vectors of a text become one vector.

    cls        the encoder's [CLS] vector                  (D)
    pooler     the same through the checkpoint's pooler    (D), of an encoder that is tuned
    mean, max  over all subwords, special ones included    (D)
    max_mean   both, one after the other                   (2D)
    word_mean  over the words                              (D)
    attention  weighted mean, weights softmax(w . x + b)   (D) over the words, w and b learned

If the body reads words, its output is pooled by mean, max, max_mean or attention. Mean and max of
subwords are those in sentence-transformers (`pooling_mode` mean and max).

Two texts that are encoded apart give u and v, and then [u, v, |u - v|, u * v] (Mou et al. 2016,
Conneau et al. 2017).

cls, mean and max depend on nothing that is trained. They are computed once if nothing comes between
them and the states (`KEPT_POOLINGS`).
"""

import numpy as np
import torch
from torch import Tensor, nn

from featbert.encoders.batches import segment_pool
from featbert.encoders.batching import Ints
from featbert.encoders.device import to_device


class Pooling(nn.Module):
    """One vector of `width` numbers for each sequence."""

    def __init__(
        self, width: int, pooling: str, *, texts: int = 1, vectors_per_text: int | None = None
    ) -> None:
        """
        Args:
            width: D of the vectors that are pooled.
            pooling: a name of `POOLINGS`.
            texts: 2 for pairs of texts that are encoded apart.
            vectors_per_text: vectors that a store holds of each text, already pooled. None if the
                vectors are of words or subwords.
        """
        super().__init__()
        # The encoder itself applies its pooler to the first piece.
        self.method = {"pooler": "cls", "word_mean": "mean"}.get(pooling, pooling)
        self.texts, self.vectors_per_text = texts, vectors_per_text
        text_width = 2 * width if self.method == "max_mean" else width
        self.width = text_width if texts == 1 else 4 * text_width
        self.scores = nn.Linear(width, 1) if self.method == "attention" else None

    def forward(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(W, D) -> (B, width). lengths (B,) are vectors of each sequence, (B, 2) of its texts."""
        sizes = lengths.ravel()
        if self.scores is not None:
            vectors = vectors.float()
            pooled = _attended(vectors, self.scores(vectors).float(), sizes)
        elif self.vectors_per_text is not None:
            pooled = vectors.float().view(-1, self.vectors_per_text * vectors.shape[1])
        elif self.method == "max_mean":
            parts = [segment_pool(vectors, sizes, method) for method in ("max", "mean")]
            pooled = torch.cat(parts, dim=1)
        else:
            pooled = segment_pool(vectors, sizes, self.method)
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

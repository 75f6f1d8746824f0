"""A span of a passage: one softmax over all its words for where the answer starts, one for its end.

    start, end = W x     two scores for each word of the passage, and for the first special piece
    loss                 mean of the cross-entropies of start and end
    span (i, j)          score start_i + end_j, where i <= j < i + longest answer
    margin               score of the best span, less that of no answer: start_0 + end_0

Places are those of a sequence: 0 is its first special piece, which stands for no answer, 1 its
first word. Words of the question are no answers.

Source: Devlin et al. 2019, sections 4.2 and 4.3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from featbert.encoders.batching import Ints, ranges
from featbert.encoders.device import to_device
from featbert.encoders.pooling import segment_pool
from featbert.models.combination import full_precision


class Span(nn.Module):
    """Start and end scores; `lengths` (B, 2) are the vectors before the passage, and its words."""

    def __init__(self, width: int, classes: tuple[str, ...], settings: Any) -> None:
        """`classes` are ("answerable",), or those and "unanswerable"."""
        super().__init__()
        self.longest = settings.longest_answer
        self.n_classes = len(classes)
        self.classifier = nn.Linear(width, 2)

    def loss(self, vectors: Tensor, lengths: Ints, targets: Tensor) -> Tensor:
        """Sum of the questions' losses; targets (B, 2) are first and last place of the answer."""
        scores = _Scores.of(self.classifier, vectors, lengths)
        before = to_device(torch.from_numpy(lengths[:, :1]), vectors.device)
        rows = scores.begin[:, None] + torch.where(targets > 0, targets - before + 1, 0)
        right: Tensor = scores.values.gather(0, rows)
        return (scores.normalisers() - right).sum() / 2

    def decode(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(B, 3) first and last place of each question's best span, and its margin."""
        return self._best(_Scores.of(self.classifier, vectors, lengths), lengths)[0]

    def probabilities(self, vectors: Tensor, lengths: Ints) -> tuple[Tensor, Tensor]:
        """What `decode` gives, and (B, C) the probability of the best span and of no answer."""
        scores = _Scores.of(self.classifier, vectors, lengths)
        answers, best = self._best(scores, lengths)
        nothing = scores.values.index_select(0, scores.begin).sum(1)
        both = torch.stack([best, nothing], dim=1) - scores.normalisers().sum(1, keepdim=True)
        return answers, both[:, : self.n_classes].exp()

    def _best(self, scores: _Scores, lengths: Ints) -> tuple[Tensor, Tensor]:
        """(B, 3) the answers of `decode`, and (B,) scores of the best spans."""
        start, end = scores.values.unbind(1)
        places = torch.arange(len(start), device=start.device)
        after = (scores.begin + scores.sizes).index_select(0, scores.sequence)
        # (P,) the best end of a span from each place, and where it is
        best, at = end.clone(), places.clone()
        for more in range(1, min(self.longest, int(lengths[:, 1].max()))):
            better = (end[more:] > best[:-more]) & (places[more:] < after[:-more])
            best[:-more] = torch.where(better, end[more:], best[:-more])
            at[:-more] = torch.where(better, places[more:], at[:-more])
        total = (start + best).index_fill(0, scores.begin, -torch.inf)
        highest = segment_pool(total[:, None], scores.lengths, "max").squeeze(1)
        is_best = total == highest.index_select(0, scores.sequence)
        # The first of equals; the last place where scores are not numbers
        found = places.new_full((len(lengths),), len(places) - 1).scatter_reduce(
            0, scores.sequence[is_best], places[is_best], "amin"
        )
        nothing = scores.values.index_select(0, scores.begin).sum(1)
        before = to_device(torch.from_numpy(lengths[:, 0] - 1), start.device) - scores.begin
        ends = at.index_select(0, found)
        answers = torch.stack([found + before, ends + before, highest - nothing], dim=1)
        return answers.float(), highest


class _Scores:
    """Scores of the P places that can answer: of each sequence the first, and its passage.

    Attributes:
        values: (P, 2) start and end scores in fp32.
        lengths: (B,) places of each sequence; `sizes` are the same on the device.
        begin: (B,) first place of each sequence.
        sequence: (P,) number of each place's sequence.
    """

    def __init__(self, values: Tensor, lengths: Ints) -> None:
        self.values, self.lengths = values, lengths
        sequence = np.repeat(np.arange(len(lengths)), lengths)
        of = (lengths, np.cumsum(lengths) - lengths, sequence)
        there = (to_device(torch.from_numpy(one), values.device) for one in of)
        self.sizes, self.begin, self.sequence = there

    @classmethod
    def of(cls, classifier: nn.Linear, vectors: Tensor, lengths: Ints) -> _Scores:
        """From the vectors (W, D) of whole sequences."""
        starts = np.cumsum(lengths.sum(axis=1)) - lengths.sum(axis=1)
        starts = np.stack([starts, starts + lengths[:, 0]], axis=1)
        sizes = np.stack([np.ones_like(lengths[:, 1]), lengths[:, 1]], axis=1)
        rows = torch.from_numpy(ranges(starts.ravel(), sizes.ravel()))
        chosen = vectors.index_select(0, to_device(rows, vectors.device))
        with full_precision(vectors):
            values: Tensor = classifier(chosen.float())
        return cls(values, sizes.sum(axis=1))

    def normalisers(self) -> Tensor:
        """(B, 2) logarithm of the sum of exponentials over each sequence."""
        highest = segment_pool(self.values.detach(), self.lengths, "max")
        shares = (self.values - highest.index_select(0, self.sequence)).exp()
        total = torch.zeros_like(highest).index_add(0, self.sequence, shares)
        return total.log() + highest

"""A choice of one vector in each group: a score for each vector, and a softmax over the group.

    P(i) = exp(v . x_i) / sum over j of exp(v . x_j)

Source: Devlin et al. 2019, section 4.4 (SWAG).
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from featbert.encoders.batching import Ints
from featbert.models.combination import full_precision
from featbert.tasks.base import TargetSummary


class GroupSoftmax(nn.Module):
    """One vector v. Targets and answers are 1 for the right vector of a group, else 0."""

    def __init__(self, width: int, targets: TargetSummary) -> None:
        super().__init__()
        self.scores = nn.Linear(width, 1, bias=False)  # a bias would change no probability

    def _log_shares(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(G, K) log probabilities, -inf after the end of a group."""
        with full_precision(vectors):
            groups = self.scores(vectors.float()).squeeze(1).split(lengths.tolist())
            padded = pad_sequence(groups, batch_first=True, padding_value=-torch.inf)
            return padded.log_softmax(1)

    def linear(self) -> tuple[Tensor, Tensor]:
        """W and b of the scores."""
        return self.scores.weight, self.scores.weight.new_zeros(1)

    def loss(self, vectors: Tensor, lengths: Ints, targets: Tensor) -> Tensor:
        """Sum of the groups' cross-entropies. lengths (G,), targets (W,) with one 1 per group."""
        return -(_flat(self._log_shares(vectors, lengths), lengths) * targets).sum()

    def decode(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(W,) 1 for the most probable vector of each group, the first of equals, else 0."""
        return self.probabilities(vectors, lengths)[0]

    def probabilities(self, vectors: Tensor, lengths: Ints) -> tuple[Tensor, Tensor]:
        """(W,) answers as in `decode`, and (W, 2) the probabilities of 0 and 1."""
        shares = self._log_shares(vectors, lengths)
        chosen = torch.zeros_like(shares, dtype=torch.int64)
        chosen = chosen.scatter_(1, shares.argmax(1, keepdim=True), 1)
        right = _flat(shares.exp(), lengths)
        return _flat(chosen, lengths), torch.stack([1 - right, right], dim=1)


def _flat(padded: Tensor, lengths: Ints) -> Tensor:
    """(G, K) -> (W,)"""
    return torch.cat([row[:n] for row, n in zip(padded, lengths.tolist(), strict=True)])

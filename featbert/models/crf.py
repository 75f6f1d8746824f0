"""A linear-chain conditional random field over the words of a sequence.

    score(y) = start[y_1] + sum_t e_t[y_t] + sum_t transitions[y_t-1, y_t] + end[y_T]
    p(y) = exp(score(y)) / sum over all sequences y'

The loss is -log p(gold) of each sequence, the answer is the most probable sequence (Viterbi), and
probabilities are marginals of single words (forward-backward). A word without a gold class may have
any class: p(gold) is the sum over all sequences that agree with the gold classes of other words.
Everything is computed in fp32.

Sources: Lafferty, McCallum and Pereira 2001, and Lample et al. 2016, section 2.1, for the output of
a BiLSTM.
"""

import torch
from torch import Tensor, nn

from featbert.encoders.batching import Ints
from featbert.models.logits import Logits
from featbert.tasks.base import TargetSummary


class CRF(Logits):
    """Logits as emissions, and learned scores of neighbouring classes."""

    def __init__(self, width: int, targets: TargetSummary) -> None:
        n = len(targets.classes)
        super().__init__(width, n)
        self.start = nn.Parameter(torch.zeros(n))
        self.transitions = nn.Parameter(torch.zeros(n, n))  # from row to column
        self.end = nn.Parameter(torch.zeros(n))

    def loss(self, vectors: Tensor, lengths: Ints, targets: Tensor) -> Tensor:
        """Sum over sequences of the negative log-likelihood.

        targets (W,) are class numbers, negative for words without a gold class.
        """
        emissions = self.logits(vectors)  # (W, C)
        forward = self._forward(*_padded(emissions, lengths))
        partition = (forward[:, -1] + self.end).logsumexp(1)  # (B,)
        if (free := targets < 0).any():
            right = torch.arange(emissions.shape[1], device=targets.device) == targets[:, None]
            allowed = emissions.masked_fill(~(right | free[:, None]), -torch.inf)
            forward = self._forward(*_padded(allowed, lengths))
            return (partition - (forward[:, -1] + self.end).logsumexp(1)).sum()
        ends = torch.from_numpy(lengths).to(targets.device).cumsum(0)
        firsts = torch.cat([ends.new_zeros(1), ends[:-1]])
        inner = torch.ones_like(targets, dtype=torch.bool).index_fill(0, firsts, False)
        before = targets.roll(1)[inner]
        score = (
            emissions.gather(1, targets[:, None]).sum()
            + self.start[targets[firsts]].sum()
            + self.transitions[before, targets[inner]].sum()
            + self.end[targets[ends - 1]].sum()
        )
        return partition.sum() - score

    def decode(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(W,) class numbers of the most probable sequences."""
        padded, mask = _padded(self.logits(vectors), lengths)
        best, choices = self.start + padded[:, 0], []
        for t in range(1, padded.shape[1]):
            # (B, from, to): the best sequence that ends in each class
            scores, chosen = (best[:, :, None] + self.transitions).max(1)
            best = torch.where(mask[:, t, None], scores + padded[:, t], best)
            choices.append(chosen)
        path = [(best + self.end).argmax(1)]  # (B,) each, from the last word to the first
        for t in range(padded.shape[1] - 1, 0, -1):
            earlier = choices[t - 1].gather(1, path[-1][:, None]).squeeze(1)
            path.append(torch.where(mask[:, t], earlier, path[-1]))
        return torch.stack(path[::-1], 1)[mask]

    def probabilities(self, vectors: Tensor, lengths: Ints) -> tuple[Tensor, Tensor]:
        """(W,) answers as in `decode`, and (W, C) the marginal probability of every class."""
        padded, mask = _padded(self.logits(vectors), lengths)
        forward = self._forward(padded, mask)
        later = [self.end.expand(len(padded), -1)]
        for t in range(padded.shape[1] - 1, 0, -1):
            # (B, from, to): what follows each class
            follows = self.transitions + (padded[:, t] + later[-1])[:, None, :]
            later.append(torch.where(mask[:, t, None], follows.logsumexp(2), later[-1]))
        marginals = (forward + torch.stack(later[::-1], 1))[mask].softmax(1)
        return self.decode(vectors, lengths), marginals

    def _forward(self, padded: Tensor, mask: Tensor) -> Tensor:
        """(B, T, C) log of the summed scores of all beginnings that end in each class.

        After the end of a sequence its last value is repeated.
        """
        sums = [self.start + padded[:, 0]]
        for t in range(1, padded.shape[1]):
            step = (sums[-1][:, :, None] + self.transitions).logsumexp(1) + padded[:, t]
            sums.append(torch.where(mask[:, t, None], step, sums[-1]))
        return torch.stack(sums, 1)


def _padded(emissions: Tensor, lengths: Ints) -> tuple[Tensor, Tensor]:
    """(W, C) -> (B, T, C) and the mask (B, T) of words."""
    sizes = torch.from_numpy(lengths).to(emissions.device)
    mask = torch.arange(int(lengths.max()), device=emissions.device) < sizes[:, None]
    padded = emissions.new_zeros((*mask.shape, emissions.shape[1]))
    return padded.masked_scatter(mask[:, :, None], emissions), mask

"""The softmax over choices against one written out, example by example."""

import numpy as np
import torch

from featbert.models.choice import GroupSoftmax
from featbert.tasks.base import TargetSummary

SIZES = [3, 1, 4, 2]
STARTS = [0, 3, 4, 8]


def test_every_group_has_a_softmax_of_its_own():
    torch.manual_seed(0)
    output, vectors = GroupSoftmax(5, TargetSummary(("0", "1"))), torch.randn(10, 5)
    right = [2, 0, 1, 1]
    targets = torch.zeros(10, dtype=torch.int64)
    loss, chosen, shares = 0.0, [], []
    for start, size, place in zip(STARTS, SIZES, right, strict=True):
        targets[start + place] = 1
        scores = vectors[start : start + size] @ output.scores.weight[0]
        share = scores.exp() / scores.exp().sum()
        loss -= share[place].log()
        shares.append(share)
        chosen += [int(i == share.argmax()) for i in range(size)]
    lengths = np.array(SIZES)
    torch.testing.assert_close(output.loss(vectors, lengths, targets), loss)
    assert output.decode(vectors, lengths).tolist() == chosen
    found, by_class = output.probabilities(vectors, lengths)
    assert found.tolist() == chosen
    torch.testing.assert_close(by_class[:, 1], torch.cat(shares))
    torch.testing.assert_close(by_class.sum(1), torch.ones(10))
    output.loss(vectors, lengths, targets).backward()
    assert output.scores.weight.grad.isfinite().all()
    assert output.scores.weight.grad.any()


def test_the_first_of_equals_is_chosen():
    output, lengths = GroupSoftmax(2, TargetSummary(("0", "1"))), np.array([2, 3])
    assert output.decode(torch.ones(5, 2), lengths).tolist() == [1, 0, 1, 0, 0]

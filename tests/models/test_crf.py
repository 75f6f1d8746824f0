"""The CRF against all tag sequences of small inputs."""

import itertools

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from featbert.models.crf import CRF
from tests.models.support import classes


def crf_of(n: int, seed: int) -> CRF:
    torch.manual_seed(seed)
    crf = CRF(3, classes(n))
    with torch.no_grad():
        for parameter in (crf.start, crf.transitions, crf.end):
            parameter.normal_()
    return crf


def every_sequence(crf: CRF, vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """All tag sequences of one sentence, (n, T), and their scores, (n,), by the definition."""
    emissions = crf.classifier(vectors)
    n, length = emissions.shape[1], len(emissions)
    sequences = torch.tensor(list(itertools.product(range(n), repeat=length)))
    scores = crf.start[sequences[:, 0]] + crf.end[sequences[:, -1]]
    for t in range(length):
        scores = scores + emissions[t, sequences[:, t]]
        if t:
            scores = scores + crf.transitions[sequences[:, t - 1], sequences[:, t]]
    return sequences, scores


@settings(max_examples=30)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(2, 3), st.integers(0, 99))
def test_against_brute_force(sizes, n, seed):
    crf, lengths = crf_of(n, seed), np.array(sizes)
    vectors = torch.randn(int(lengths.sum()), 3, requires_grad=True)
    targets = torch.randint(n, (len(vectors),))
    targets[torch.rand(len(targets)) < 0.3 * (seed % 2)] = -100  # words without a gold class
    loss, answers, marginals = 0.0, [], []
    for words, gold in zip(vectors.split(sizes), targets.split(sizes), strict=True):
        sequences, scores = every_sequence(crf, words)
        right = ((sequences == gold) | (gold < 0)).all(1)
        loss += scores.logsumexp(0) - scores[right].logsumexp(0)
        answers.append(sequences[scores.argmax()])
        shares = scores.softmax(0)
        marginals += [
            torch.stack([shares[sequences[:, t] == c].sum() for c in range(n)])
            for t in range(len(words))
        ]
    given = (vectors, *crf.parameters())
    ours, theirs = (
        (one.detach(), *torch.autograd.grad(one, given, allow_unused=True, materialize_grads=True))
        for one in (crf.loss(vectors, lengths, targets), loss)
    )
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    vectors = vectors.detach()
    found, shares = crf.probabilities(vectors, lengths)
    assert found.tolist() == torch.cat(answers).tolist() == crf.decode(vectors, lengths).tolist()
    torch.testing.assert_close(shares, torch.stack(marginals), rtol=1e-4, atol=1e-5)

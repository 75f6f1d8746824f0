"""The CRF against all tag sequences of small inputs."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from featbert.models.crf import CRF
from featbert.models.model import Layout
from tests.models.support import classes, settings_of, stored, tuned


def crf_of(n: int, seed: int) -> CRF:
    torch.manual_seed(seed)
    crf = CRF(3, classes(n), settings_of("none"))
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
    vectors = torch.randn(int(lengths.sum()), 3)
    targets = torch.randint(n, (len(vectors),))
    loss, answers, marginals = 0.0, [], []
    for words, gold in zip(vectors.split(sizes), targets.split(sizes), strict=True):
        sequences, scores = every_sequence(crf, words)
        loss += scores.logsumexp(0) - scores[(sequences == gold).all(1)].squeeze()
        answers.append(sequences[scores.argmax()])
        shares = scores.softmax(0)
        marginals += [
            torch.stack([shares[sequences[:, t] == c].sum() for c in range(n)])
            for t in range(len(words))
        ]
    torch.testing.assert_close(crf.loss(vectors, lengths, targets), loss, rtol=1e-4, atol=1e-4)
    found, shares = crf.probabilities(vectors, lengths)
    assert found.tolist() == torch.cat(answers).tolist() == crf.decode(vectors, lengths).tolist()
    torch.testing.assert_close(shares, torch.stack(marginals), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["stored", "tuned"])
def test_gradients_reach_every_parameter(kind, encoder_folder):
    torch.manual_seed(0)
    lengths = np.array([3, 1])
    if kind == "stored":
        model = stored("weighted:0-3", output="crf")
        batch = torch.randn(4, 4, 16)
    else:
        from featbert.encoders.alignment import align
        from tests.features.support import sentences_of

        model = tuned(encoder_folder("bert"), output="crf")
        encoder = model.encoder
        assert encoder is not None
        alignment = align(sentences_of(["The fox said", "EU"]), encoder.wordpieces, positions=40)
        batch = encoder.sentence_batch(alignment, np.arange(2))
    model.loss(batch, Layout(lengths), torch.tensor([0, 1, 2, 3])).backward()
    without = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert [n for n in without if not n.endswith("key.bias")] == []

"""Spans, choices and the CRF against brute force, example by example."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_class_weight
from torch.nn import functional

from featbert.models.choice import GroupSoftmax
from featbert.models.crf import CRF
from featbert.models.logits import Focal, Sigmoid, Softmax
from featbert.models.span import Span
from featbert.tasks.base import IGNORED, TargetSummary
from tests.models.support import classes

CLASSES = ("answerable", "unanswerable")


def span(longest=3, classes=CLASSES, seed=0) -> Span:
    torch.manual_seed(seed)
    return Span(4, TargetSummary(classes), longest_answer=longest)


def parts(output, vectors, lengths):
    """Start and end scores of each sequence alone: places that can answer, and their numbers."""
    begin = 0
    for before, words in lengths:
        of = output.classifier(vectors[begin : begin + before + words])
        places = [0, *range(before, before + words)]
        yield places, of[places]
        begin += before + words


SIZES = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 5)), min_size=1, max_size=4)


@given(SIZES, st.integers(1, 4), st.integers(0, 99))
@settings(max_examples=40)
def test_the_best_span_of_each_question(sizes, longest, seed) -> None:
    lengths, output = np.array(sizes), span(longest)
    # Few values, so that spans tie.
    vectors = torch.randint(
        -1, 2, (int(lengths.sum()), 4), generator=torch.Generator().manual_seed(seed)
    )
    with torch.no_grad():
        answers, shares = output.probabilities(vectors.float(), lengths)
        torch.testing.assert_close(output.decode(vectors.float(), lengths), answers)
        assert answers.shape == (len(lengths), 3)
        for (first, last, margin), share, (places, scores) in zip(
            answers.tolist(), shares, parts(output, vectors.float(), lengths), strict=True
        ):
            n = len(places)
            spans = {
                (i, j): float(scores[i, 0] + scores[j, 1])
                for i in range(1, n)
                for j in range(i, min(n, i + longest))
            }
            chosen = places.index(int(first)), places.index(int(last))
            assert spans[chosen] == pytest.approx(max(spans.values()), abs=1e-5)
            nothing = float(scores[0].sum())
            assert margin == pytest.approx(max(spans.values()) - nothing, abs=1e-5)
            start, end = torch.log_softmax(scores, 0).unbind(1)
            expected = [start[chosen[0]] + end[chosen[1]], start[0] + end[0]]
            torch.testing.assert_close(share, torch.stack(expected).exp())


def test_of_equal_spans_the_first_and_longest() -> None:
    """Characters of one piece have equal vectors: an answer has all of them."""
    output = span()
    torch.nn.init.zeros_(output.classifier.weight)
    answers = output.decode(torch.ones(13, 4), np.array([[2, 4], [3, 4]]))
    assert answers[:, :2].tolist() == [[2, 4], [3, 5]]  # three words at most
    torch.nn.init.ones_(output.classifier.weight)
    vectors = torch.tensor([0.0, 0, 1, 3, 3, 3, 2])[:, None].expand(-1, 4)
    assert output.decode(vectors, np.array([[2, 5]]))[0, :2].tolist() == [3, 5]
    assert output.decode(torch.full((6, 4), torch.nan), np.array([[2, 4]])).isnan().any()
    # Questions that all have an answer have one probability.
    output = span(classes=CLASSES[:1])
    assert output.probabilities(torch.randn(6, 4), np.array([[2, 4]]))[1].shape == (1, 1)


@given(SIZES, st.integers(0, 99))
@settings(max_examples=30)
def test_the_loss_is_the_mean_cross_entropy_of_start_and_end(sizes, seed) -> None:
    lengths, output = np.array(sizes), span()
    random = torch.Generator().manual_seed(seed)
    vectors = torch.randn((int(lengths.sum()), 4), generator=random, requires_grad=True)
    expected, targets = [], []
    for n, (places, scores) in enumerate(parts(output, vectors, lengths)):
        right = [0, 0] if n % 2 else [len(places) - 1, 1]
        targets.append([places[i] for i in right])
        expected += [
            torch.nn.functional.cross_entropy(scores[:, k], torch.tensor(right[k])) / 2
            for k in range(2)
        ]
    loss = output.loss(vectors, lengths, torch.tensor(targets))
    torch.testing.assert_close(loss, torch.stack(expected).sum())
    found, wanted = (
        torch.autograd.grad(one, vectors, retain_graph=True)[0]
        for one in (loss, torch.stack(expected).sum())
    )
    torch.testing.assert_close(found, wanted)


def test_every_group_has_a_softmax_of_its_own():
    torch.manual_seed(0)
    output, vectors = GroupSoftmax(5, TargetSummary(("0", "1"))), torch.randn(10, 5)
    right = [2, 0, 1, 1]
    sizes, targets = [3, 1, 4, 2], torch.zeros(10, dtype=torch.int64)
    loss, chosen, shares = 0.0, [], []
    for start, size, place in zip([0, 3, 4, 8], sizes, right, strict=True):
        targets[start + place] = 1
        scores = vectors[start : start + size] @ output.scores.weight[0]
        share = scores.exp() / scores.exp().sum()
        loss -= share[place].log()
        shares.append(share)
        chosen += [int(i == share.argmax()) for i in range(size)]
    lengths = np.array(sizes)
    torch.testing.assert_close(output.loss(vectors, lengths, targets), loss)
    assert output.decode(vectors, lengths).tolist() == chosen
    found, by_class = output.probabilities(vectors, lengths)
    assert found.tolist() == chosen
    torch.testing.assert_close(by_class[:, 1], torch.cat(shares))
    torch.testing.assert_close(by_class.sum(1), torch.ones(10))
    output.loss(vectors, lengths, targets).backward()
    assert output.scores.weight.grad.isfinite().all()
    assert output.scores.weight.grad.any()
    # The first of equals is chosen.
    output, lengths = GroupSoftmax(2, TargetSummary(("0", "1"))), np.array([2, 3])
    assert output.decode(torch.ones(5, 2), lengths).tolist() == [1, 0, 1, 0, 0]


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
    torch.manual_seed(seed)
    crf, lengths = CRF(3, classes(n)), np.array(sizes)
    with torch.no_grad():
        for parameter in (crf.start, crf.transitions, crf.end):
            parameter.normal_()
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


def test_balanced_weights_are_those_of_scikit_learn() -> None:
    torch.manual_seed(0)
    labels = np.array([0, 0, 0, 2, 0, 2, 3, 0])  # no item has class 1
    targets = TargetSummary(("a", "b", "c", "d"), tuple(np.bincount(labels).tolist()), len(labels))
    expected = np.zeros(4)
    expected[[0, 2, 3]] = compute_class_weight("balanced", classes=np.array([0, 2, 3]), y=labels)
    output, vectors = Softmax(5, targets, class_weight="balanced"), torch.randn(9, 5)
    right = torch.tensor([*labels, IGNORED])
    weight = torch.tensor(expected, dtype=torch.float32)
    torch.testing.assert_close(
        output.loss(vectors, np.array([9]), right),
        functional.cross_entropy(output.logits(vectors)[:8], right[:8], weight, reduction="sum"),
    )
    assert {*output.state_dict()} == {"classifier.weight", "classifier.bias"}


@pytest.mark.parametrize("balance", ["none", "balanced"])
@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
def test_focal_loss_and_smoothed_labels_by_their_formulas(balance, gamma) -> None:
    torch.manual_seed(0)
    targets, right = TargetSummary(("a", "b", "c"), (5, 2, 1), 8), [0, 2, IGNORED, 1, 0]
    vectors = torch.randn(5, 4)
    vectors[4] = 1e4  # p = 1: its slope is finite, too
    focal = Focal(4, targets, class_weight=balance, gamma=gamma)
    smooth = Softmax(4, targets, class_weight=balance, label_smoothing=0.3)
    weight = torch.tensor([8 / (3 * n) if balance == "balanced" else 1 for n in (5, 2, 1)])
    with torch.no_grad():
        focal.classifier.weight[0].abs_()
        focal.classifier.weight[1:] *= 0.1
        smooth.load_state_dict(focal.state_dict())
        shares = focal.probabilities(vectors, np.array([5]))[1]
        terms = [(shares[i], y) for i, y in enumerate(right) if y != IGNORED]
        expected = sum(-weight[y] * (1 - p[y]) ** gamma * p[y].log() for p, y in terms)
        targeted = [(p, 0.7 * functional.one_hot(torch.tensor(y), 3) + 0.1) for p, y in terms[:3]]
        smoothed = sum(-(weight * q * p.log()).sum() for p, q in targeted)
    assert shares[4, 0] == 1
    loss = focal.loss(vectors, np.array([5]), torch.tensor(right))
    torch.testing.assert_close(loss, expected, atol=1e-5, rtol=1e-4)
    loss.backward()
    assert focal.classifier.weight.grad.isfinite().all()
    of_four = smooth.loss(vectors[:4], np.array([4]), torch.tensor(right[:4]))
    torch.testing.assert_close(of_four, smoothed, atol=1e-5, rtol=1e-4)


def test_balanced_classes_of_sets_weigh_as_much_as_their_absence() -> None:
    torch.manual_seed(0)
    has = torch.tensor([[1, 0, 1], [0, 0, 1], [0, 1, 1], [1, 0, 1], [0, 0, 1]])
    targets = TargetSummary(("a", "b", "c"), (2, 1, 5), 5)
    output = Sigmoid(4, targets, thresholds="one", class_weight="balanced")
    vectors = torch.randn(5, 4)
    with torch.no_grad():
        shares = output.decode(vectors, np.array([5]))
        loss = output.loss(vectors, np.array([5]), has)
    factors = torch.tensor([3 / 2, 4, 1])
    expected = -(factors * has * shares.log() + (1 - has) * (1 - shares).log()).sum() / 3
    torch.testing.assert_close(loss, expected)

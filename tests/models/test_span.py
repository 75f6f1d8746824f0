"""Spans against brute force: every span of every passage by itself."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from featbert.models.span import Span
from featbert.tasks.base import TargetSummary

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


def test_only_answerable_questions_have_one_probability() -> None:
    output = span(classes=CLASSES[:1])
    shares = output.probabilities(torch.randn(6, 4), np.array([[2, 4]]))[1]
    assert shares.shape == (1, 1)

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.scheme import IOB2

from featbert.tasks.scorer import SCORER_NAME, TagError, entity_counts, prf, score
from tests.tasks.conlleval import conlleval

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-a-b", "I-a-b"]


@st.composite
def tagged(draw):
    """Gold and predicted tags, both ill-formed as often as not, near each other or far."""
    gold, predicted = [], []
    for _ in range(draw(st.integers(0, 4))):
        row = draw(st.lists(st.sampled_from(TAGS), max_size=9))
        near = [t if draw(st.booleans()) else draw(st.sampled_from(TAGS)) for t in row]
        gold.append(row)
        predicted.append(near)
    return gold, predicted


def counts(figures):
    return figures.correct, figures.predicted, figures.gold


@given(tagged())
def test_entities_are_those_of_conlleval(pair):
    expected = conlleval(*pair)
    scores = score(*pair)
    assert {name: counts(figures) for name, figures in scores.by_type.items()} == expected
    assert counts(scores.entity) == tuple(sum(c[i] for c in expected.values()) for i in range(3))


@given(tagged())
def test_figures_are_those_of_seqeval(pair):
    gold, predicted = pair
    scores = score(gold, predicted)
    if not any(gold) and not any(predicted):
        assert scores.entity == scores.strict == prf(0, 0, 0)  # seqeval fails on no sentences
        return
    for figures, mode in ((scores.entity, {}), (scores.strict, {"mode": "strict", "scheme": IOB2})):
        for name, function in (
            ("precision", precision_score),
            ("recall", recall_score),
            ("f1", f1_score),
        ):
            expected = function(gold, predicted, average="micro", zero_division=0, **mode)
            assert getattr(figures, name) == pytest.approx(expected, abs=1e-12)


@given(tagged())
def test_sentence_counts_sum_to_the_totals(pair):
    by_sentence = entity_counts(*pair)
    assert by_sentence.shape == (len(pair[0]), 3)
    assert by_sentence.dtype == np.int64
    assert tuple(by_sentence.sum(axis=0).tolist()) == counts(score(*pair).entity)
    for row, gold, predicted in zip(by_sentence.tolist(), *pair, strict=True):
        assert tuple(row) == counts(score([gold], [predicted]).entity)


@given(tagged())
def test_words_by_brute_force(pair):
    words = [(g, p) for gs, ps in zip(*pair, strict=True) for g, p in zip(gs, ps, strict=True)]
    scores = score(*pair)
    assert scores.words == len(words)
    assert scores.word.gold == sum(g != "O" for g, _ in words)
    assert scores.word.predicted == sum(p != "O" for _, p in words)
    assert scores.word.correct == sum(g != "O" and p != "O" and g[2:] == p[2:] for g, p in words)
    assert scores.word_accuracy == (sum(g == p for g, p in words) / len(words) if words else 0.0)


def test_a_worked_example():
    gold = [["B-PER", "I-PER", "O"], ["B-LOC", "O", "B-ORG"]]
    predicted = [["I-PER", "I-PER", "O"], ["B-LOC", "B-LOC", "O"]]
    scores = score(gold, predicted)
    assert counts(scores.entity) == (2, 3, 3)
    assert scores.entity.f1 == pytest.approx(2 / 3)
    assert counts(scores.strict) == (1, 2, 3)
    assert scores.strict.f1 == pytest.approx(0.4)
    assert counts(scores.word) == (3, 4, 4)
    assert scores.word_accuracy == pytest.approx(3 / 6)
    assert list(scores.by_type) == ["LOC", "ORG", "PER"]
    assert (scores.by_type["LOC"].precision, scores.by_type["LOC"].recall) == (0.5, 1.0)
    assert scores.by_type["ORG"] == prf(0, 0, 1)
    assert (scores.sentences, scores.words) == (2, 6)
    assert entity_counts(gold, predicted).tolist() == [[1, 1, 1], [1, 2, 2]]


def test_tuples_are_read_and_nothing_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert score([("O", "O")], [("O", "O")]).entity == prf(0, 0, 0)
        assert score([("B-PER",)], [("O",)]).entity == prf(0, 0, 1)
        assert score([("O",)], [("I-PER",)]).strict == prf(0, 0, 0)
        assert score([], []).word_accuracy == 0.0


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ([["O"], ["O"]], [["O"]], "without predictions is sentence 2"),
        ([["O"]], [["O"], ["O"], ["O"]], "without gold tags is sentence 2"),
        ([["O"], ["O", "O"]], [["O"], ["O"]], "2 predicted tags expected in sentence 2, found 1"),
        ([["O"]], [["S-PER"]], "predicted tag of word 1 in sentence 1 is 'S-PER'"),
        ([["O", "B-"]], [["O", "O"]], "gold tag of word 2 in sentence 1 is 'B-'"),
        ([["O"]], [["PER"]], "is 'PER'"),
        ([["O"]], [[""]], "is ''"),
    ],
)
def test_what_cannot_be_scored_names_its_sentence(gold, predicted, message):
    for function in (score, entity_counts):
        with pytest.raises(TagError, match=message):
            function(gold, predicted)


def test_the_name_names_version_and_semantics():
    from importlib.metadata import version

    import seqeval  # noqa: F401

    assert f"seqeval {version('seqeval')}, conlleval semantics" == SCORER_NAME

"""Measures of examples against scikit-learn and scipy, and as sums of counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from featbert.errors import InputError
from featbert.tasks.base import get_task
from featbert.tasks.measures import OF_CLASSES, OF_SCORES, members, positive_class

ORACLES = {
    "accuracy": accuracy_score,
    "macro_f1": lambda gold, found: f1_score(gold, found, average="macro", zero_division=0),
    "matthews": matthews_corrcoef,
    "pearson": lambda gold, found: pearsonr(gold, found)[0],
    "spearman": lambda gold, found: spearmanr(gold, found)[0],
    "pearson_spearman": lambda gold, found: (
        (pearsonr(gold, found)[0] + spearmanr(gold, found)[0]) / 2
    ),
}
CLASSES = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcde")), min_size=1)
NUMBERS = st.integers(-40, 40).map(lambda n: n / 8)
SCORES = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=60)


def value(measure, gold, found, classes=None):
    classes = classes or sorted({*gold, *found})
    sides = (members([[answer] for answer in side], classes) for side in (gold, found))
    return float(measure.of(measure.count(*sides, classes).sum(0)))


@pytest.mark.filterwarnings("ignore:A single label")
@settings(max_examples=150)
@given(CLASSES, st.sampled_from(["accuracy", "macro_f1", "matthews"]))
def test_measures_of_classes_are_those_of_scikit_learn(pairs, key):
    gold, found = map(list, zip(*pairs, strict=True))
    assert value(OF_CLASSES[key], gold, found) == pytest.approx(ORACLES[key](gold, found))
    floor = get_task(f"classification:{key}").score([[c] for c in gold], [[c] for c in found]).floor
    assert floor == pytest.approx(ORACLES[key](gold, [max(gold, key=gold.count)] * len(gold)))


@settings(max_examples=100)
@given(st.lists(st.tuples(st.sampled_from("01"), st.sampled_from("01")), min_size=1))
def test_f1_is_of_the_positive_class(pairs):
    gold, found = map(list, zip(*pairs, strict=True))
    mine = value(OF_CLASSES["f1"], gold, found, ["0", "1"])
    assert mine == pytest.approx(f1_score(gold, found, pos_label="1", zero_division=0))
    rows = ([[answer] for answer in side] for side in (gold, found))
    # The same answer to all examples takes no skill, even if it is the rarer one.
    constant = f1_score(gold, ["1"] * len(gold), pos_label="1", zero_division=0)
    floor = get_task("classification:f1").score(*rows, ["0", "1"]).floor
    assert floor == pytest.approx(constant)


@settings(max_examples=150)
@given(SCORES, st.sampled_from([0.0, 1e4]), st.sampled_from(list(OF_SCORES)))
def test_measures_of_scores_are_those_of_scipy(pairs, shift, key):
    gold, found = (np.array(side) + shift for side in zip(*pairs, strict=True))
    measure = OF_SCORES[key]
    mine = float(measure.of(measure.count(gold, found, ()).sum(0)))
    if len(set(gold)) == 1 or len(set(found)) == 1:
        assert mine == 0  # undefined
    else:
        assert mine == pytest.approx(ORACLES[key](gold, found), abs=1e-9)
        # What is added up over seeds, or swapped between systems, is on one scale.
        counts = (measure.count(gold, one, ()) for one in (found, found / 4 - 3))
        np.testing.assert_allclose(*counts, atol=1e-6)


def test_a_class_that_does_not_occur_changes_nothing():
    gold, found = list("aabb"), list("abbb")
    for key in ("accuracy", "macro_f1", "matthews"):
        few, many = (value(OF_CLASSES[key], gold, found, classes) for classes in ("ab", "abcz"))
        assert few == many


@pytest.mark.parametrize(
    ("classes", "positive"),
    [
        (["0", "1"], "1"),
        (["no", "yes"], "yes"),
        (["not_equivalent", "equivalent"], "equivalent"),
        (["unacceptable", "acceptable"], "acceptable"),
        (["pos", "neg"], "pos"),
        (["only"], "only"),
    ],
)
def test_the_positive_class(classes, positive):
    assert positive_class(classes) == positive
    with pytest.raises(InputError):
        positive_class(["a", "b", "c"])


def test_f1_is_of_classes_that_a_part_may_lack():
    task, zeros = get_task("classification:f1"), [["0"]] * 4
    for scores in (task.score(zeros, zeros, ["0", "1"]), task.scores(zeros, zeros, 4, ["0", "1"])):
        assert (scores.values["f1"], scores.floor) == (0.0, 0.0)
    assert task.dev_values(zeros, [*zeros[1:], ["1"]], ["0", "1"])["f1"] == 0.0
    ones = [["1"]] * 4
    assert task.score(ones, ones, ["0", "1"]).values["f1"] == 1.0
    # Nor is there F1 of two classes where a third one could be answered.
    two = [["a"], ["b"]]
    assert "f1" in get_task("classification").score(two, two, ["a", "b"]).values
    assert "f1" not in get_task("classification").score(two, two, ["a", "b", "c"]).values


def test_an_answer_without_a_name_is_no_class():
    scores = get_task("classification").score([["a"], ["b"]], [[""], ["b"]])
    assert scores.values["accuracy"] == 0.5
    assert [*scores.by_class] == ["a", "b"]


def test_predicted_scores_keep_their_digits():
    scores = np.array([1.2345678e-6, -3.1415927, 123456.78, 0], np.float32)
    written = get_task("regression").named(scores, ())
    np.testing.assert_array_equal(np.array([*map(float, written)], np.float32), scores)


def test_an_undefined_correlation_is_said():
    task, constant, varied = get_task("regression"), [["1.0"]] * 3, [["1.0"], ["2.0"], ["3.0"]]
    assert set(task.score(constant, varied).values.values()) == {0.0}
    assert len(task.doubts(constant, varied)) == 1
    assert task.doubts(varied, varied) == []

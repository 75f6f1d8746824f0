"""Calibration of probabilities: scikit-learn and brute force as oracles, in every task."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.metrics import brier_score_loss, label_ranking_average_precision_score, log_loss

from featbert.data.corpus import UNLABELLED
from featbert.tasks.base import Scores, get_task
from featbert.tasks.forecasts import BINS, Forecasts
from tests.corpora import split_of

CLASSES = ("a", "b", "c")


def scored(task, answers, shares, classes=CLASSES, scheme="bio", numbers=None):
    """Scores of the probabilities of answers."""
    nothing = Scores({}, {}, 0, 0)
    made = get_task(task).with_probabilities(nothing, answers, shares, classes, scheme, numbers)
    return made.probabilities


def forecasts(seed: int, items: int = 60, classes: int = 3) -> Forecasts:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(classes, 0.3), items)
    return Forecasts(shares, rng.integers(0, classes, items))


def brute_force_ece(shares: np.ndarray, right: np.ndarray) -> float:
    total = 0.0
    for number in range(BINS):
        inside = [
            (row.max(), float(row.argmax() == gold))
            for row, gold in zip(shares, right, strict=True)
            if number / BINS < row.max() <= (number + 1) / BINS
        ]
        if inside:
            confidence, hits = np.mean(inside, axis=0)
            total += len(inside) / len(shares) * abs(hits - confidence)
    return total


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_values_are_those_of_scikit_learn_and_brute_force(classes):
    made = forecasts(classes, classes=classes)
    values = made.values()
    names = range(classes)
    brier = brier_score_loss(made.right, made.shares, labels=names, scale_by_half=True)
    assert values["brier"] == pytest.approx(brier)
    assert values["ece"] == pytest.approx(brute_force_ece(made.shares, made.right))
    assert made.loss() == pytest.approx(log_loss(made.right, made.shares, labels=names))
    bins = made.reliability()
    assert sum(bins.items) == len(made.right)
    assert sum(bins.right) == (made.shares.argmax(axis=1) == made.right).sum()


def test_a_class_that_train_lacks_is_never_right():
    made = Forecasts(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([-1, 0]))
    assert made.values() == pytest.approx({"ece": 0.25, "brier": (0.25 + 0.25 + 1) / 4})


def test_confidence_and_hits_are_of_the_given_answers():
    shares, numbers = np.array([[0.6, 0.4], [0.3, 0.7]]), np.array([1, 1])
    found = scored("labels", split_of([("b", "b")]), shares, ("a", "b"), "", numbers)
    assert sum(found.reliability.right) == 2
    assert sum(found.reliability.confidence) == pytest.approx(0.4 + 0.7)
    assert found.values["ece"] == pytest.approx((0.6 + 0.3) / 2)


@pytest.mark.parametrize("temperature", [0.4, 1.0, 3.0])
def test_the_temperature_of_logits_is_found_from_kept_probabilities(temperature):
    """The gold answers are drawn from softmax(logits), and the model says softmax(T * logits)."""
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 1.5, (20_000, 4))
    right = (softmax(logits, axis=1).cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    kept = softmax(temperature * logits, axis=1).astype(np.float16).astype(float)
    found = Forecasts(kept, right).temperature()
    assert found == pytest.approx(temperature, rel=0.05)
    scaled = log_softmax(temperature * logits / found, axis=1)
    loss = -scaled[np.arange(len(right)), right].mean()
    assert Forecasts(kept, right).loss(found) == pytest.approx(loss, abs=1e-3)


def test_examples_and_words_without_an_answer_do_not_count():
    made = forecasts(8, items=4)
    names = np.array(CLASSES)[made.right].tolist()
    right = Forecasts(made.shares[[0, 1, 3]], made.right[[0, 1, 3]]).values()
    texts = split_of([(names[0],), (names[1],), None, (names[3],)])
    words = split_of([(names[0], names[1]), (UNLABELLED, names[3])])
    for task, answers in (("classification", texts), ("labels", words)):
        assert scored(task, answers, made.shares).values == pytest.approx(right)


def test_tags_are_those_of_the_learned_scheme():
    """In IOB1 a phrase begins with I-, and a run's classes are written so."""
    shares = np.array([[0.1, 0.9], [0.8, 0.2]])
    found = scored("entities", split_of([("B-X", "O")]), shares, ("O", "I-X"), "iob1")
    assert sum(found.reliability.right) == 2
    assert found.values["brier"] == pytest.approx((0.1**2 + 0.2**2) / 2)


def test_a_choice_is_one_of_the_texts_of_an_example():
    shares = np.array([[0.3, 0.7], [0.7, 0.3], [0.8, 0.2], [0.5, 0.5], [0.7, 0.3]])
    answers = split_of([("1",), ("0",), ("0",), ("0",), ("1",)], [0, 0, 1, 1, 1])
    found = scored("choice", answers, shares, ("0", "1"))
    assert found.values["ece"] == pytest.approx((0.3 + 0.5) / 2)
    squares = [0.3**2 + 0.3**2, 0.2**2 + 0.5**2 + 0.7**2]
    assert found.values["brier"] == pytest.approx(sum(squares) / 4)
    task = get_task("choice")
    made = task.forecasts(task.gold(answers), shares, ("0", "1"), "")
    assert made.loss() == pytest.approx(-np.log([0.7, 0.3]).mean())
    flat = made.loss(1e6)
    assert flat == pytest.approx(np.log([2, 3]).mean(), abs=1e-3)  # never a text that is not there


@pytest.mark.parametrize("seed", range(3))
def test_sets_are_ranked_and_each_class_is_an_item(seed):
    rng = np.random.default_rng(seed)
    has, shares = rng.random((30, 3)) < 0.4, rng.random((30, 3))
    rows = ["|".join(np.array(CLASSES)[row]) for row in has]
    found = scored("multilabel", split_of([(row,) for row in rows]), shares)
    assert found.values["lrap"] == pytest.approx(label_ranking_average_precision_score(has, shares))
    flat = shares.ravel()
    assert found.values["brier"] == pytest.approx(brier_score_loss(has.ravel(), flat), abs=1e-6)
    pairs = np.stack([1 - flat, flat], axis=1)
    assert found.values["ece"] == pytest.approx(brute_force_ece(pairs, has.ravel().astype(int)))


def test_thresholds_are_scaled_with_the_probabilities():
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 3, 500)
    shares, scaled = (1 / (1 + np.exp(-logits / t)) for t in (1.0, 2.5))
    limits = [0.0, 0.2, 0.5, 0.9, 1.0]
    threshold = get_task("multilabel").scaled_threshold(limits, 2.5)
    for before, after in zip(limits, threshold, strict=True):
        assert ((shares > before) == (scaled > after)).all()

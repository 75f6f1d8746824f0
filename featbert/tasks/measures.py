"""Measures of one answer per sequence: additive counts by example, and their function.

One example adds one row of counts. The counts of a text, of a part of it and of a resample are the
sums of their rows, so every measure is resampled, broken down and pooled over seeds in one way.

    accuracy          right / n
    f1                2 tp / (predicted + gold) of the positive one of two classes
    macro_f1          mean of F1 over the classes that occur in gold or prediction
    matthews          correlation of two classifications, R_K for several classes (Gorodkin 2004)
    pearson           correlation of scores
    spearman          the same of their ranks, which are taken once, in the whole text
    pearson_spearman  mean of the two, as GLUE reports STS-B

A correlation with a constant is undefined. Its value here is 0.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featbert.errors import InputError
from featbert.tasks.base import Floats, Measure
from featbert.text import natural

Counts = NDArray[Any]
Members = NDArray[np.bool_]
Values = dict[str, float]
# Names that are the negative one of two classes begin with one of these.
_NEGATIONS = ("not", "non", "no", "un", "in")


@dataclass(frozen=True)
class ExampleMeasure(Measure):
    """A measure with the counts of each example.

    `count` gives (S, K) from gold answers, predicted ones and the classes. Answers are `members`
    of classes, or (S,) scores.
    """

    count: Callable[[Any, Any, Sequence[str]], Counts]


def positive_class(classes: Sequence[str]) -> str:
    """The positive one of two classes: not the negated one, else the last by name.

    1 of 0 and 1, "yes" of "no" and "yes", "equivalent" of "equivalent" and "not_equivalent".
    """
    if len(classes) > 2:
        raise InputError(
            f"F1 is of two classes, but the data has {len(classes)}; use macro_f1 or accuracy"
        )
    ordered = sorted(classes, key=natural) or [""]
    first, last = (name.lower() for name in (ordered[0], ordered[-1]))
    negated = last != first and last.endswith(first) and last.startswith(_NEGATIONS)
    return ordered[0] if negated else ordered[-1]


def prf(correct: float, predicted: float, gold: float) -> Values:
    """F1, precision and recall of counts (0 where the denominator is 0), and the counts."""
    return {
        "f1": 2 * correct / (predicted + gold) if predicted + gold else 0.0,
        "precision": correct / predicted if predicted else 0.0,
        "recall": correct / gold if gold else 0.0,
        "correct": correct,
        "predicted": predicted,
        "gold": gold,
    }


def scores_by_class(gold: Sequence[str], predicted: Sequence[str]) -> dict[str, Values]:
    """`prf` of every class that occurs, sorted by name."""
    right = Counter(g for g, p in zip(gold, predicted, strict=True) if g == p)
    n_predicted, n_gold = Counter(predicted), Counter(gold)
    classes = sorted(n_predicted | n_gold)
    return {name: prf(right[name], n_predicted[name], n_gold[name]) for name in classes}


def accuracy_of(counts: Counts) -> Floats:
    """(..., 2) right and n -> (...) accuracy, 0 if n is 0."""
    right, n = counts[..., 0], counts[..., 1]
    return np.asarray(right / np.maximum(n, 1), dtype=np.float64)


def f1_of(counts: Counts) -> Floats:
    """(..., 3) true positives, predicted and gold -> (...) F1, 0 if neither occurs."""
    right, predicted, gold = (counts[..., k] for k in range(3))
    return np.asarray(2 * right / np.maximum(predicted + gold, 1), dtype=np.float64)


def macro_f1_of(counts: Counts) -> Floats:
    """(..., 3 C) the counts of `f1_of` by class -> (...) mean F1 of the classes that occur."""
    by_class = counts.reshape(*counts.shape[:-1], -1, 3)
    occurs = by_class[..., 1:].sum(-1) > 0
    total = np.where(occurs, f1_of(by_class), 0).sum(-1)
    return np.asarray(total / np.maximum(occurs.sum(-1), 1), dtype=np.float64)


def matthews_of(counts: Counts) -> Floats:
    """(..., 2 + 2 C) right, n, predicted and gold by class -> (...) Matthews correlation."""
    right, n = counts[..., 0].astype(np.float64), counts[..., 1].astype(np.float64)
    predicted, gold = np.split(counts[..., 2:].astype(np.float64), 2, axis=-1)
    covariance = right * n - (predicted * gold).sum(-1)
    spread = (n**2 - (predicted**2).sum(-1)) * (n**2 - (gold**2).sum(-1))
    return _ratio(covariance, spread)


def pearson_of(counts: Counts) -> Floats:
    """(..., 6) n and the sums of x, y, x^2, y^2, xy -> (...) Pearson correlation."""
    n, x, y, xx, yy, xy = (counts[..., k].astype(np.float64) for k in range(6))
    # The sums of a constant differ from 0 in their last bits.
    spread_x, spread_y = n * xx - x**2, n * yy - y**2
    spread_x = np.where(spread_x > 1e-12 * n * xx, spread_x, 0)
    spread_y = np.where(spread_y > 1e-12 * n * yy, spread_y, 0)
    return _ratio(n * xy - x * y, spread_x * spread_y)


def pearson_spearman_of(counts: Counts) -> Floats:
    """(..., 12) the counts of scores and of ranks -> (...) mean of both correlations."""
    return (pearson_of(counts[..., :6]) + pearson_of(counts[..., 6:])) / 2


def _ratio(covariance: Floats, spread: Floats) -> Floats:
    defined = spread > 0
    ratios = np.where(defined, covariance / np.sqrt(np.where(defined, spread, 1)), 0)
    return np.asarray(np.clip(ratios, -1, 1), dtype=np.float64)


def members(answers: Sequence[Sequence[str]], classes: Sequence[str]) -> Members:
    """(S, C) whether each answer has each class. Other names do not count."""
    place = {name: i for i, name in enumerate(classes)}
    has = np.zeros((len(answers), len(classes)), dtype=bool)
    for row, names in enumerate(answers):
        has[row, [place[name] for name in names if name in place]] = True
    return has


def counts_by_class(gold: Members, predicted: Members) -> Counts:
    """(S, C) -> (S, C, 3) true positives, predicted and gold."""
    return np.stack([gold & predicted, predicted, gold], axis=2).astype(np.int64)


def _accuracy(gold: Members, predicted: Members, classes: Sequence[str]) -> Counts:
    right = (gold == predicted).all(axis=1)
    return np.stack([right, np.ones_like(right)], axis=1).astype(np.int64)


def _f1(gold: Members, predicted: Members, classes: Sequence[str]) -> Counts:
    is_positive = np.array(classes, dtype=object) == positive_class(classes)
    return _micro_f1(gold[:, is_positive], predicted[:, is_positive], classes)


def _micro_f1(gold: Members, predicted: Members, classes: Sequence[str]) -> Counts:
    return np.asarray(counts_by_class(gold, predicted).sum(axis=1))


def _macro_f1(gold: Members, predicted: Members, classes: Sequence[str]) -> Counts:
    return counts_by_class(gold, predicted).reshape(len(gold), 3 * len(classes))


def _matthews(gold: Members, predicted: Members, classes: Sequence[str]) -> Counts:
    return np.concatenate([_accuracy(gold, predicted, classes), predicted, gold], axis=1)


def _sums(x: Floats, y: Floats) -> Counts:
    """(S, 6) the counts of `pearson_of`. Counts of systems are added, so x is standardised."""
    x = (x - x.mean()) / x.std() if len({*x.tolist()}) > 1 else np.zeros_like(x)
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)


def _scores(gold: Sequence[str], predicted: Sequence[str]) -> tuple[Floats, Floats]:
    """Predicted and gold scores, less the mean of gold: the sums of large numbers lose bits."""
    y, x = (np.array([float(v) for v in side], np.float64) for side in (gold, predicted))
    mean = y.mean() if len(y) else 0.0
    return x - mean, y - mean


def _ranks(values: Floats) -> Floats:
    """Average ranks in (0, 1], less their mean."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(values) / max(1, len(values)) - 0.5, dtype=np.float64)


def _pearson(gold: Sequence[str], predicted: Sequence[str], classes: Sequence[str]) -> Counts:
    return _sums(*_scores(gold, predicted))


def _spearman(gold: Sequence[str], predicted: Sequence[str], classes: Sequence[str]) -> Counts:
    x, y = _scores(gold, predicted)
    return _sums(_ranks(x), _ranks(y))


def _both(*answers: Sequence[str]) -> Counts:
    return np.concatenate([_pearson(*answers), _spearman(*answers)], axis=1)


# The first of each task is its default.
OF_CLASSES = {
    "accuracy": ExampleMeasure("accuracy", "accuracy", accuracy_of, _accuracy),
    "f1": ExampleMeasure("f1", "F1", f1_of, _f1, most_classes=2),
    "macro_f1": ExampleMeasure("macro_f1", "macro F1", macro_f1_of, _macro_f1),
    "matthews": ExampleMeasure("matthews", "Matthews", matthews_of, _matthews, lowest=-1.0),
}
OF_SETS = {
    "micro_f1": ExampleMeasure("micro_f1", "micro F1", f1_of, _micro_f1),
    "macro_f1": OF_CLASSES["macro_f1"],
    "accuracy": ExampleMeasure("accuracy", "subset accuracy", accuracy_of, _accuracy),
}
OF_SCORES = {
    "pearson_spearman": ExampleMeasure(
        "pearson_spearman", "mean of Pearson and Spearman", pearson_spearman_of, _both, lowest=-1.0
    ),
    "pearson": ExampleMeasure("pearson", "Pearson", pearson_of, _pearson, lowest=-1.0),
    "spearman": ExampleMeasure("spearman", "Spearman", pearson_of, _spearman, lowest=-1.0),
}

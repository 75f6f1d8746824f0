"""Labels of words: one label for each word, such as its part of speech.

    accuracy = right / words        macro F1 = mean over labels of 2 right / (predicted + gold)

The mean is over the labels that occur in gold or prediction, as in scikit-learn's `f1_score`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featbert.errors import InputError
from featbert.tasks.base import Bucket, Counts, Facet, Floats, Measure, Predictions, Rows, Scores
from featbert.tasks.words import WordTask


def accuracy_of(counts: NDArray[Any]) -> Floats:
    """(..., 2) right and words -> (...) accuracy; 0 without words."""
    right, words = counts[..., 0], counts[..., 1]
    return np.asarray(right / np.maximum(words, 1), dtype=np.float64)


class Labels(WordTask):
    """The task of labels; see `Task` for what its methods return."""

    name = "labels"
    title = "labels of words"
    targets = "labels"
    scorer = "accuracy of words"
    measure = Measure("accuracy", "accuracy", ("right", "words"), accuracy_of)
    columns: Mapping[str, str] = {"accuracy": "accuracy", "macro_f1": "macro F1"}
    scorers: Mapping[str, str] = {}
    facets: Mapping[str, Facet] = {
        "label": Facet("label"),
        "seen": Facet("whether the word occurs in train", needs_train=True),
        "sentence": Facet("words of the sentence"),
    }

    def score(self, gold: Rows, predicted: Rows) -> Scores:
        """Accuracy and macro F1, and both by label.

        Raises:
            InputError: predictions that do not fit the gold labels.
        """
        right, words = self.counts(gold, predicted).sum(axis=0).tolist()
        correct: Counter[str] = Counter()
        found: Counter[str] = Counter()
        wanted: Counter[str] = Counter()
        for gold_row, predicted_row in zip(gold, predicted, strict=True):
            wanted.update(gold_row)
            found.update(predicted_row)
            correct.update(g for g, p in zip(gold_row, predicted_row, strict=True) if g == p)
        by_class = {
            label: {
                "f1": 2 * correct[label] / (found[label] + wanted[label]),
                "precision": correct[label] / found[label] if found[label] else 0.0,
                "recall": correct[label] / wanted[label] if wanted[label] else 0.0,
                "correct": correct[label],
                "predicted": found[label],
                "gold": wanted[label],
            }
            for label in sorted({*wanted, *found})
        }
        macro = sum(values["f1"] for values in by_class.values()) / max(1, len(by_class))
        values = {"accuracy": right / words if words else 0.0, "macro_f1": macro}
        return Scores(values, by_class, len(gold), words)

    def dev_values(self, gold: Rows, predicted: Rows) -> dict[str, float]:
        """Accuracy and macro F1."""
        return self.score(gold, predicted).values

    def counts(self, gold: Rows, predicted: Rows, classes: Sequence[str] = ()) -> Counts:
        """(S, 2) right words and words by sentence.

        Raises:
            InputError: predictions that do not fit the gold labels.
        """
        if list(map(len, gold)) != list(map(len, predicted)):
            raise InputError("the predictions are not of these sentences: their lengths differ")
        counts = [
            (sum(g == p for g, p in zip(row, other, strict=True)), len(row))
            for row, other in zip(gold, predicted, strict=True)
        ]
        return np.array(counts, dtype=np.int64).reshape(-1, 2)

    def break_down(
        self, facets: Sequence[str], found: Predictions, *, known: Collection[Any] = ()
    ) -> dict[str, dict[str, Bucket]]:
        """Counts by bucket; a word counts in the bucket of its gold label."""
        known = frozenset(known)
        parts: dict[str, dict[str, Bucket]] = {}
        for facet in facets:
            counts: dict[str, list[int]] = {}
            for row, gold_row, predicted_row in zip(
                found.words, found.gold, found.predicted, strict=True
            ):
                for word, label, answer in zip(row, gold_row, predicted_row, strict=True):
                    if facet == "label":
                        name = label
                    elif facet == "seen":
                        name = "seen" if word in known else "unseen"
                    else:
                        name = next(n for most, n in _LENGTHS if len(row) <= most)
                    right = counts.setdefault(name, [0, 0])
                    right[0] += label == answer
                    right[1] += 1
            order = sorted(counts) if facet != "sentence" else [n for _, n in _LENGTHS]
            parts[facet] = {
                name: Bucket(tuple(counts[name]), counts[name][1])
                for name in order
                if name in counts
            }
        return parts

    def known(self, words: Rows, gold: Rows) -> set[str]:
        """Every word, as it is written."""
        return {word for row in words for word in row}


_LENGTHS = ((10, "1-10"), (20, "11-20"), (40, "21-40"), (10**9, "41+"))
TASK = Labels()

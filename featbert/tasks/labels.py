"""One label for each word, such as its part of speech.

    accuracy = right / words        macro F1 = mean over labels of 2 right / (predicted + gold)

The mean is over the labels that occur in gold or prediction, as in scikit-learn's `f1_score`.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from featbert.tasks.base import Facet, Parts, Predictions, Rows, Scores, in_buckets
from featbert.tasks.measures import OF_CLASSES, Counts, scores_by_class
from featbert.tasks.words import WordTask, check_lengths


class Labels(WordTask):
    """The task of labels; see `Task` for what its methods return."""

    name = "labels"
    title = "labels of words"
    targets = "labels"
    scorer = "accuracy of words"
    measure = OF_CLASSES["accuracy"]
    columns: Mapping[str, str] = {"accuracy": "accuracy", "macro_f1": "macro F1"}
    facets: Mapping[str, Facet] = {
        "label": Facet("label"),
        "seen": Facet("whether the word occurs in train", needs_train=True),
        "sentence": Facet("words of the sentence"),
    }

    def score(self, gold: Rows, predicted: Rows) -> Scores:
        right, words = self.counts(gold, predicted).sum(axis=0).tolist()
        by_class = scores_by_class(_flat(gold), _flat(predicted))
        macro = sum(values["f1"] for values in by_class.values()) / max(1, len(by_class))
        values = {"accuracy": right / words if words else 0.0, "macro_f1": macro}
        return Scores(values, by_class, len(gold), words)

    def counts(self, gold: Rows, predicted: Rows, classes: Sequence[str] = ()) -> Counts:
        check_lengths(gold, predicted)
        counts = [
            (sum(g == p for g, p in zip(row, other, strict=True)), len(row))
            for row, other in zip(gold, predicted, strict=True)
        ]
        return np.array(counts, dtype=np.int64).reshape(-1, 2)

    def parts(self, found: Predictions, known: Collection[Any]) -> Parts:
        labels = _flat(found.gold)
        pairs = zip(labels, _flat(found.predicted), strict=True)
        counts = np.array([(g == p, 1) for g, p in pairs], dtype=np.int64).reshape(-1, 2)

        def buckets(facet: str) -> tuple[list[str], list[str]]:
            if facet == "sentence":
                return in_buckets((len(row) for row in found.words for _ in row), _LENGTHS)
            seen = ("seen" if word in known else "unseen" for word in _flat(found.words))
            names = labels if facet == "label" else [*seen]
            return names, sorted({*names})

        return counts, counts[:, 1], buckets

    def known(self, words: Rows, gold: Rows) -> set[str]:
        """Every word, as it is written."""
        return {*_flat(words)}


def _flat(rows: Rows) -> list[str]:
    return [one for row in rows for one in row]


_LENGTHS = ((10, "1-10"), (20, "11-20"), (40, "21-40"), (math.inf, "41+"))
TASK = Labels()

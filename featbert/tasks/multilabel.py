"""Several classes: each text or pair has no, one or several of them.

    micro F1          2 tp / (predicted + gold), all classes together
    macro F1          mean of the F1 of each class that occurs
    subset accuracy   share of texts with exactly the gold classes

Micro F1 chooses the epoch unless another measure is named: "multilabel:macro_f1",
"multilabel:accuracy". A class is given if its probability is above a threshold. On dev the one
with the highest measure is chosen for all classes, or, with `thresholds = "each"`, for each class
the one with its highest F1. Among equal ones the lowest is chosen.

A system without skill gives each text the same classes: the k most frequent ones, k as good as any.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featbert.data.corpus import Split
from featbert.data.sets import classes_of, joined
from featbert.tasks.base import Facet, Floats, Parts, Predictions, Rows, TargetSummary, Threshold
from featbert.tasks.examples import FACETS, ExampleTask, best_threshold, single
from featbert.tasks.forecasts import CALIBRATION, Forecasts
from featbert.tasks.measures import OF_SETS, Members, Values, counts_by_class, members
from featbert.text import natural

# Thresholds for all classes that are tried, at most.
_TRIED = 200


class Multilabel(ExampleTask):
    """The task of several classes per text."""

    name = "multilabel"
    title = "texts with several classes"
    targets = "sets"
    answer = "set"
    probability_columns: Mapping[str, str] = {**CALIBRATION, "lrap": "LRAP"}
    kinds = "classes"
    removes = True
    output = "sigmoid"
    frozen_body = "logistic"
    floor = "the same classes for each text"
    measures = OF_SETS
    facets: Mapping[str, Facet] = {
        "class": Facet("class"),
        "number": Facet("number of gold classes"),
        **FACETS,
    }

    def _constants(self, gold: Rows) -> Rows:
        """No class, the most frequent one, the two most frequent ones, and so on."""
        classes = self.classes_in(gold)
        order = np.argsort(-self._encoded(gold, classes).sum(axis=0), kind="stable")
        return [[joined(classes[i] for i in order[:k])] for k in range(len(classes) + 1)]

    def classes_in(self, gold: Rows) -> list[str]:
        names = {name for row in gold for answer in row for name in classes_of(answer)}
        return sorted(names, key=natural)

    def encode(self, split: Split, classes: tuple[str, ...], scheme: str) -> Any:
        """(S, C) 1 for each class of a text."""
        return self._known(self.gold(split), classes).astype(np.int64)

    def summary(self, train: Split, scheme: str) -> TargetSummary:
        classes = self.classes(train, scheme)
        counts = self.encode(train, classes, scheme).sum(axis=0)
        return TargetSummary(classes, tuple(counts.tolist()), len(train))

    def named(self, numbers: Any, classes: tuple[str, ...], threshold: Threshold = None) -> Any:
        """Answers from (S, C) probabilities: the classes above the threshold, by default 0.5."""
        is_above = numbers > (0.5 if threshold is None else np.array(threshold))
        names = np.array(classes, dtype=object)
        return np.array([joined(names[row]) for row in is_above], dtype=object)

    def threshold(
        self, numbers: NDArray[Any], split: Split, classes: tuple[str, ...], settings: Any
    ) -> Threshold:
        gold = self.gold(split)
        labelled = [i for i, row in enumerate(gold) if row]
        right = self._known(gold, classes)[labelled]
        shares = numbers[labelled].astype(np.float64)
        if settings.thresholds == "each":
            return [_best_f1(shares[:, c], right[:, c]) for c in range(len(classes))]
        edges = np.unique(np.quantile(shares, np.linspace(0, 1, _TRIED)))
        limits = [0.0, *((edges[1:] + edges[:-1]) / 2).tolist()]
        count = self.measures[self.measure.key].count
        counts = (count(right, shares > t, classes).sum(axis=0) for t in limits)
        values = [float(self.measure.of(total)) for total in counts]
        return float(limits[int(np.argmax(np.round(values, 12)))])

    def _encoded(self, rows: Rows, classes: Sequence[str]) -> Members:
        return members([*map(classes_of, single(rows))], classes)

    def _known(self, gold: Rows, classes: Sequence[str]) -> Members:
        """(S, C) whether each text has each of these classes. Others do not count."""
        return members([classes_of("".join(row)) for row in gold], classes)

    def forecasts(
        self, gold: Rows, shares: Floats, classes: Sequence[str], scheme: str, numbers: Any = None
    ) -> Forecasts:
        """An item is a class of a text, which it has or not."""
        # float16 rounds a probability above 1 - 2^-12 to 1.
        without = np.maximum(1 - shares, 2.0**-13)
        pairs = np.stack([without, shares], axis=2).reshape(-1, 2)
        return Forecasts(pairs, self._known(gold, classes).ravel().astype(np.int64))

    def ranking(self, gold: Rows, shares: Floats, classes: Sequence[str]) -> Values:
        """Label ranking average precision, as scikit-learn computes it."""
        from sklearn.metrics import label_ranking_average_precision_score

        right = self._known(gold, classes)
        return {"lrap": float(label_ranking_average_precision_score(right, shares))}

    def scaled_threshold(self, threshold: Threshold, temperature: float) -> Threshold:
        if threshold is None:
            return None
        lowest = np.array(threshold)
        powers = lowest ** (1 / temperature), (1 - lowest) ** (1 / temperature)
        scaled: Threshold = (powers[0] / (powers[0] + powers[1])).tolist()
        return scaled

    def threshold_note(self, threshold: Threshold, classes: Sequence[str]) -> str:
        if isinstance(threshold, list):
            pairs = zip(classes, threshold, strict=True)
            listed = ", ".join(f"{name} {lowest:.4f}" for name, lowest in pairs)
            return f"A class is given if its probability is above its threshold: {listed}."
        return f"A class is given if its probability is above {threshold:.4f}."

    def parts(self, found: Predictions, known: Collection[Any], classes: Sequence[str]) -> Parts:
        """An item is a class of a text, gold or predicted. For subset accuracy it is a text."""
        if self.measure.key == "accuracy":
            return super().parts(found, known, classes)
        classes = sorted({*classes, *self.classes_in([*found.gold, *found.predicted])})
        gold, predicted = (self._encoded(rows, classes) for rows in (found.gold, found.predicted))
        texts, places = np.nonzero(gold | predicted)
        of_items = counts_by_class(gold, predicted)[texts, places]
        counts = of_items
        if self.measure.key == "macro_f1":
            counts = np.zeros((len(texts), len(classes), 3), dtype=np.int64)
            counts[np.arange(len(texts)), places] = of_items
            counts = counts.reshape(len(texts), 3 * len(classes))

        def buckets(facet: str) -> tuple[list[str], list[str]]:
            if facet == "class":
                return [classes[place] for place in places], [*classes]
            names, order = self._buckets(facet, found)
            return [names[text] for text in texts], order

        return counts, of_items[:, 2], buckets

    def _buckets(self, facet: str, found: Predictions) -> tuple[list[str], list[str]]:
        if facet != "number":
            return super()._buckets(facet, found)
        names = [str(len(self._marked(answer))) for answer in found.gold]
        return names, sorted({*names}, key=natural)

    def _marked(self, answer: Sequence[str]) -> list[str]:
        return classes_of(*single([answer]))

    def model_config(self, classes: Sequence[str]) -> dict[str, Any]:
        return super().model_config(classes) | {"problem_type": "multi_label_classification"}

    def rename(self, tags: Sequence[str], mapping: Mapping[str, str]) -> list[str]:
        sets = ([n for n in classes_of(tag) if mapping.get(n) != "O"] for tag in tags)
        return [joined(mapping.get(name, name) for name in names) for names in sets]

    def as_json(self, answer: str) -> list[str]:
        return classes_of(answer)

    def _tag(self, value: Any) -> str:
        return joined(map(str, value))


def _best_f1(shares: Floats, right: Members) -> float:
    """The lowest threshold with the best F1 of a class, 0.5 if no text has it."""
    if not right.any():
        return 0.5
    order = np.argsort(shares, kind="stable")
    n_gold, n_refused = right.sum(), np.arange(len(right) + 1)
    n_right = n_gold - np.append(0, right[order].cumsum())  # (S + 1,)
    f1 = 2 * n_right / (len(right) - n_refused + n_gold)
    return best_threshold(shares[order], f1, 0.0, 1.0)


TASK = Multilabel()

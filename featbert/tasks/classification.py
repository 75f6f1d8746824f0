"""Classification of a text or a pair: one class for each.

Accuracy chooses the epoch unless another measure is named: "classification:matthews",
"classification:f1" (two classes), "classification:macro_f1".
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from featbert.data.corpus import Split
from featbert.tasks.base import Facet, Predictions, Rows, Scores
from featbert.tasks.examples import FACETS, ExampleTask, single
from featbert.tasks.measures import OF_CLASSES, scores_by_class
from featbert.text import natural


class Classification(ExampleTask):
    """The task of classification."""

    name = "classification"
    title = "classification of texts"
    targets = "classes"
    answer = "class"
    kinds = "classes"
    output = "softmax"
    frozen_body = "logistic"
    floor = "majority class"
    measures = OF_CLASSES
    facets: Mapping[str, Facet] = {"class": Facet("class"), **FACETS}

    def score(self, gold: Rows, predicted: Rows, classes: Sequence[str] = ()) -> Scores:
        by_class = scores_by_class(single(gold), single(predicted))
        majority = [list(row) for row, _ in Counter(map(tuple, gold)).most_common(1)] * len(gold)
        counts = self.counts(gold, majority, classes)
        floor = float(self.measure.of(counts.sum(axis=0))) if gold else None
        return Scores(self.dev_values(gold, predicted, classes), by_class, len(gold), 0, floor)

    def classes(self, train: Split, scheme: str) -> tuple[str, ...]:
        """Classes of a training text, numbers by size."""
        return tuple(sorted(self.classes_in(self.gold(train)), key=natural))

    def _buckets(self, facet: str, found: Predictions) -> tuple[list[str], list[str]]:
        if facet != "class":
            return super()._buckets(facet, found)
        names = single(found.gold)
        return names, sorted({*names}, key=natural)


TASK = Classification()

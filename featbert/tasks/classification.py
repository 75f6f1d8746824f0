"""Classification of a text or a pair: one class for each.

Accuracy chooses the epoch unless another measure is named: "classification:matthews",
"classification:f1" (two classes), "classification:macro_f1".
"""

from collections import Counter
from collections.abc import Mapping

from featbert.data.corpus import Split
from featbert.tasks.base import Facet, Rows
from featbert.tasks.examples import FACETS, ExampleTask
from featbert.tasks.measures import OF_CLASSES
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

    def __init__(self, key: str | None = None) -> None:
        super().__init__(key)
        if self.measure.key == "f1":
            self.floor = "positive class"

    def _constants(self, gold: Rows) -> Rows:
        """The most frequent class, and the second one, as the positive of two may be the rarer."""
        return [row for row, _ in Counter(map(tuple, gold)).most_common(2)]

    def classes(self, train: Split, scheme: str) -> tuple[str, ...]:
        """Classes of a training text, numbers by size."""
        return tuple(sorted(self.classes_in(self.gold(train)), key=natural))


TASK = Classification()

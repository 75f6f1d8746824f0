"""Classification of a text or a pair: one class for each.

Accuracy chooses the epoch unless another measure is named: "classification:matthews",
"classification:f1" (two classes), "classification:macro_f1".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from featbert.tasks.base import Facet, Predictions, Rows, Scores
from featbert.tasks.examples import ExampleTask
from featbert.tasks.measures import OF_CLASSES, ExampleMeasure
from featbert.text import natural

if TYPE_CHECKING:
    from featbert.data.corpus import Split


class Classification(ExampleTask):
    """The task of classification; see `Task` for what its methods return."""

    name = "classification"
    title = "classification of texts"
    targets = "classes"
    output: ClassVar[str] = "softmax"
    measures: ClassVar[Mapping[str, ExampleMeasure]] = OF_CLASSES
    facets: Mapping[str, Facet] = {
        "class": Facet("class"),
        "length": Facet("words"),
        "overlap": Facet("share of words that both texts have"),
    }

    def _applies(self, key: str, classes: Sequence[str]) -> bool:
        return key != "f1" or len(classes) <= 2

    def score(self, gold: Rows, predicted: Rows) -> Scores:
        """Every measure, and precision, recall and F1 by class."""
        pairs = Counter((g, p) for (g,), (p,) in zip(gold, predicted, strict=True))
        by_class = {}
        for name in self.classes_in([*gold, *predicted]):
            right = pairs[name, name]
            found = sum(n for (_, p), n in pairs.items() if p == name)
            wanted = sum(n for (g, _), n in pairs.items() if g == name)
            by_class[name] = {
                "f1": 2 * right / (found + wanted),
                "precision": right / found if found else 0.0,
                "recall": right / wanted if wanted else 0.0,
                "correct": right,
                "predicted": found,
                "gold": wanted,
            }
        return Scores(self._values(gold, predicted), by_class, len(gold), 0)

    def classes(self, train: Split, scheme: str) -> tuple[str, ...]:
        """Classes of a training text, numbers by size."""
        return tuple(sorted(self.classes_in(self.gold(train)), key=natural))

    def encode(self, split: Split, classes: tuple[str, ...], scheme: str) -> Any:
        """(S,) number of each example's class."""
        number = {name: i for i, name in enumerate(classes)}
        return np.array([number[name] for (name,) in self.gold(split)], dtype=np.int64)

    def answers(self, numbers: Any, classes: tuple[str, ...], offsets: Any, scheme: str) -> Rows:
        """The class of each example."""
        return [[classes[number]] for number in numbers]

    def taught(self, classes: Sequence[str]) -> tuple[str, ...]:
        """The classes, sorted."""
        return tuple(sorted(classes))

    def rename(self, tags: Sequence[str], mapping: Mapping[str, str]) -> list[str]:
        """The class under its new name."""
        return [mapping.get(tag, tag) for tag in tags]

    def _buckets(self, facet: str, found: Predictions) -> tuple[list[str], list[str]]:
        if facet != "class":
            return super()._buckets(facet, found)
        names = [row[0] for row in found.gold]
        return names, sorted({*names}, key=natural)


TASK = Classification()

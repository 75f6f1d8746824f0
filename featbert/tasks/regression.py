"""Regression: one score for a text or a pair, such as how similar two sentences are.

The mean of Pearson and Spearman correlation chooses the epoch, as GLUE reports STS-B, unless
another measure is named: "regression:pearson", "regression:spearman".
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from featbert.data.corpus import Split
from featbert.tasks.base import Facet, Predictions, Rows, TargetSummary, Threshold
from featbert.tasks.examples import FACETS, ExampleTask, single
from featbert.tasks.measures import OF_SCORES


class Regression(ExampleTask):
    """The task of regression."""

    name = "regression"
    title = "scores of texts"
    targets = "scores"
    answer = "score"
    has_classes = False
    probability_columns: Mapping[str, str] = {}
    output = "score"
    frozen_body = "ridge"
    measures = OF_SCORES
    facets: Mapping[str, Facet] = {"score": Facet("gold score"), **FACETS}

    def kept_scores(self, gold: Rows, predicted: Rows) -> tuple[list[float], list[float]]:
        return [float(s) for (s,) in gold], [float(s) for (s,) in predicted]

    def doubts(self, gold: Rows, predicted: Rows) -> list[str]:
        return [
            f"all {name} scores are {rows[0][0]}: correlations are undefined, here 0"
            for name, rows in (("gold", gold), ("predicted", predicted))
            if len({tuple(row) for row in rows}) == 1 < len(rows)
        ]

    def summary(self, train: Split, scheme: str) -> TargetSummary:
        scores = [float(row[0]) for row in self.gold(train) if row]
        return TargetSummary((), (), len(scores), min(scores), max(scores))

    def model_config(self, classes: Sequence[str]) -> dict[str, Any]:
        return {"num_labels": 1, "problem_type": "regression"}

    def encode(self, split: Split, classes: tuple[str, ...], scheme: str) -> Any:
        return np.array([float(score) for (score,) in self.gold(split)], dtype=np.float32)

    def named(self, numbers: Any, classes: tuple[str, ...], threshold: Threshold = None) -> Any:
        """Scores with all digits of float32."""
        return np.array([f"{number:.9g}" for number in numbers.tolist()], dtype=object)

    def _encoded(self, rows: Rows, classes: Sequence[str]) -> Any:
        return single(rows)

    def _marked(self, answer: Sequence[str]) -> list[str]:
        return [f"{float(score):.1f}" for score in answer]

    def _buckets(self, facet: str, found: Predictions) -> tuple[list[str], list[str]]:
        if facet != "score":
            return super()._buckets(facet, found)
        scores = np.array([float(row[0]) for row in found.gold])
        edges = np.unique(np.quantile(scores, np.linspace(0, 1, 5)))
        bounds = [*pairwise(edges)] or [(edges[0], edges[0])]
        places = np.searchsorted(edges, scores, side="right").clip(1, len(bounds)) - 1
        order = [f"{low:g} to {high:g}" for low, high in bounds]
        return [order[place] for place in places], order


TASK = Regression()

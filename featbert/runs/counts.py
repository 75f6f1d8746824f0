"""Additive counts of a run on one split: all that tests, intervals and breakdowns need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pydantic.dataclasses

from featbert.errors import MissingError
from featbert.schema import STRICT, Index, Number
from featbert.tasks.base import Bucket
from featbert.tasks.measures import Counts

ENDING = ".counts.json"


@dataclass(frozen=True)
class SplitCounts:
    """Counts of a split's S examples by the task's measure, which add up to its score.

    Attributes:
        examples: (S, K) counts of each example (`Task.counts`).
        documents: (S,) number of each example's document from 1, or 0 without documents.
        facets: counts by bucket of facets.
        scores: gold and predicted ones, if the answers are scores.
    """

    examples: Counts
    documents: Sequence[int]
    facets: Mapping[str, Mapping[str, Bucket]]
    scores: tuple[list[float], list[float]] | None = None

    @property
    def units(self) -> Counts:
        """(U, K) counts of each document, or of each example if there are not several documents."""
        documents, places = np.unique(self.documents, return_inverse=True)
        if len(documents) < 2:
            return self.examples
        summed = np.zeros((len(documents), self.examples.shape[1]), self.examples.dtype)
        np.add.at(summed, places, self.examples)
        return summed


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class KeptCounts:
    """`SplitCounts` as a results file has them.

    Attributes:
        classes: of a measure with counts by class, in the order of its columns.
        rows: (R, K) the different counts of examples.
        examples: (S,) the row of each example, from 0. Empty if there are scores.
        documents: (S,) number of each example's document from 1, or 0 without documents.
        facets: by facet and bucket, the counts (K,) and the number of gold items.
        scores: gold and predicted scores, twice (S,), from which the measure's counts follow.
    """

    classes: list[str]
    rows: list[list[int | Number]]
    examples: list[Index]
    documents: list[Index]
    facets: dict[str, dict[str, Bucket]]
    scores: tuple[list[Number], list[Number]] | None = None

    def restored(
        self, path: Path, classes: Sequence[str], facets: Sequence[str], measure: Any
    ) -> SplitCounts:
        """The counts with these facets. MissingError if the file `path` lacks a class or facet."""
        lacking = sorted({*classes} - {*self.classes}) or sorted({*facets} - {*self.facets})
        if lacking:
            raise MissingError(f"{path} has no counts by {', '.join(lacking)}")
        buckets = {name: self.facets[name] for name in facets}
        if self.scores is not None:
            examples = measure.count(*self.scores, self.classes)
        else:
            examples = np.array(self.rows)[self.examples]
        return SplitCounts(examples, self.documents, buckets, self.scores)

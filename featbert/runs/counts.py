"""Additive counts of a run on one split: all that tests, intervals and breakdowns need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pydantic.dataclasses

from featbert.errors import MissingError
from featbert.schema import STRICT, Count, Number
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
    """

    examples: Counts
    documents: Sequence[int]
    facets: Mapping[str, Mapping[str, Bucket]]

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
        rows: (R, K) the different counts of examples, or (R, F) factors of them.
        examples: (S,) the row of each example, from 0.
        documents: (S,) number of each example's document from 1, or 0 without documents.
        facets: by facet and bucket, the counts (K,) and the number of gold items.
        factors: for each of the K columns, the columns of `rows` that are multiplied to give it.
            Empty if `rows` has the K columns.
    """

    classes: list[str]
    rows: list[list[int | Number]]
    examples: list[Count]
    documents: list[Count]
    facets: dict[str, dict[str, Bucket]]
    factors: list[list[Count]] = field(default_factory=list)

    def restored(self, path: Path, classes: Sequence[str], facets: Sequence[str]) -> SplitCounts:
        """The counts with these facets. MissingError if the file `path` lacks a class or facet."""
        lacking = sorted({*classes} - {*self.classes}) or sorted({*facets} - {*self.facets})
        if lacking:
            raise MissingError(f"{path} has no counts by {', '.join(lacking)}")
        buckets = {name: self.facets[name] for name in facets}
        rows = np.array(self.rows)
        if self.factors:
            rows = np.stack([rows[:, places].prod(axis=1) for places in self.factors], axis=1)
        return SplitCounts(rows[self.examples], self.documents, buckets)


def factored(columns: Counts) -> tuple[Counts, list[list[int]]]:
    """(R, K) counts as (R, F) factors, and the factors of each of the K columns.

    A column is no factor if it equals an earlier one, or the product of two, to the last bit.
    Correlations sum x, y, x^2, y^2 and xy, of which two are factors.
    """
    factor_columns: list[Counts] = []
    factors: list[list[int]] = []
    for column in columns.T:
        places = range(len(factor_columns))
        candidates = [[i] for i in places] + [[i, j] for i in places for j in places if i <= j]
        products = (np.stack([factor_columns[k] for k in c]).prod(axis=0) for c in candidates)
        equal = (np.array_equal(product, column) for product in products)
        product_places = next((c for c, same in zip(candidates, equal, strict=True) if same), None)
        if product_places is None:
            product_places = [len(factor_columns)]
            factor_columns.append(column)
        factors.append(product_places)
    return np.stack(factor_columns, axis=1), factors

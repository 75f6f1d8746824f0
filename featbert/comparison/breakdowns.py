"""Where does each approach win: scores of rows by what an entity or its sentence is like.

Read from the runs' predictions. Whether an entity was seen in training is known only where the
training text can be read again; it is compared with the fingerprint that the run's record has.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from featbert.comparison.rows import Row, Statistic
from featbert.comparison.runs import Run
from featbert.errors import FeatbertError, InputError, MissingError, nearest
from featbert.evaluation.scores import PRF

if TYPE_CHECKING:
    from featbert.comparison.compare import Comparison
    from featbert.evaluation.breakdown import Facet, Surface


@dataclass(frozen=True)
class Breakdown:
    """Micro entity F1 of rows by bucket, on one split.

    Attributes:
        facet: what the buckets are of, a key of `featbert.evaluation.breakdown.FACETS`.
        meaning: the same in words.
        gold: gold entities by bucket, in the order of buckets.
        rows: by name: F1 over seeds by bucket.
    """

    facet: str
    meaning: str
    split: str
    gold: Mapping[str, int]
    rows: Mapping[str, Mapping[str, Statistic]]


def with_breakdowns(comparison: Comparison, facets: Sequence[str]) -> Comparison:
    """The comparison with a breakdown by each facet on each split.

    Rows that are not of the same text as the first, and what cannot be read, are told in its notes.

    Raises:
        InputError: a facet that nobody knows.
    """
    check_facets(facets)
    reader = _Reader()
    found: list[Breakdown] = []
    notes: list[str] = []
    for facet in dict.fromkeys(facets):
        for split in comparison.splits:
            rows = [row for row in comparison.rows if split in row.splits]
            for text in dict.fromkeys(row.cell.get(f"{split}.text") for row in rows):
                alike = [row for row in rows if row.cell.get(f"{split}.text") == text]
                try:
                    found.append(_breakdown(facet, split, alike, reader))  # type: ignore[arg-type]
                except FeatbertError as error:
                    notes.append(f"no scores by {facet} on {split}: {error}")
    return dataclasses.replace(
        comparison, breakdowns=tuple(found), notes=(*comparison.notes, *notes)
    )


def check_facets(facets: Sequence[str]) -> None:
    """Raises InputError for names that are no facets."""
    from featbert.evaluation.breakdown import FACETS

    for facet in facets:
        if facet not in FACETS:
            raise InputError(
                f"{', '.join(FACETS)} expected to part scores by, found {facet!r}"
                f"{nearest(facet, list(FACETS))}"
            )


def _breakdown(facet: Facet, split: str, rows: Sequence[Row], reader: _Reader) -> Breakdown:
    from featbert.evaluation.breakdown import FACETS

    by_row = {row.name: [reader.scores(facet, split, run) for run in row.runs] for row in rows}
    first = next(iter(by_row.values()))[0]
    # What is only predicted by some, such as a length that gold has not, has no gold and no column.
    gold = {name: prf.gold for name, prf in first.items() if prf.gold}
    return Breakdown(
        facet,
        FACETS[facet],
        split,
        gold,
        {
            label: {name: Statistic.of([run[name].f1 for run in runs]) for name in gold}
            for label, runs in by_row.items()
        },
    )


class _Reader:
    """Scores of runs by bucket; a training text is read once."""

    def __init__(self) -> None:
        self._trained: dict[str, set[Surface]] = {}

    def scores(self, facet: Facet, split: str, run: Run) -> dict[str, PRF]:
        """By bucket."""
        from featbert.evaluation.breakdown import breakdown

        found = run.predictions(split)
        train = self._surfaces(run) if facet == "seen" else ()
        return breakdown(facet, found.words, found.gold, found.predicted, train=train)

    def _surfaces(self, run: Run) -> set[Surface]:
        from featbert.data.folder import load_corpus
        from featbert.evaluation.breakdown import surfaces

        signature = run.record.signature
        train = signature.splits.get("train")
        if train is None or not signature.source:
            raise MissingError(f"a training text expected, {run.name} was not trained on files")
        if train.tags not in self._trained:
            told = f"the training text of {run.name} expected in {signature.source}"
            try:
                corpus = load_corpus(signature.source, **run.record.reading)
            except FeatbertError as error:
                raise MissingError(f"{told}: {error}") from None
            split = corpus.splits.get("train")
            if split is None or split.text_fingerprint != train.text:
                raise MissingError(f"{told}, which holds other words now")
            self._trained[train.tags] = surfaces([s.words for s in split], split.tags)
        return self._trained[train.tags]

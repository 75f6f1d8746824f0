"""Where does each approach win: scores of rows by what an entity or its sentence is like.

Read from the runs' predictions. Whether an entity was seen in training is known only where the
training text can be read again; it is compared with the fingerprint that the run's record has.
Where a run learned from a part of it, that part is drawn again.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from featbert.analysis.rows import Row, Statistic
from featbert.errors import FeatbertError, InputError, MissingError, nearest
from featbert.progress import track
from featbert.runs.run import Run
from featbert.tasks.base import Bucket
from featbert.tasks.entities import TASK
from featbert.text import in_percent

if TYPE_CHECKING:
    from featbert.analysis.compare import Comparison
    from featbert.data.corpus import Corpus, Split


@dataclass(frozen=True)
class Breakdown:
    """Micro entity F1 of rows by bucket, on one split.

    Attributes:
        facet: what the buckets are of, a key of `Task.facets`.
        meaning: the same in words.
        gold: gold entities by bucket, in the order of buckets; where each seed learned from a part
            of its own, the mean over the first row's seeds, rounded. A bucket in which some run
            has none is left out.
        rows: by name: F1 over seeds by bucket.
    """

    facet: str
    meaning: str
    split: str
    gold: Mapping[str, int]
    rows: Mapping[str, Mapping[str, Statistic]]


def with_breakdowns(comparison: Comparison, facets: Sequence[str]) -> Comparison:
    """The comparison with a breakdown by each facet on each split.

    Rows of each text stand apart, and by `seen` those that learned from as much of it. What cannot
    be read is told in its notes.

    Raises:
        InputError: a facet that nobody knows.
    """
    check_facets(facets)
    reader = _Reader([*dict.fromkeys(facets)])
    found: list[Breakdown] = []
    notes: list[str] = []
    for facet in dict.fromkeys(facets):
        for split in comparison.splits:
            rows = [row for row in comparison.rows if split in row.splits]
            for alike in _alike(rows, facet, split):
                try:
                    found.append(_breakdown(facet, split, alike, reader))
                except FeatbertError as error:
                    notes.append(f"no scores by {facet} on {split}: {error}")
    return dataclasses.replace(
        comparison, breakdowns=tuple(found), notes=(*comparison.notes, *notes)
    )


def check_facets(facets: Sequence[str]) -> None:
    """Raises InputError for names that are no facets."""
    for facet in facets:
        if facet not in TASK.facets:
            raise InputError(
                f"{', '.join(TASK.facets)} expected to part scores by, found {facet!r}"
                f"{nearest(facet, list(TASK.facets))}"
            )


def _alike(rows: Sequence[Row], facet: str, split: str) -> Iterable[list[Row]]:
    """Rows whose buckets hold the same entities."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        learned = (row.trained_on, row.train_share) if facet == "seen" else ()
        groups.setdefault((row.cell.get(f"{split}.text"), *learned), []).append(row)
    return groups.values()


def _breakdown(facet: str, split: str, rows: Sequence[Row], reader: _Reader) -> Breakdown:
    by_row = {
        row.name: [reader.scores(facet, split, run) for run in row.runs]
        for row in track(rows, f"scoring by {facet} on {split}", "rows")
    }
    first = next(iter(by_row.values()))
    scored = [run for runs in by_row.values() for run in runs]
    # What is only predicted by some, such as a length that gold has not, has no gold and no column.
    gold = {
        name: round(statistics.fmean(run[name].size for run in first))
        for name in first[0]
        if all(name in run and run[name].size for run in scored)
    }
    return Breakdown(
        facet,
        TASK.facets[facet].title + (_learned(rows[0]) if facet == "seen" else ""),
        split,
        gold,
        {
            label: {
                name: Statistic.of(
                    [float(TASK.measure.of(np.array(run[name].counts))) for run in runs]
                )
                for name in gold
            }
            for label, runs in by_row.items()
        },
    )


def _learned(row: Row) -> str:
    """What a row learned from, where that is not all of train."""
    if row.train_share != 1:
        return f" (trained on {in_percent(row.train_share)} of it)"
    return "" if row.trained_on == ("train",) else f" (trained on {' and '.join(row.trained_on)})"


class _Reader:
    """Scores of runs by bucket; a training text is read once, and a run's predictions are."""

    def __init__(self, facets: Sequence[str]) -> None:
        self._facets = facets
        self._scores: dict[tuple[Path, str], dict[str, dict[str, Bucket] | str]] = {}
        self._corpora: dict[str, Corpus | str] = {}
        self._trained: dict[tuple[object, ...], set[Any]] = {}

    def scores(self, facet: str, split: str, run: Run) -> dict[str, Bucket]:
        """By bucket."""
        key = (run.folder, split)
        if key not in self._scores:
            self._scores[key] = self._read_scores(split, run)
        found = self._scores[key][facet]
        if isinstance(found, str):
            raise MissingError(found)
        return found

    def _read_scores(self, split: str, run: Run) -> dict[str, dict[str, Bucket] | str]:
        """By facet and bucket, or why there are none of the facet."""
        kept = run.predictions(split)
        lacking: dict[str, str] = {}
        train: set[Any] = set()
        if "seen" in self._facets:
            try:
                train = self._surfaces(run)
            except FeatbertError as error:
                lacking["seen"] = str(error)
        facets = [facet for facet in self._facets if facet not in lacking]
        return {
            **TASK.break_down(facets, kept.words, kept.gold, kept.predicted, known=train),
            **lacking,
        }

    def _surfaces(self, run: Run) -> set[Any]:
        """Entities that the run learned from."""
        from featbert.data.corpus import joined
        from featbert.data.share import drawn_part

        record = run.record
        known = [record.signature.splits.get(name) for name in record.trained_on]
        identities = [one for one in known if one is not None]
        if len(identities) < len(known) or not record.signature.source:
            raise MissingError(f"a training text expected, {run.name} was not trained on files")
        share = float(record.settings.get("train_share", 1.0))
        drawn = (share, record.seed) if share < 1 else ()
        key = (*((one.text, one.tags) for one in identities), *drawn)
        if key not in self._trained:
            whole = joined([self._read(run, name) for name in record.trained_on])
            part = drawn_part(whole, share, seed=record.seed)
            self._trained[key] = TASK.known([s.words for s in part], part.tags)
        return self._trained[key]

    def _read(self, run: Run, name: str) -> Split:
        """A split that the run learned from, as it was then."""
        from featbert.data.load import load_corpus

        signature, reading = run.record.signature, run.record.reading
        told = f"the training text of {run.name} expected in {signature.source}"
        key = json.dumps([signature.source, reading], sort_keys=True)
        if key not in self._corpora:
            try:
                self._corpora[key] = load_corpus(signature.source, **reading)
            except FeatbertError as error:
                self._corpora[key] = str(error)
        corpus = self._corpora[key]
        if isinstance(corpus, str):
            raise MissingError(f"{told}: {corpus}")
        split = corpus.splits.get(name)
        if split is None or split.text_fingerprint != signature.splits[name].text:
            raise MissingError(f"{told}, which holds other words now")
        return split

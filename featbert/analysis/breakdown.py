"""Where rows win: scores by what an example is like, by several scorers, and example by example.

Whether something was seen in training is known only where the training text, with the fingerprint
in the run's record, can be read again. Where a run learned from a part of it, that is drawn again.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from featbert.analysis.compare import Comparison
from featbert.analysis.results import Breakdown, ScorerFigure, ScorerRow
from featbert.analysis.rows import Row, Statistic, baseline_of, best_of, grouped
from featbert.errors import FeatbertError, MissingError, check_known
from featbert.progress import track
from featbert.runs.run import Run
from featbert.tasks.base import Bucket, Predictions, Task
from featbert.text import in_percent

if TYPE_CHECKING:
    from featbert.data.corpus import Corpus, Split


def with_breakdowns(comparison: Comparison, facets: Sequence[str]) -> Comparison:
    """The comparison with a breakdown by each facet on each split; InputError for an unknown facet.

    Rows of each text are apart, and by a facet that depends on the training text those that
    learned from as much of it. What cannot be read is in its notes.
    """
    task = comparison.task
    check_known("facet", facets, task.facets)
    reader = _Reader(task, facets)
    found: list[Breakdown] = []
    notes: list[str] = []
    for facet in dict.fromkeys(facets):
        for split in comparison.splits:
            trained = task.facets[facet].needs_train
            groups = grouped(
                ((row.data(split)[0], trained and (row.trained_on, row.train_share)), row)
                for row in comparison.rows
                if split in row.splits
            )
            for alike in groups.values():
                try:
                    found.append(_breakdown(facet, split, alike, reader))
                except FeatbertError as error:
                    notes.append(f"no scores by {facet} on {split}: {error}")
    return dataclasses.replace(
        comparison, breakdowns=tuple(found), notes=(*comparison.notes, *notes)
    )


def _breakdown(facet: str, split: str, rows: Sequence[Row], reader: _Reader) -> Breakdown:
    by_row = {
        row.name: [reader.buckets(facet, split, run) for run in row.runs]
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
    of, about = rows[0].task.measure.of, rows[0].task.facets[facet]
    return Breakdown(
        facet,
        about.title + (_learned(rows[0]) if about.needs_train else ""),
        split,
        gold,
        {
            label: {
                name: Statistic.of([float(of(np.array(run[name].counts))) for run in runs])
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
    """Predictions and training texts are read once."""

    def __init__(self, task: Task, facets: Sequence[str]) -> None:
        self._task, self._facets = task, dict.fromkeys(facets)
        self._buckets: dict[tuple[Path, str, bool], dict[str, dict[str, Bucket]]] = {}
        self._corpora: dict[str, Corpus] = {}
        self._known: dict[tuple[object, ...], set[Any]] = {}

    def buckets(self, facet: str, split: str, run: Run) -> dict[str, Bucket]:
        trained = self._task.facets[facet].needs_train
        key = (run.folder, split, trained)
        if key not in self._buckets:
            self._buckets[key] = self._read(split, run, trained)
        return self._buckets[key][facet]

    def _read(self, split: str, run: Run, trained: bool) -> dict[str, dict[str, Bucket]]:
        kept = run.predictions(split)
        known = self._learned(run) if trained else set()
        facets = [f for f in self._facets if self._task.facets[f].needs_train == trained]
        return self._task.break_down(facets, kept, known=known)

    def _learned(self, run: Run) -> set[Any]:
        from featbert.data.corpus import joined
        from featbert.data.share import drawn_part

        record = run.record
        identities = [record.signature.splits.get(name) for name in record.trained_on]
        if None in identities or not record.signature.source:
            raise MissingError(f"{run.name} was not trained on files")
        share = float(record.settings.get("train_share", 1.0))
        texts = [(one.text, one.tags) for one in identities if one is not None]
        key = (*texts, share, record.seed if share < 1 else None)
        if key not in self._known:
            whole = joined([self._split(run, name) for name in record.trained_on])
            part = drawn_part(whole, share, seed=record.seed)
            self._known[key] = self._task.known([s.words for s in part], part.tags)
        return self._known[key]

    def _split(self, run: Run, name: str) -> Split:
        """A split that the run learned from, as it was then."""
        from featbert.data.load import load_corpus

        signature, reading = run.record.signature, run.record.reading
        key = json.dumps([signature.source, reading], sort_keys=True)
        try:
            if key not in self._corpora:
                targets = self._task.targets
                self._corpora[key] = load_corpus(signature.source, targets=targets, **reading)
        except FeatbertError as error:
            raise MissingError(
                f"the training text of {run.name} cannot be read: {error}"
            ) from error
        split = self._corpora[key].splits.get(name)
        if split is None or split.text_fingerprint != signature.splits[name].text:
            raise MissingError(f"{signature.source} has other words than {run.name} learned from")
        return split


# Several scorers ----------------------------------------------------------------------------------


def with_scorers(comparison: Comparison) -> Comparison:
    """The comparison with every row's scores by every scorer of its task, if it has several."""
    if not comparison.task.scorers:
        return comparison
    found = [
        _scorer_row(place, comparison.rows, split)
        for split in comparison.splits
        for place, row in enumerate(comparison.rows)
        if split in row.splits
    ]
    return dataclasses.replace(comparison, scorers=tuple(found))


def _scorer_row(place: int, rows: Sequence[Row], split: str) -> ScorerRow:
    row = rows[place]
    base = baseline_of(row, rows, split)
    figures = {}
    for key in row.task.scorers:
        score = row.score(split, key)
        assert score is not None
        difference = None if base is None else score.mean - base.mean(split, key)
        figures[key] = ScorerFigure(score, difference, place in best_of(rows, split, key))
    agree, against = len({f.sign for f in figures.values()}) == 1, base.name if base else None
    return ScorerRow(row.name, split, against, figures, agree if base else None)


def scorer_notes(comparison: Comparison) -> list[str]:
    """Where scorers disagree in who is ahead of the baseline or best, or that they agree."""
    names = comparison.task.scorers
    words = {1: "ahead of", 0: "even with", -1: "behind"}
    notes = [
        f"{one.split}: the scorers disagree: {one.row} is "
        + ", ".join(
            f"{words[figure.sign]} {one.against} by {names[key]}"
            for key, figure in one.figures.items()
            if figure.sign is not None
        )
        for one in comparison.scorers
        if one.agree is False
    ]
    for split in comparison.splits:
        on = {row.name: row.data(split) for row in comparison.rows}
        scored = [s for s in comparison.scorers if s.split == split]
        for rivals in grouped((on[s.row], s) for s in scored).values():
            best = {key: {s.row for s in rivals if s.figures[key].best} for key in names}
            best = {key: rows for key, rows in best.items() if rows}
            if best and not set.intersection(*best.values()):
                named = [f"{' and '.join(sorted(rows))} by {names[k]}" for k, rows in best.items()]
                notes.append(f"{split}: the scorers disagree in the best row: {', '.join(named)}")
    if not notes and any(s.agree is not None for s in comparison.scorers):
        notes = ["the scorers agree in the sign of every difference to the baseline"]
    return notes


# Example by example -------------------------------------------------------------------------------

# (first word, word after the last one, class)
Span = tuple[int, int, str]
# Sentences of one text that are kept; a page with more of them would be slow to open.
MOST = 2000


@dataclass(frozen=True)
class Answer:
    """A row that is compared, and the run that represents it."""

    row: str
    seed: int
    run: str


@dataclass(frozen=True)
class JudgedSentence:
    """A sentence in which at least one row is wrong; numbered in its split, from 1.

    `gold` are its spans in order; `found` each row's spans, None where they are the gold ones.
    """

    number: int
    words: tuple[str, ...]
    gold: tuple[Span, ...]
    found: tuple[tuple[Span, ...] | None, ...]


@dataclass(frozen=True)
class JudgedText:
    """One evaluated split with all rows that were scored on it.

    `sentences` are the first `MOST` with a mistake; `with_mistakes` of the split's `size` have one.
    """

    corpus: str
    split: str
    answers: tuple[Answer, ...]
    sentences: tuple[JudgedSentence, ...]
    with_mistakes: int
    size: int


def judged_texts(comparison: Comparison, *, most: int = MOST) -> tuple[list[JudgedText], list[str]]:
    """Each evaluated text of a comparison, and a line for each whose predictions are missing.

    One run represents each row: that of the lowest seed which all rows of a text have, else of
    its own lowest.
    """
    found: list[JudgedText] = []
    notes: list[str] = []
    for split in comparison.splits:
        scored = [row for row in comparison.rows if split in row.splits]
        for rows in grouped((row.data(split)[:2], row) for row in scored).values():
            try:
                found.append(_judged(rows, split, most))
            except FeatbertError as error:
                notes.append(f"no sentences of {rows[0].corpus} {split}: {error}")
    return found, notes


def _judged(rows: Sequence[Row], split: str, most: int) -> JudgedText:
    seed = min(set.intersection(*(set(row.seeds) for row in rows)), default=None)
    runs = [next((r for r in row.runs if r.record.seed == seed), row.runs[0]) for row in rows]
    read = [run.predictions(split) for run in runs]
    marks = rows[0].task.marks
    gold = _spans(read[0], marks(read[0], read[0].gold))
    by_row = [_spans(found, marks(found, found.predicted)) for found in read]
    wrong = [i for i, right in enumerate(gold) if any(found[i] != right for found in by_row)]
    sentences = tuple(
        JudgedSentence(
            number=i + 1,
            words=_in_line(read[0], i),
            gold=gold[i],
            found=tuple(None if found[i] == gold[i] else found[i] for found in by_row),
        )
        for i in wrong[:most]
    )
    answers = tuple(
        Answer(row.name, run.record.seed, run.name) for row, run in zip(rows, runs, strict=True)
    )
    return JudgedText(rows[0].corpus, split, answers, sentences, len(wrong), len(gold))


def _in_line(found: Predictions, number: int) -> tuple[str, ...]:
    """The words of a sequence; a bar is between two of its texts."""
    words = [*found.words[number]]
    for bar, place in enumerate(_bars(found, number)):
        words.insert(place + bar, "‖")
    return tuple(words)


def _bars(found: Predictions, number: int) -> list[int]:
    """Words of a sequence before each bar."""
    return np.cumsum(found.texts[number][:-1]).tolist() if found.texts else []


def _spans(
    found: Predictions, marks: Sequence[set[tuple[str, int, int]]]
) -> list[tuple[Span, ...]]:
    """By sequence, in words and bars."""
    spans = []
    for number, marked in enumerate(marks):
        bars = _bars(found, number)
        shifted = ((bisect_right(bars, first), first, last, kind) for kind, first, last in marked)
        spans.append(tuple(sorted((n + i, n + j + 1, kind) for n, i, j, kind in shifted)))
    return spans

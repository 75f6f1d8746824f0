"""Where rows win: scores by what an example is like, by several scorers, and example by example.

Whether something was seen in training is known only where the training text, with the fingerprint
in the run's record, can be read again. Where a run learned from a part of it, that is drawn again.
"""

import dataclasses
import functools
import itertools
import statistics
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from featbert.analysis.compare import Breakdown, Comparison
from featbert.analysis.rows import Row, Statistic, baseline_of, grouped
from featbert.data.corpus import Split, joined
from featbert.data.share import drawn_part
from featbert.errors import FeatbertError, check_known
from featbert.progress import track
from featbert.runs.run import Run, learned_corpus
from featbert.tasks.base import Predictions
from featbert.text import in_percent


def with_breakdowns(comparison: Comparison, facets: Sequence[str]) -> Comparison:
    """The comparison with a breakdown by each facet on each split; InputError for an unknown facet.

    Rows of each text are apart, and by a facet that depends on the training text those that
    learned from as much of it. What cannot be read is in its notes.
    """
    task = comparison.task
    check_known("facet", facets, task.facets)
    facets = [*dict.fromkeys(facets)]
    taught = functools.partial(_taught, texts={}, known={})
    found: list[Breakdown] = []
    notes: list[str] = []
    for split, trained in itertools.product(comparison.splits, (False, True)):
        asked = [name for name in facets if task.facets[name].needs_train == trained]
        scored = [row for row in comparison.rows if asked and split in row.splits]
        groups = grouped(
            ((row.data(split)[0], trained and (row.trained_on, row.train_share)), row)
            for row in scored
        )
        for alike in groups.values():
            try:
                found += _breakdowns(asked, split, alike, taught if trained else None)
            except FeatbertError as error:
                notes.append(f"no scores by {', '.join(asked)} on {split}: {error}")
    found.sort(key=lambda one: facets.index(one.facet))
    return dataclasses.replace(
        comparison, breakdowns=tuple(found), notes=(*comparison.notes, *notes)
    )


def _breakdowns(
    facets: Sequence[str], split: str, rows: Sequence[Row], known: Callable[[Run], set[Any]] | None
) -> Iterator[Breakdown]:
    """One by each facet; `known` is what a run's training text taught, where that matters."""
    task, of = rows[0].task, rows[0].task.measure.of
    by_row = {
        row.name: [
            task.break_down(facets, run.predictions(split), known=known(run) if known else ())
            for run in row.runs
        ]
        for row in track(rows, f"scoring by {', '.join(facets)} on {split}", "rows")
    }
    for facet in facets:
        parts = {name: [one[facet] for one in runs] for name, runs in by_row.items()}
        first, *_ = parts.values()
        # What is only predicted by some, such as a length that gold has not, has no gold and no
        # column.
        gold = {
            name: round(statistics.fmean(run[name].size for run in first))
            for name in first[0]
            if all(name in run and run[name].size for runs in parts.values() for run in runs)
        }
        scores = {
            label: {
                name: Statistic.of([float(of(np.array(run[name].counts))) for run in runs])
                for name in gold
            }
            for label, runs in parts.items()
        }
        title = task.facets[facet].title + (_learned(rows[0]) if known else "")
        yield Breakdown(facet, title, split, gold, scores)


def _learned(row: Row) -> str:
    """What a row learned from, where that is not all of train."""
    if row.train_share != 1:
        return f" (trained on {in_percent(row.train_share)} of it)"
    return "" if row.trained_on == ("train",) else f" (trained on {' and '.join(row.trained_on)})"


def _taught(run: Run, texts: dict[object, Split], known: dict[object, set[Any]]) -> set[Any]:
    """What the text, or the part of it, that a run learned from teaches (`Task.known`).

    `texts` and `known` keep what was read, so that each text is read once.
    """
    record, task = run.record, run.task
    share = float(record.settings.get("train_share", 1.0))
    text = tuple(map(record.signature.splits.get, record.trained_on))
    if text not in texts:
        reading = {"targets": task.targets, **record.reading}
        corpus = learned_corpus(record, record.trained_on, **reading)
        texts[text] = joined([corpus[name] for name in record.trained_on])
    key = (text, share, record.seed if share < 1 else None)
    if key not in known:
        part = drawn_part(texts[text], share, seed=record.seed)
        known[key] = task.known([s.words for s in part], part.tags)
    return known[key]


# Several scorers ----------------------------------------------------------------------------------

# Differences are shown in points with two digits; what those show as nothing is nothing.
_DIGITS = 4


def with_scorers(comparison: Comparison) -> Comparison:
    """The comparison with every row's difference by every scorer of its task, if it has several.

    The `winner` is the "same" where all differences have one sign, to a hundredth of a point.
    """
    scorers = comparison.task.scorers
    rows = comparison.rows if scorers else ()
    found: dict[str, dict[str, Any]] = {row.name: {} for row in rows}
    for row, split in itertools.product(rows, comparison.splits):
        base = baseline_of(row, rows, split)
        by = {k: row.mean(split, k) - base.mean(split, k) for k in scorers} if base else {}
        same = len({np.sign(round(apart, _DIGITS)) for apart in by.values()}) == 1
        found[row.name] |= {f"{split}_{key}_difference": by.get(key) for key in scorers}
        found[row.name][f"{split}_winner"] = ("same" if same else "differs") if by else None
    return dataclasses.replace(comparison, scorers=found)


# Example by example -------------------------------------------------------------------------------

# (first word, word after the last one, class)
Span = tuple[int, int, str]
# Sentences of one text that are kept; a page with more of them would be slow to open.
MOST = 2000


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

    `runs` are those that represent the rows, with the rows' names. `sentences` are the first `MOST`
    with a mistake; `with_mistakes` of the split's `size` have one.
    """

    corpus: str
    split: str
    runs: tuple[tuple[str, Run], ...]
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
    named = tuple((row.name, run) for row, run in zip(rows, runs, strict=True))
    return JudgedText(rows[0].corpus, split, named, sentences, len(wrong), len(gold))


def _in_line(found: Predictions, number: int) -> tuple[str, ...]:
    """The words of a sequence; a bar is between two of its texts."""
    words = np.array(found.words[number], dtype=object)
    return tuple(np.insert(words, _bars(found, number), "‖"))


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

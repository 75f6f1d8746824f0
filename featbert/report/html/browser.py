"""The data of the error browser: sentences with mistakes, as JSON that a page can hold.

    {"texts": [{"name", "about", "a", "b",
     "rows": [{"name", "run", "seed"}], "sentences": [[number, [word, ...], gold, [found, ...]]]}]}

A sentence is numbered in its split, from 1. An entity is [first word, word after the last one,
type]; `found` is null where a row has the gold entities, and its own entities where it does not.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np

from featbert.analysis.compare import Comparison
from featbert.analysis.overview import contests
from featbert.analysis.rows import Row, grouped
from featbert.errors import FeatbertError
from featbert.report.units import visible
from featbert.tasks.base import Predictions
from featbert.text import counted

# Sentences of one text that are kept; a page with more of them would be slow to open.
MOST = 2000
# Joiners belong to the spelling of some languages; other format characters could reorder a page.
_JOINERS = "\u200c\u200d"
# (first word, word after the last one, class)
Span = tuple[int, int, str]


def judged_texts(
    comparison: Comparison, *, most: int = MOST
) -> tuple[list[dict[str, Any]], list[str]]:
    """Each evaluated text of a comparison, and a line for each whose predictions are missing.

    Sentences in which a row is wrong are kept, the first `most`. One run represents each row: that
    of the lowest seed which all rows of a text have, else of its own lowest. At first the page
    compares the best row on features with its baseline, where a text has them.
    """
    found: list[dict[str, Any]] = []
    notes: list[str] = []
    best = [one.features for one in contests(comparison) if one.features is not None]
    bases = [base for row in best if (base := row.rival("dev")) is not None]
    groups = [
        (split, rows)
        for split in comparison.splits
        for rows in grouped(
            (row.data(split)[:2], row) for row in comparison.rows if split in row.splits
        ).values()
    ]
    for split, rows in groups:
        name = f"{visible(rows[0].corpus)} {split}" if "corpus" in comparison.varied else split
        try:
            found.append({"name": name, **_sides(rows, best, bases), **_judged(rows, split, most)})
        except FeatbertError as error:
            notes.append(f"no sentences of {rows[0].corpus} {split}: {error}")
    return found, notes


def _sides(rows: Sequence[Row], best: Sequence[Row], bases: Sequence[Row]) -> dict[str, int]:
    names = [row.name for row in rows]
    a = next((names.index(row.name) for row in best if row.name in names), 0)
    others = [*(row.name for row in bases), *reversed(names)]
    b = next((names.index(n) for n in others if n in names and n != names[a]), a)
    return {"a": a, "b": b}


def _judged(rows: Sequence[Row], split: str, most: int) -> dict[str, Any]:
    seed = min(set.intersection(*(set(row.seeds) for row in rows)), default=None)
    runs = [next((r for r in row.runs if r.record.seed == seed), row.runs[0]) for row in rows]
    read = [run.predictions(split) for run in runs]
    marks = rows[0].task.marks
    gold = _spans(read[0], marks(read[0], read[0].gold))
    by_row = [_spans(found, marks(found, found.predicted)) for found in read]
    wrong = [i for i, right in enumerate(gold) if any(found[i] != right for found in by_row)]
    seeds = sorted({run.record.seed for run in runs})
    about = (
        f"some row is wrong in {len(wrong):,} of {counted(len(gold), rows[0].task.unit)}; "
        f"runs of seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
    )
    if most < len(wrong):
        about += f"; the first {most:,} of them are listed"
    return {
        "rows": [
            {"name": visible(row.name), "run": visible(run.name), "seed": run.record.seed}
            for row, run in zip(rows, runs, strict=True)
        ],
        "sentences": [
            (
                read[0].numbers[i] if read[0].numbers else i + 1,
                _in_line(read[0], i),
                gold[i],
                [None if found[i] == gold[i] else found[i] for found in by_row],
            )
            for i in wrong[:most]
        ],
        "about": about,
    }


def _in_line(found: Predictions, number: int) -> list[str]:
    """The words of a sequence; a bar is between two of its texts."""
    words = np.array([visible(word, _JOINERS) for word in found.words[number]], dtype=object)
    return np.insert(words, _bars(found, number), "‖").tolist()


def _bars(found: Predictions, number: int) -> list[int]:
    """Words of a sequence before each bar."""
    return np.cumsum(found.texts[number][:-1]).tolist() if found.texts else []


def _spans(found: Predictions, marks: Sequence[set[tuple[str, int, int]]]) -> list[list[Span]]:
    """By sequence, in words and bars."""
    spans = []
    for number, marked in enumerate(marks):
        bars = _bars(found, number)
        shifted = [(bisect_right(bars, i), i, j, visible(kind)) for kind, i, j in marked]
        spans.append(sorted((n + i, n + j + 1, kind) for n, i, j, kind in shifted))
    return spans

"""What a comparison looks like as a table: columns, cells, title and notes, for every format.

Text, Markdown, LaTeX and CSV are drawn from this description alone, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from featbert.analysis.compare import Comparison
from featbert.analysis.rows import Row, SplitSummary, Statistic
from featbert.errors import InputError, nearest
from featbert.report import units
from featbert.report.breakdown_table import breakdown_table
from featbert.report.cells import (
    TRAINED_ON,
    Block,
    Cell,
    Column,
    Table,
    no_share_cell,
    plain_cell,
    share_cell,
    text_cell,
)
from featbert.report.cost_table import cost_table
from featbert.report.published_table import published_table
from featbert.report.scorers_table import scorers_table
from featbert.report.significance_table import significance_table

__all__ = [
    "SHOWABLE",
    "Block",
    "Cell",
    "Column",
    "Table",
    "check_show",
    "comparison_tables",
    "tables",
]


class _Score(NamedTuple):
    """A score beside entity F1: heading, where it is, and what it means."""

    head: str
    of: Callable[[SplitSummary], Statistic]
    legend: str


_SCORES = {
    "precision": _Score("precision", lambda s: s.precision, "micro, of entities"),
    "recall": _Score("recall", lambda s: s.recall, "micro, of entities"),
    "strict_f1": _Score("strict F1", lambda s: s.strict_f1, "entity F1 in seqeval's strict mode"),
    "word_f1": _Score(
        "word F1", lambda s: s.word_f1, "micro F1 over words with a tag other than O"
    ),
    "word_accuracy": _Score(
        "word accuracy", lambda s: s.word_accuracy, "share of words with the right tag"
    ),
}
# What can be shown beside entity F1.
SHOWABLE = tuple(_SCORES)


def tables(comparisons: Sequence[Comparison], *, show: Sequence[str] = ()) -> list[Table]:
    """A table for each comparison, each followed by its differences, its scores by several
    scorers, its costs, its breakdowns and its published tables.

    Those of comparisons all have the same columns of blocks other than `name`.

    Args:
        show: of `SHOWABLE`: scores that stand beside entity F1, not in block `detail`.

    Raises:
        InputError: a score that nobody knows.
    """
    check_show(show)
    drawn = []
    for number, comparison in enumerate(comparisons, 1):
        counted = f"{number} of {len(comparisons)} · " if len(comparisons) > 1 else ""
        parts = comparison_tables(comparison, counted, number, show=show)
        drawn += [table for part in parts.values() for table in part]
    return drawn


def comparison_tables(
    comparison: Comparison, counted: str = "", number: int = 1, *, show: Sequence[str] = ()
) -> dict[str, list[Table]]:
    """The tables of one comparison by what they tell; `scores` has one, others may have none.

    Args:
        counted: what stands before titles, such as "1 of 2 · ".
        number: of the comparison.
        show: as in `tables`.
    """
    return {
        "scores": [_table(comparison, counted, number, show)],
        "trust": [significance_table(comparison, counted, number)]
        if comparison.differences
        else [],
        "scorers": [scorers_table(comparison, counted, number)] if comparison.scorers else [],
        "cost": [cost_table(comparison, counted, number)] if comparison.costs else [],
        "where": [
            breakdown_table(breakdown, counted, comparison.corpus, number)
            for breakdown in comparison.breakdowns
        ],
        "published": [published_table(r, counted, number) for r in comparison.reproductions],
    }


def check_show(show: Sequence[str]) -> None:
    """Raises InputError for names outside of `SHOWABLE`."""
    unknown = [name for name in show if name not in _SCORES]
    if unknown:
        told = ", ".join(f"{name!r}{nearest(name, SHOWABLE)}" for name in unknown)
        raise InputError(f"scores to show of {', '.join(SHOWABLE)} expected, found {told}")


def _table(comparison: Comparison, counted: str, number: int, show: Sequence[str]) -> Table:
    rows = comparison.rows
    drawn = [*_name_columns(comparison), *_quality_columns(rows), *_score_columns(rows, show)]
    drawn += _cost_columns(rows)
    drawn += _score_columns(rows, [name for name in SHOWABLE if name not in show], "detail")
    return Table(
        title=units.visible(f"{counted}{_title(comparison)}"),
        subtitle=units.visible(_subtitle(comparison)),
        columns=tuple(column for column, _ in drawn),
        rows=tuple(zip(*(cells for _, cells in drawn), strict=True)),
        sections=tuple(i > 0 and rows[i - 1].tuning != row.tuning for i, row in enumerate(rows)),
        legend=tuple(_legend(comparison, show)),
        notes=tuple(f"note: {units.visible(note)}" for note in comparison.notes),
        number=number,
    )


def _name_columns(comparison: Comparison) -> Iterator[tuple[Column, list[Cell]]]:
    rows = comparison.rows
    yield Column("approach", ("row",), "name", right=False), [text_cell(r.label) for r in rows]
    everywhere = {
        "model": comparison.model,
        "corpus": comparison.corpus,
        "context": comparison.context,
        "casing": comparison.key.get("casing", ""),
        "scorer": comparison.scorer,
    }
    for name, shared in everywhere.items():
        # Where it is the same in all rows the title says it, and only CSV repeats it.
        block: Block = "name" if name in comparison.varied else "detail"
        cells = [text_cell(row.varied.get(name, shared)) for row in rows]
        yield Column(name, (name,), block, right=False), cells


def _quality_columns(rows: Sequence[Row]) -> Iterator[tuple[Column, list[Cell]]]:
    yield Column("seeds", ("seeds",), "quality"), [plain_cell(str(len(r.runs))) for r in rows]
    for split in ("dev", "test"):
        yield _share_column(rows, split, "F1", lambda s: s.f1, "quality")
    for split in ("dev", "test"):
        column = Column(f"Δ {split}", (f"{split} F1 difference (points)",), "quality")
        yield column, [_difference(row, split) for row in rows]


def _score_columns(
    rows: Sequence[Row], names: Sequence[str], block: Block = "shown"
) -> Iterator[tuple[Column, list[Cell]]]:
    for split in ("dev", "test"):
        for name in dict.fromkeys(names):
            yield _share_column(rows, split, _SCORES[name].head, _SCORES[name].of, block)


def _cost_columns(rows: Sequence[Row]) -> Iterator[tuple[Column, list[Cell]]]:
    for column, number_of, show in _COSTS:
        yield column, [_cost_cell(number_of(row), show) for row in rows]


_COSTS: tuple[tuple[Column, Callable[[Row], float | None], Callable[[float | None], str]], ...] = (
    (
        Column("trained", ("trained parameters",), "cost"),
        lambda row: row.cost.trained_parameters,
        units.parameters,
    ),
    (
        Column("training", ("training (s)",), "cost"),
        lambda row: row.cost.training_seconds.mean,
        units.duration,
    ),
    (
        Column("extraction", ("extraction, once (s)",), "cost"),
        lambda row: row.cost.extraction_seconds,
        units.duration,
    ),
    (
        Column("words/s", ("text to tags (words/s)",), "cost"),
        lambda row: row.cost.text_words_per_second,
        units.rate,
    ),
    (Column("store", ("store (bytes)",), "cost"), lambda row: row.cost.store_bytes, units.size),
    (
        Column("memory", ("peak memory (bytes)",), "cost"),
        lambda row: row.cost.peak_memory_bytes,
        units.size,
    ),
)


def _share_column(
    rows: Sequence[Row],
    split: str,
    name: str,
    score: Callable[[SplitSummary], Statistic],
    block: Block,
) -> tuple[Column, list[Cell]]:
    head = f"{split} {name}"
    best = _best(rows, split, score) if block != "detail" else set()
    cells = [
        share_cell(score(row.splits[split]), best=i in best)
        if split in row.splits
        else no_share_cell(row, split)
        for i, row in enumerate(rows)
    ]
    return Column(head, (f"{head} (%)", f"{head} sd (%)"), block), cells


def _difference(row: Row, split: str) -> Cell:
    if row.is_baseline and split in row.splits:
        return Cell("baseline", ("",))
    if row.difference is None or split not in row.difference:
        return Cell(units.NONE, ("",))
    return plain_cell(units.points(row.difference[split]))


def _cost_cell(number: float | None, show: Callable[[float | None], str]) -> Cell:
    data = "" if number is None else f"{number:.1f}" if isinstance(number, float) else str(number)
    return Cell(show(number), (data,))


def _best(rows: Sequence[Row], split: str, score: Callable[[SplitSummary], Statistic]) -> set[int]:
    """Places of the rows with the best mean score among those scored on the same data.

    A row that stands alone is not the best of anything.
    """
    rivals: dict[tuple[str, ...], dict[int, float]] = {}
    for place, row in enumerate(rows):
        if split in row.splits:
            data = tuple(
                value
                for part, value in row.cell.items()
                if part == "scorer" or part.endswith((".text", ".tags"))
            )
            rivals.setdefault(data, {})[place] = score(row.splits[split]).mean
    return {
        place
        for means in rivals.values()
        for place, mean in means.items()
        if len(means) > 1 and mean == max(means.values())
    }


def _title(comparison: Comparison) -> str:
    parts = [comparison.corpus, comparison.model, f"context: {comparison.context}"]
    if comparison.key.get("casing", "original") != "original":
        parts.append(f"casing: {comparison.key['casing']}")
    return " · ".join(parts)


def _subtitle(comparison: Comparison) -> str:
    sizes = [
        f"{split} {sentences:,} sentences, {words:,} words"
        for split, (sentences, words) in comparison.sizes.items()
    ]
    return " · ".join([*sizes, f"scorer: {comparison.scorer}"])


def _legend(comparison: Comparison, show: Sequence[str]) -> list[str]:
    """What the columns mean, of those that show."""
    rows = comparison.rows
    many = any(len(row.runs) > 1 for row in rows)
    spread = "; mean ± sample standard deviation over seeds" if many else ", of one seed"
    legend = [f"F1: micro entity F1 in percent{spread}"]
    legend += [f"{_SCORES[name].head}: {_SCORES[name].legend}" for name in dict.fromkeys(show)]
    if any(split in row.trained_on for row in rows for split in ("dev", "test")):
        legend.append(f"{TRAINED_ON}: the runs learned from that split, so it has no score")
    if any(row.difference is not None for row in rows):
        several = sum(row.is_baseline for row in rows) > 1
        which = "its baseline, which learned and was scored on the same text" if several else ""
        legend.append(f"Δ: mean F1 less that of {which or 'the baseline'}, in points")
    legend.append("trained: parameters that training changed; training: mean wall time of a seed")
    if any(row.cost.extraction_seconds is not None for row in rows):
        legend.append("extraction, store: wall time and disk, paid once for all rows and seeds")
    legend.append(
        "words/s: words tagged a second from text, extraction included; "
        "memory: peak, the highest of the seeds"
    )
    return legend

"""Published figures next to what comparable runs reached.

A published row is next to the comparison rows that have its name, unless their labels have other
settings. If some of these are on the published corpus, only those count. A difference is computed
only if corpus and encoder are the published ones.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from featbert.analysis.comparison import Comparison, PublishedFigures, Row
from featbert.analysis.frame import statistic
from featbert.analysis.labels import base_name
from featbert.data.corpus import EVALUATED
from featbert.errors import InputError
from featbert.experiments.published import PublishedRow, PublishedTable


def with_published(
    comparisons: Sequence[Comparison], tables: Sequence[PublishedTable]
) -> tuple[list[Comparison], list[str]]:
    """Comparisons with the tables of their tasks, and why some of these cannot be shown."""
    reasons: dict[str, None] = {}
    completed = []
    for comparison in comparisons:
        figures = []
        for table in tables:
            if table.task == comparison.task.name and not is_matrix(table):
                try:
                    figures.append(published_figures(comparison, table))
                except InputError as error:
                    reasons[f"{table.id}: {error}"] = None
        completed.append(dataclasses.replace(comparison, published=tuple(figures)))
    return completed, list(reasons)


def published_figures(comparison: Comparison, table: PublishedTable) -> PublishedFigures:
    """The figures of `table` next to the rows of `comparison`, in the table's order.

    InputError if they are by language, data set or tuning.
    """
    splits = tuple(s for s in EVALUATED if any(_figure(row, s) is not None for row in table.rows))
    if not splits:
        raise InputError(f"{table.id} has no figures by split that a comparison could be next to")
    lines = []
    for published in table.rows:
        rows_of_corpus = [row for row in comparison.rows if _is_of(row, published, table)]
        rows = [row for row in rows_of_corpus or comparison.rows if _is_called(row, published)]
        lines += [_line(published, row, table, splits) for row in rows or (None,)]
    return PublishedFigures(table, splits, tuple(lines))


def is_matrix(table: PublishedTable) -> bool:
    """Whether the figures of a table are by language or data set."""
    return any(isinstance(row.test, dict) for row in table.rows)


def _line(
    published: PublishedRow, row: Row | None, table: PublishedTable, splits: tuple[str, ...]
) -> dict[str, Any]:
    same_model = row and row.model.rpartition("/")[2] == published.model
    comparable = row and same_model and _is_of(row, published, table)
    line: dict[str, Any] = {"published": _label(published), "row": row and row.name}
    for split in splits:
        printed = _figure(published, split)
        score = row.score(split) if row else None
        # The one standard deviation of a row is of its last split.
        sd = published.sd / 100 if published.sd is not None and split == splits[-1] else None
        line |= {f"{split}_published": printed, f"{split}_published_sd": sd}
        line |= statistic(f"{split}_here", score)
        apart = score.mean - printed if comparable and score and printed is not None else None
        line[f"{split}_difference"] = apart
    return line


def _figure(row: PublishedRow, split: str) -> float | None:
    percent = getattr(row, split, None)
    return percent / 100 if isinstance(percent, float | int) else None


def _is_called(row: Row, published: PublishedRow) -> bool:
    """Whether it has the published name, and nothing in its label differs."""
    base = base_name(published.tuning or "full", published.layers)
    if row.part_name or base_name(row.tuning, row.layers) != base:
        return False
    conditions, label_parts = published.conditions, {**row.differing, **row.varied}
    shared_names = conditions.keys() & label_parts.keys()
    return all(_agrees(conditions[name], label_parts[name]) for name in shared_names)


def _agrees(said: object, shown: str) -> bool:
    """Whether a published setting fits a label. `true` fits any value but none."""
    if isinstance(said, bool):
        return said == (shown not in ("0", "false", "none"))
    return str(said).casefold() == shown.casefold()


def _label(published: PublishedRow) -> str:
    conditions = published.conditions.items()
    inner = [v if name == "model" else f"{name}={v}" for name, v in conditions]
    base = base_name(published.tuning or "full", published.layers)
    return f"{base} ({', '.join(inner)})" if inner else base


def _is_of(row: Row, published: PublishedRow, table: PublishedTable) -> bool:
    """Whether the corpus is the published one, by its name.

    conll2003, conll2003-en and conll2003-english are CoNLL-2003 English, conll2003-de the German
    text.
    """
    if table.data is not None:
        return row.corpus == table.data
    name, base = _plain(row.corpus), _plain(table.corpus.partition(" ")[0])
    language = published.conditions.get("language", "en")
    names = [f"{base}{language}", *([base, _plain(table.corpus)] if language == "en" else [])]
    return name in names


def _plain(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def matrix_rows(table: PublishedTable) -> list[tuple[str, dict[str, float]]]:
    """Label and figures in [0, 1] of each row of a table by language or data set."""
    rows = []
    for row in table.rows:
        label = row.train or row.setting or _label(row)
        if row.setting and row.model and "bert" not in row.model:
            label = f"{row.setting} ({row.model})"
        percents = row.test if isinstance(row.test, dict) else {}
        rows.append((label, {name: percent / 100 for name, percent in percents.items()}))
    return rows

"""Published figures beside what comparable runs reached: published, reproduced, difference.

A table of `published.toml` is set beside a comparison row by row (`matching.py` says which row
stands beside which), with what differs in protocol (`protocol.py`). Nothing is averaged or chosen:
where several comparison rows fit one published row, each has a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from featbert.analysis.compare import Comparison
from featbert.analysis.matching import (
    FACTS,
    match,
    published_facts,
    row_facts,
    same_language,
)
from featbert.analysis.protocol import protocol_lines, shown
from featbert.analysis.rows import Row, Statistic
from featbert.errors import InputError
from featbert.runs.grouping import EVALUATED

if TYPE_CHECKING:
    from featbert.runs.published import PublishedRow, PublishedTable


@dataclass(frozen=True)
class Figure:
    """Entity F1 of one split, in [0, 1]; None for what was not published or not reproduced.

    Attributes:
        published: as printed, a hundredth of it.
        published_sd: standard deviation printed beside it.
        reproduced: F1 over the seeds of the comparison row.
    """

    published: float | None
    published_sd: float | None
    reproduced: Statistic | None

    @property
    def difference(self) -> float | None:
        """Reproduced mean less the published figure, None where one of them is missing."""
        if self.published is None or self.reproduced is None:
            return None
        return self.reproduced.mean - self.published


@dataclass(frozen=True)
class ReproducedRow:
    """One published row, and the comparison row beside it if there is one.

    Attributes:
        label: the published row by what tells it from its table's others, and what tells the
            comparison row from others beside the same published row.
        published: the row as published.
        row: the comparison row, None where nothing fits.
        figures: by split, of the splits that the table has figures of.
    """

    label: str
    published: PublishedRow
    row: Row | None
    figures: Mapping[str, Figure]


@dataclass(frozen=True)
class Reproduction:
    """A published table beside a comparison.

    Attributes:
        table: the table; its `source` and `verified` say where the figures are from.
        splits: splits that it has figures of, of "dev", "test".
        rows: in the table's order.
        unpublished: labels of comparison rows that the table has no row for.
        protocol: what differs between the published protocol and the runs, one line each.
        notes: what a reader should know of these figures, one line each.
    """

    table: PublishedTable
    splits: tuple[str, ...]
    rows: tuple[ReproducedRow, ...]
    unpublished: tuple[str, ...]
    protocol: tuple[str, ...]
    notes: tuple[str, ...]


# Languages of corpora that are named after them: "CoNLL-2003 English".
LANGUAGES = {"English": "en", "German": "de"}


def reproduce(
    comparison: Comparison, table: PublishedTable, *, language: str | None = None
) -> Reproduction:
    """The figures of `table` beside the rows of `comparison` that do what its rows did.

    Args:
        language: BCP 47 code: the table's rows of other languages are left out, and runs whose
            corpus has no language are taken to be in this one.

    Raises:
        InputError: the table has its figures by language or by approach, or no row fits; says
            what was looked for.
    """
    _check_columns(table)
    published = _of_language(table, language)
    fixed = [published_facts(row) for row in published]
    beside: dict[int, list[Row]] = {}
    unpublished: list[str] = []
    unclear: dict[tuple[str, ...], list[str]] = {}
    for row in comparison.rows:
        if row.train_share != 1:  # published rows learned from all of their text
            unpublished.append(row.label)
            continue
        known = row_facts(row)
        if language is not None:
            known.setdefault("language", language)
        if _of_another_language(table, known):
            continue
        fits, unknown = match(fixed, known)
        if unknown:
            unclear.setdefault(tuple(unknown), []).append(row.label)
        elif fits:
            for place in fits:
                beside.setdefault(place, []).append(row)
        else:
            unpublished.append(row.label)
    left_out = [
        f"rows of {table.id} differ in {' and '.join(names)}, which the runs do not tell, so none "
        f"is set beside {', '.join(labels)}"
        for names, labels in unclear.items()
    ]
    if not beside and left_out:
        advice = "; give the language" if any("language" in names for names in unclear) else ""
        raise InputError("; ".join(left_out) + advice)
    if not beside:
        raise InputError(_no_match(comparison, table, fixed))
    splits = tuple(s for s in EVALUATED if any(getattr(p, s) is not None for p in published))
    pairs = [(published[place], row) for place in sorted(beside) for row in beside[place]]
    return Reproduction(
        table=table,
        splits=splits,
        rows=tuple(
            _reproduced(published, place, row, beside.get(place, ()), splits)
            for place in range(len(published))
            for row in beside.get(place, [None])
        ),
        unpublished=tuple(unpublished),
        protocol=tuple(protocol_lines(table, pairs)),
        notes=(*left_out, *_notes(table)),
    )


def _check_columns(table: PublishedTable) -> None:
    """Refuses tables whose figures are not one a row and split."""
    figures = [figure for row in table.rows for figure in (row.dev, row.test)]
    if any(isinstance(figure, dict) for figure in figures):
        raise InputError(
            f"a table with one figure a row and split expected, {table.id} has its figures by "
            "language: it belongs beside a transfer matrix, not beside a comparison"
        )
    if not any(isinstance(figure, float) for figure in figures):
        raise InputError(
            f"a table with dev or test figures expected, {table.id} has none: what its rows "
            "differ in is no part of a run's record"
        )


def _of_language(table: PublishedTable, language: str | None) -> list[PublishedRow]:
    rows = [
        row
        for row in table.rows
        if language is None or row.language is None or same_language(row.language, language)
    ]
    if not rows:
        there = ", ".join(dict.fromkeys(row.language for row in table.rows if row.language))
        raise InputError(
            f"a language of {table.id} expected, it has figures for {there}; found {language!r}"
        )
    return rows


def _of_another_language(table: PublishedTable, known: Mapping[str, Any]) -> bool:
    """Whether a row is of another language than the one that the table's corpus is in."""
    spoken = next((code for name, code in LANGUAGES.items() if table.corpus.endswith(name)), None)
    return None not in (spoken, known.get("language")) and spoken != known["language"]


def _reproduced(
    published: Sequence[PublishedRow],
    place: int,
    row: Row | None,
    siblings: Sequence[Row],
    splits: Iterable[str],
) -> ReproducedRow:
    its = published[place]
    given = [split for split in splits if getattr(its, split) is not None]
    return ReproducedRow(
        label=_label(published, place, row, siblings),
        published=its,
        row=row,
        figures={
            split: Figure(
                published=_share(getattr(its, split)),
                # A table has one column of deviations: it is of the one figure of its row.
                published_sd=_share(its.sd) if given == [split] else None,
                reproduced=row.splits[split].f1 if row and split in row.splits else None,
            )
            for split in splits
        },
    )


def _share(percent: float | None) -> float | None:
    """96.1 as 0.961, not as 0.9609999999999999."""
    return None if percent is None else float(f"{percent}e-2")


def _label(
    published: Sequence[PublishedRow], place: int, row: Row | None, siblings: Sequence[Row]
) -> str:
    """`fine-tuning (bert-base-cased, learning_rate=3e-05)`: published, then the comparison's."""
    its = published[place]
    same = [p for p in published if (p.tuning, p.layers) == (its.tuning, its.layers)]
    parts = [its.source] if its.source else []
    parts += [
        _part(name, getattr(its, name))
        for name in FACTS
        if getattr(its, name) is not None and len({getattr(p, name) for p in same}) > 1
    ]
    if row is not None and len(siblings) > 1:
        told = [{**sibling.varied, **sibling.differing} for sibling in siblings]
        own = {**row.varied, **row.differing}
        parts += [
            value if name in row.varied else f"{name}={value}"
            for name, value in own.items()
            if any(other.get(name) != value for other in told)
        ]
    approach = its.tuning or "full"
    base = "fine-tuning" if approach == "full" else its.layers or approach
    return f"{base} ({', '.join(parts)})" if parts else base


def _part(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return name if value else f"no {name}"
    return value if isinstance(value, str) else f"{name}={value}"


def _notes(table: PublishedTable) -> Iterable[str]:
    if table.verified == "memory":
        yield "the published figures are from memory: check them before relying on them"
    if table.note:
        yield table.note


def _no_match(
    comparison: Comparison,
    table: PublishedTable,
    fixed: Sequence[Mapping[str, Any]],
) -> str:
    known = [row_facts(row) for row in comparison.rows]
    # A fact that nobody knows refused nothing, and neither did one that is the same everywhere.
    names = [n for n in FACTS if _values(n, fixed) and _values(n, known)]
    names = [n for n in names if _values(n, fixed) != _values(n, known)] or names
    wanted, found = ("; ".join(f"{n} {_values(n, f)}" for n in names) for f in (fixed, known))
    return (
        f"a row like those of {table.id} expected ({wanted}) among the rows of "
        f"{comparison.corpus}, {comparison.model}; found {found}; train such runs, or name another "
        "table"
    )


def _values(name: str, facts: Sequence[Mapping[str, Any]]) -> str:
    """`3 or 4`: all values that a fact has."""
    return " or ".join(dict.fromkeys(shown(f[name]) for f in facts if name in f))

"""What transfer matrices look like as tables: reproduced, published, and the differences.

Rows are what was trained on, columns what was evaluated on. Text, Markdown and LaTeX are drawn
from these tables by what draws comparisons; CSV and JSON are lists of cells (`transfer_export`).
"""

from __future__ import annotations

from collections.abc import Sequence

from featbert.analysis.transfer import TransferMatrix, TransferRow
from featbert.analysis.transfer_cells import TransferCell
from featbert.analysis.transfer_published import PublishedMatrix, beside, differences
from featbert.report import units
from featbert.report.cells import Block, Cell, Column, Table

AVERAGE = "average of zero-shot"
_BLOCKS: tuple[Block, ...] = ("name", "quality")


def transfer_tables(
    matrices: Sequence[TransferMatrix], published: Sequence[PublishedMatrix] = ()
) -> list[Table]:
    """A table for each matrix, then each published one in the first matrix's order of languages,
    followed by the differences to it wherever both have a language pair."""
    drawn = [
        _reproduced(matrix, f"{n} of {len(matrices)} · " if len(matrices) > 1 else "")
        for n, matrix in enumerate(matrices, 1)
    ]
    for one in published:
        ordered = beside(one, matrices[0]) if matrices else one
        drawn.append(_published(ordered))
        drawn += [
            _differences(matrix, ordered)
            for matrix in matrices
            if any(d is not None for row in differences(matrix, ordered) for d in row)
        ]
    return drawn


def _reproduced(matrix: TransferMatrix, number: str) -> Table:
    columns = [
        Column("trained on", (), "name", right=False),
        Column("seeds", (), "name"),
        *(Column(units.visible(label), (), "quality") for label in matrix.evaluated_on),
        Column(AVERAGE, (), "quality"),
    ]
    rows = tuple(
        (
            _text(row.label),
            _text(str(len(row.trained.runs))),
            *(_share(cell) for cell in row.cells),
            _average(row),
        )
        for row in matrix.rows
    )
    many = any(len(row.trained.runs) > 1 for row in matrix.rows)
    spread = "; mean ± sample standard deviation over seeds" if many else ", of one seed"
    return Table(
        title=units.visible(f"{number}{matrix.label} · {matrix.encoding}"),
        subtitle=units.visible(
            f"transfer to the {matrix.split} split of each language · scorer: {matrix.scorer}"
        ),
        columns=tuple(columns),
        rows=rows,
        sections=(False,) * len(rows),
        legend=(
            f"F1: micro entity F1 in percent{spread}",
            units.visible(f"columns, evaluated on: {_columns(matrix)}"),
            f"{AVERAGE}: mean of a row's cells on other data than it was trained on",
        ),
        notes=tuple(f"note: {units.visible(note)}" for note in matrix.notes),
        blocks=_BLOCKS,
    )


def _columns(matrix: TransferMatrix) -> str:
    """`de wikiann-de (1,000 sentences, 8,012 words); ...`"""
    return "; ".join(
        f"{data.label}{'' if data.label == data.corpus else f' {data.corpus}'} "
        f"({data.sentences:,} sentences, {data.words:,} words)"
        for data in matrix.columns
    )


def _published(published: PublishedMatrix) -> Table:
    notes = [published.note] if published.note else []
    return Table(
        title=units.visible(f"published · {published.title}"),
        subtitle=units.visible(
            f"{published.source} · {published.corpus} · verified: {published.verified}"
        ),
        columns=(
            Column("trained on", (), "name", right=False),
            *(Column(units.visible(label), (), "quality") for label in published.evaluated_on),
        ),
        rows=tuple(
            (
                _text(row.label),
                *(_text(units.percent(row.f1.get(c), row.digits)) for c in published.evaluated_on),
            )
            for row in published.rows
        ),
        sections=(False,) * len(published.rows),
        legend=("F1: entity F1 in percent, as published",),
        notes=tuple(f"note: {units.visible(note)}" for note in notes),
        blocks=_BLOCKS,
    )


def _differences(matrix: TransferMatrix, published: PublishedMatrix) -> Table:
    """Rows without a counterpart are left out here; the published table above has them."""
    kept = [
        (row, found)
        for row, found in zip(published.rows, differences(matrix, published), strict=True)
        if any(difference is not None for difference in found)
    ]
    corpora = ", ".join(dict.fromkeys(row.trained.corpus for row in matrix.rows))
    return Table(
        title=units.visible(f"Δ · {matrix.label} here, less {published.source}"),
        subtitle=units.visible(
            f"here: {matrix.model} on {corpora} · published: {_models(published)}"
        ),
        columns=(
            Column("trained on", (), "name", right=False),
            *(Column(units.visible(label), (), "quality") for label in published.evaluated_on),
        ),
        rows=tuple(
            (
                _text(row.label),
                *(_text(units.points(difference, row.digits)) for difference in found),
            )
            for row, found in kept
        ),
        sections=(False,) * len(kept),
        legend=("Δ: mean F1 here less the published F1, in points",),
        notes=(),
        blocks=_BLOCKS,
    )


def _models(published: PublishedMatrix) -> str:
    models = dict.fromkeys(r.model for r in published.rows if r.comparable and r.model)
    return f"{', '.join(models) or 'multilingual BERT'} on {published.corpus}"


def _text(text: str) -> Cell:
    return Cell(units.visible(text), ())


def _share(cell: TransferCell | None) -> Cell:
    return _text(units.NONE) if cell is None else _mean(cell.f1.mean, cell.f1.sd)


def _average(row: TransferRow) -> Cell:
    return _text(units.NONE) if row.average is None else _mean(row.average, row.average_sd)


def _mean(mean: float, sd: float | None) -> Cell:
    """`63.12 ± 0.45`, or `63.12` without spread."""
    spread = "" if sd is None else f" ± {units.percent(sd)}"
    return _text(f"{units.percent(mean)}{spread}")

"""Transfer matrices cell by cell: CSV for spreadsheets, JSON with every number unrounded."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from featbert.analysis.transfer import TransferMatrix, TransferRow
from featbert.analysis.transfer_cells import told_mapping
from featbert.analysis.transfer_published import PublishedMatrix, differences
from featbert.report import units
from featbert.report.csv_table import harmless
from featbert.report.json_table import finite
from featbert.report.transfer_table import AVERAGE

_HEADINGS = (
    "matrix",
    "row",
    "model",
    "context",
    "split",
    "trained on",
    "evaluated on",
    "corpus",
    "own data",
    "F1 (%)",
    "F1 sd (%)",
    "seeds",
    "types mapped",
    "verified",
)


def transfer_csv(
    matrices: Sequence[TransferMatrix], published: Sequence[PublishedMatrix] = ()
) -> str:
    """A line a cell, those without a score included, and a line for each row's average.

    Published cells come after all others, with the table's id in place of a matrix's number.
    There is no place for notes; the caller shows them elsewhere. Without matrices and published
    tables the text is empty.
    """
    if not matrices and not published:
        return ""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_HEADINGS, *(f"difference to {p.id} (points)" for p in published)])
    for number, matrix in enumerate(matrices, 1):
        for line in _lines(number, matrix, published):
            writer.writerow([harmless(units.visible(value)) for value in line])
    for one in published:
        for line in _published_lines(one):
            line += [""] * len(published)
            writer.writerow([harmless(units.visible(value)) for value in line])
    return out.getvalue()


def transfer_json(
    matrices: Sequence[TransferMatrix],
    published: Sequence[PublishedMatrix] = (),
    *,
    notes: Sequence[str] = (),
) -> str:
    """One object with `matrices[]`, `published[]`, `differences[]`, `notes[]`; ASCII.

    F1 is in [0, 1]. A cell's `f1.values` are in the order of its `seeds` and `runs`; a cell
    without a score is null. A difference's `matrix` is the `number` of a matrix.
    """
    report = {
        "matrices": [_matrix(number, matrix) for number, matrix in enumerate(matrices, 1)],
        "published": [dataclasses.asdict(one) for one in published],
        "differences": [
            {
                "matrix": number,
                "published": one.id,
                "trained_on": train,
                "evaluated_on": test,
                "setting": setting,
                "difference": difference,
            }
            for number, matrix in enumerate(matrices, 1)
            for one in published
            for setting, train, test, difference in _pairs(matrix, one)
        ],
        "notes": list(notes),
    }
    return json.dumps(finite(report), indent=1, allow_nan=False) + "\n"


def _pairs(
    matrix: TransferMatrix, published: PublishedMatrix
) -> Iterator[tuple[str, str, str, float]]:
    """Published row, language trained on, language evaluated on, difference; where there is one."""
    found = differences(matrix, published)
    for row, row_differences in zip(published.rows, found, strict=True):
        for test, difference in zip(published.evaluated_on, row_differences, strict=True):
            if difference is not None:
                yield row.label, row.train or test, test, difference


def _lines(
    number: int, matrix: TransferMatrix, published: Sequence[PublishedMatrix]
) -> Iterator[list[str]]:
    apart = [
        {(train, test): difference for _, train, test, difference in _pairs(matrix, one)}
        for one in published
    ]
    head = [str(number), matrix.label, matrix.model, matrix.context, matrix.split]
    for row in matrix.rows:
        for data, cell in zip(matrix.columns, row.cells, strict=True):
            line = [*head, row.label, data.label, data.corpus]
            if cell is None:
                line += ["no", "", "", "0", "", ""]
            else:
                mapped = told_mapping(cell.mapping) if cell.mapping else ""
                line += [
                    "yes" if cell.own else "no",
                    units.percent(cell.f1.mean),
                    "" if cell.f1.sd is None else units.percent(cell.f1.sd),
                    str(cell.f1.n),
                    mapped,
                    "",
                ]
            found = [pairs.get((row.label, data.label)) for pairs in apart]
            yield [*line, *("" if d is None else units.points(d) for d in found)]
        if row.average is not None:
            sd = "" if row.average_sd is None else units.percent(row.average_sd)
            count = str(len(row.trained.runs))
            line = [*head, row.label, AVERAGE, "", "no", units.percent(row.average), sd, count]
            yield [*line, "", "", *("" for _ in published)]


def _published_lines(one: PublishedMatrix) -> Iterator[list[str]]:
    for row, own in zip(one.rows, one.own, strict=True):
        for test, is_own in zip(one.evaluated_on, own, strict=True):
            if test in row.f1:
                line = [one.id, row.label, row.model or "", "", one.split, row.train or test, test]
                line += [
                    one.corpus,
                    "yes" if is_own else "no",
                    units.percent(row.f1[test], row.digits),
                ]
                yield [*line, "", "", "", one.verified]


def _matrix(number: int, matrix: TransferMatrix) -> dict[str, Any]:
    return {
        "number": number,
        "label": matrix.label,
        "tuning": matrix.tuning,
        "layers": matrix.layers,
        "settings": matrix.settings,
        "model": matrix.model,
        "encoder_layers": matrix.encoder_layers,
        "context": matrix.context,
        "scorer": matrix.scorer,
        "split": matrix.split,
        "key": matrix.key,
        "columns": [dataclasses.asdict(data) for data in matrix.columns],
        "rows": [_row(row, matrix) for row in matrix.rows],
        "notes": list(matrix.notes),
    }


def _row(row: TransferRow, matrix: TransferMatrix) -> dict[str, Any]:
    return {
        "trained_on": row.label,
        "corpus": row.trained.corpus,
        "seeds": row.trained.seeds,
        "runs": [run.name for run in row.trained.runs],
        "left_out": [run.name for run in row.trained.left_out],
        "cells": {
            label: None if cell is None else dataclasses.asdict(cell)
            for label, cell in zip(matrix.evaluated_on, row.cells, strict=True)
        },
        "average_of_zero_shot": row.average,
        "average_of_zero_shot_sd": row.average_sd,
    }

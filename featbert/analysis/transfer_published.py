"""Published transfer matrices in the shape of reproduced ones, and where the two can be compared.

Two tables are read from the published figures: Pires, Schlinger and Garrette 2019, Table 1, a full
matrix, and Wu and Dredze 2019, Table 4, whose rows are settings. Both are multilingual BERT on
CoNLL-2002/2003; figures on other corpora or of other encoders stand beside them, not against them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from featbert.analysis.transfer import TransferMatrix

if TYPE_CHECKING:
    from featbert.runs.published import PublishedRow, PublishedTable

PIRES = "pires2019-table1"
WU_DREDZE = "wu-dredze2019-table4"
# Layers of multilingual BERT: "layers to 6 frozen" means another share of a deeper encoder.
_LAYERS = 12
# Wu and Dredze's Table 4 transfers from English throughout; two of its settings name it.
_WU_DREDZE_SOURCE = "en"


@dataclass(frozen=True)
class PublishedTransfer:
    """One row of a published matrix.

    Attributes:
        label: as published: the language trained on, or the setting.
        train: language trained on, None where each language was trained on itself.
        model: encoder, where the table names it.
        freeze_to: highest frozen layer of a fine-tuned model, 0 for the embeddings alone, None
            where nothing was frozen.
        comparable: whether it is fine-tuning of the encoder that the table is about.
        f1: entity F1 in [0, 1] by test language.
        digits: that its percentages have after the point in print.
    """

    label: str
    train: str | None
    model: str | None
    freeze_to: int | None
    comparable: bool
    f1: Mapping[str, float]
    digits: int


@dataclass(frozen=True)
class PublishedMatrix:
    """A published table as rows by language trained on, columns by language evaluated on.

    Attributes:
        verified: how the figures came here; "memory": check before relying on them.
        evaluated_on: languages, in the order in which they first appear.
    """

    id: str
    title: str
    source: str
    corpus: str
    verified: str
    note: str | None
    evaluated_on: tuple[str, ...]
    rows: tuple[PublishedTransfer, ...]

    @property
    def label(self) -> str:
        """What a figure calls it."""
        return f"published: {self.source}"

    @property
    def split(self) -> str:
        """Both tables are on the test split."""
        return "test"

    @property
    def trained_on(self) -> tuple[str, ...]:
        """Labels of the rows."""
        return tuple(row.label for row in self.rows)

    @property
    def means(self) -> tuple[tuple[float | None, ...], ...]:
        """(rows, columns) F1 in [0, 1], None where nothing was published."""
        return tuple(tuple(row.f1.get(c) for c in self.evaluated_on) for row in self.rows)

    @property
    def own(self) -> tuple[tuple[bool, ...], ...]:
        """(rows, columns) whether a figure is of the language that its row was trained on."""
        return tuple(
            tuple(c in row.f1 and row.train in (None, c) for c in self.evaluated_on)
            for row in self.rows
        )


def published_matrices() -> list[PublishedMatrix]:
    """The published transfer matrices that ship with the package."""
    # Read by way of pydantic, which matrices of runs need not wait for.
    from featbert.runs.published import published_table

    return [_matrix(published_table(table_id)) for table_id in (PIRES, WU_DREDZE)]


def beside(published: PublishedMatrix, matrix: TransferMatrix) -> PublishedMatrix:
    """The published matrix in the order of a reproduced one; languages it lacks come last."""
    columns = sorted(published.evaluated_on, key=_place_in(matrix.evaluated_on))
    rows = sorted(published.rows, key=lambda row: _place_in(matrix.trained_on)(row.label))
    return dataclasses.replace(published, evaluated_on=tuple(columns), rows=tuple(rows))


def _place_in(labels: Sequence[str]) -> Callable[[str], int]:
    return lambda label: labels.index(label) if label in labels else len(labels)


def differences(
    matrix: TransferMatrix, published: PublishedMatrix
) -> tuple[tuple[float | None, ...], ...]:
    """(published rows, published columns) reproduced mean F1 less the published one.

    None unless the language trained on and the language evaluated on are in both, the matrix is
    of fine-tuning, scored on test, and the same lower layers were frozen. Frozen features are
    never compared: what was trained on them there is not what is trained on them here.
    """
    return tuple(
        tuple(_difference(matrix, row, language) for language in published.evaluated_on)
        for row in published.rows
    )


def _difference(matrix: TransferMatrix, row: PublishedTransfer, test: str) -> float | None:
    if test not in row.f1 or not row.comparable:
        return None
    if matrix.tuning != "full" or matrix.split != "test":
        return None
    frozen = matrix.settings.get("freeze_to")
    if frozen != row.freeze_to or (frozen and matrix.encoder_layers != _LAYERS):
        return None
    train = row.train or test
    found = [
        mean
        for trained, means in zip(matrix.rows, matrix.means, strict=True)
        for column, mean in zip(matrix.columns, means, strict=True)
        # Labels, not languages: where two corpora share a language, neither is meant.
        if trained.label == train and column.label == test and mean is not None
    ]
    return found[0] - row.f1[test] if found else None


def _matrix(table: PublishedTable) -> PublishedMatrix:
    read = _pires_row if table.id == PIRES else _wu_dredze_row
    rows = tuple(read(row, row.test if isinstance(row.test, dict) else {}) for row in table.rows)
    return PublishedMatrix(
        id=table.id,
        title=table.title,
        source=table.source or table.id,
        corpus=table.corpus,
        verified=table.verified,
        note=table.note,
        evaluated_on=tuple(dict.fromkeys(language for row in rows for language in row.f1)),
        rows=rows,
    )


def _pires_row(row: PublishedRow, percents: Mapping[str, float]) -> PublishedTransfer:
    train = row.train or ""
    shares = _shares(percents)
    return PublishedTransfer(train, train, row.model, None, True, shares, _digits(percents))


def _wu_dredze_row(row: PublishedRow, percents: Mapping[str, float]) -> PublishedTransfer:
    setting = row.setting or ""
    train = None if setting == "in-language" else _WU_DREDZE_SOURCE
    frozen = re.fullmatch(r"layers to ([0-9]+) frozen", setting)
    plain = setting in ("in-language", f"zero-shot from {_WU_DREDZE_SOURCE}")
    embeddings = setting == "embeddings frozen"
    multilingual = "bert" in (row.model or "")
    label = setting if multilingual else f"{setting} ({row.model})"
    return PublishedTransfer(
        label=label,
        train=train,
        model=row.model,
        freeze_to=int(frozen[1]) if frozen else 0 if embeddings else None,
        comparable=multilingual and (plain or embeddings or frozen is not None),
        f1=_shares(percents),
        digits=_digits(percents),
    )


def _shares(percents: Mapping[str, float]) -> dict[str, float]:
    return {language: percent / 100 for language, percent in percents.items()}


def _digits(percents: Mapping[str, float]) -> int:
    return max((len(str(p).partition(".")[2]) for p in percents.values()), default=0)

"""How training went: loss and dev F1 by epoch of every run of a comparison's rows.

Read from the runs' histories, so what is drawn is what the records hold. A loss that is no number,
since it diverged, stays what it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from featbert.analysis.compare import Comparison
from featbert.analysis.curves import title_of
from featbert.runs.run import Run


@dataclass(frozen=True)
class SeedCurve:
    """One run, epoch by epoch.

    Attributes:
        run: its name.
        epochs: their numbers, from 1.
        loss: mean training loss of each.
        dev_f1: micro entity F1 on dev after each, in [0, 1]; None where dev was not scored.
        best_epoch: the epoch whose weights were kept; the last one where dev was trained on.
    """

    run: str
    seed: int
    epochs: tuple[int, ...]
    loss: tuple[float, ...]
    dev_f1: tuple[float | None, ...]
    best_epoch: int


@dataclass(frozen=True)
class RowCurves:
    """A row's runs, by rising seed."""

    name: str
    tuning: str
    seeds: tuple[SeedCurve, ...]


@dataclass(frozen=True)
class TrainingCurves:
    """The rows of a comparison, in its order; title: corpus, encoder and context."""

    title: str
    rows: tuple[RowCurves, ...]


def training_curves(comparison: Comparison) -> TrainingCurves:
    """Histories of all runs that the comparison's rows count."""
    return TrainingCurves(
        title_of(comparison),
        tuple(
            RowCurves(row.name, row.tuning, tuple(map(_curve, row.runs))) for row in comparison.rows
        ),
    )


def _curve(run: Run) -> SeedCurve:
    record = run.record
    return SeedCurve(
        run=run.name,
        seed=record.seed,
        epochs=tuple(epoch.epoch for epoch in record.history),
        loss=tuple(epoch.train_loss for epoch in record.history),
        dev_f1=tuple(epoch.dev_score for epoch in record.history),
        best_epoch=record.best_epoch,
    )

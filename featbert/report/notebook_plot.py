"""One door to the figures of a comparison: a kind by name, or what is missing for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from featbert.analysis.breakdowns import with_breakdowns
from featbert.analysis.curves import freezing_points, layer_points, mix_points, title_of
from featbert.analysis.learning import learning_curves
from featbert.analysis.pareto import pareto_points
from featbert.analysis.training_curves import training_curves
from featbert.errors import InputError, MissingError, nearest
from featbert.report.figures.choosing import neighbours
from featbert.report.figures.curve import freezing_curve, layer_curve
from featbert.report.figures.learning import learning_curve
from featbert.report.figures.mix import mix_weights
from featbert.report.figures.pareto import pareto_plot
from featbert.report.figures.seeds import seed_dots
from featbert.report.figures.style import FULL_WIDTH
from featbert.report.figures.training import training_curve
from featbert.report.figures.types import type_heatmap
from featbert.runs.grouping import EVALUATED
from featbert.text import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from featbert.analysis.compare import Comparison


def plot(
    comparison: Comparison, kind: str = "seeds", *, split: str = "dev", width: float | None = None
) -> Figure:
    """See `Comparison.plot`."""
    if kind not in KINDS:
        raise InputError(
            f"a kind of figure of {', '.join(KINDS)} expected, found {kind!r}{nearest(kind, KINDS)}"
        )
    if split not in EVALUATED:
        raise InputError(f"split dev or test expected, found {split!r}{nearest(split, EVALUATED)}")
    return KINDS[kind](comparison, split, FULL_WIDTH if width is None else width)


def _seeds(comparison: Comparison, split: str, width: float) -> Figure:
    return seed_dots(comparison, split=split, width=width)


def _pareto(comparison: Comparison, split: str, width: float) -> Figure:
    return pareto_plot(*pareto_points(comparison, split=split), width=width)


def _layers(comparison: Comparison, split: str, width: float) -> Figure:
    curve = layer_points(comparison)
    found = sorted({p.layer for p in curve.points if split in p.f1})
    if neighbours(found) < 3:
        told = f"found layers {', '.join(map(str, found))}" if found else "found none"
        raise InputError(
            f"features rows of at least three single layers next to each other, scored on {split}, "
            f"expected to draw, {told}; train with --layers layer:1, layer:2, ..."
        )
    return layer_curve(curve, split=split, width=width)


def _freezing(comparison: Comparison, split: str, width: float) -> Figure:
    curve = freezing_points(comparison)
    found = {p.freeze_to for p in curve.points if split in p.f1}
    if len(found) < 3:
        raise InputError(
            f"fine-tuned rows that froze at least three different numbers of layers, scored on "
            f"{split}, expected to draw, found {counted(len(found), 'number')}; fine-tune with "
            "--freeze-to 0, --freeze-to 2, ..."
        )
    return freezing_curve(curve, split=split, width=width)


def _mix(comparison: Comparison, split: str, width: float) -> Figure:
    profiles = mix_points(run for row in comparison.rows for run in row.runs)
    if not profiles:
        raise InputError(
            "a row with a learned mix of layers expected to draw, found none; train with "
            "--layers weighted_last4 or weighted_all"
        )
    return mix_weights(*profiles, width=width)


def _training(comparison: Comparison, split: str, width: float) -> Figure:
    return training_curve(training_curves(comparison), width=width)


def _types(comparison: Comparison, split: str, width: float) -> Figure:
    of_split = dataclasses.replace(comparison, splits=(split,), notes=(), breakdowns=())
    read = with_breakdowns(of_split, ["type"])
    if not read.breakdowns:
        reason = "; ".join(read.notes) or f"no row was scored on {split}"
        raise MissingError(f"predictions of {split} expected for scores by type: {reason}")
    if len(read.breakdowns) > 1:
        raise InputError(
            f"rows scored on one text expected for scores by type, found "
            f"{counted(len(read.breakdowns), 'text')}; compare the runs of each by themselves"
        )
    return type_heatmap(read.breakdowns[0], about=title_of(comparison), width=width)


def _learning(comparison: Comparison, split: str, width: float) -> Figure:
    curve = learning_curves(comparison)
    if curve is None:
        raise InputError(
            "rows that learned from different shares of train expected to draw, found none; train "
            "with --train-share 0.1, --train-share 0.3, ..."
        )
    return learning_curve(curve, split=split, width=width)


KINDS: dict[str, Callable[[Comparison, str, float], Figure]] = {
    "seeds": _seeds,
    "pareto": _pareto,
    "layers": _layers,
    "freezing": _freezing,
    "mix": _mix,
    "training": _training,
    "types": _types,
    "learning": _learning,
}

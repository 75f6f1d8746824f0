"""Figures, drawn with matplotlib: functions that return a `Figure` and compute nothing.

Imported when they are used; without matplotlib that raises a MissingError that says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.lazy import attach

if TYPE_CHECKING:
    from featbert.report.figures.curve import freezing_curve, layer_curve
    from featbert.report.figures.heatmap import transfer_heatmap
    from featbert.report.figures.learning import learning_curve
    from featbert.report.figures.mix import mix_weights
    from featbert.report.figures.pareto import pareto_plot
    from featbert.report.figures.published import published_dots
    from featbert.report.figures.saving import save_figure
    from featbert.report.figures.seeds import seed_dots
    from featbert.report.figures.style import COLUMN_WIDTH, FULL_WIDTH
    from featbert.report.figures.training import training_curve
    from featbert.report.figures.types import type_heatmap

__all__ = [
    "COLUMN_WIDTH",
    "FULL_WIDTH",
    "freezing_curve",
    "layer_curve",
    "learning_curve",
    "mix_weights",
    "pareto_plot",
    "published_dots",
    "save_figure",
    "seed_dots",
    "training_curve",
    "transfer_heatmap",
    "type_heatmap",
]
__getattr__, __dir__ = attach(
    __name__,
    {
        "COLUMN_WIDTH": "featbert.report.figures.style",
        "FULL_WIDTH": "featbert.report.figures.style",
        "freezing_curve": "featbert.report.figures.curve",
        "layer_curve": "featbert.report.figures.curve",
        "learning_curve": "featbert.report.figures.learning",
        "mix_weights": "featbert.report.figures.mix",
        "pareto_plot": "featbert.report.figures.pareto",
        "published_dots": "featbert.report.figures.published",
        "save_figure": "featbert.report.figures.saving",
        "seed_dots": "featbert.report.figures.seeds",
        "training_curve": "featbert.report.figures.training",
        "transfer_heatmap": "featbert.report.figures.heatmap",
        "type_heatmap": "featbert.report.figures.types",
    },
)

"""Figures, drawn with matplotlib: functions that return a `Figure` and compute nothing.

Imported when they are used; without matplotlib that raises a MissingError that says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.lazy import attach

if TYPE_CHECKING:
    from featbert.report.figures.curve import freezing_curve, layer_curve
    from featbert.report.figures.heatmap import transfer_heatmap
    from featbert.report.figures.mix import mix_weights
    from featbert.report.figures.saving import save_figure
    from featbert.report.figures.style import COLUMN_WIDTH, FULL_WIDTH

__all__ = [
    "COLUMN_WIDTH",
    "FULL_WIDTH",
    "freezing_curve",
    "layer_curve",
    "mix_weights",
    "save_figure",
    "transfer_heatmap",
]
__getattr__, __dir__ = attach(
    __name__,
    {
        "COLUMN_WIDTH": "featbert.report.figures.style",
        "FULL_WIDTH": "featbert.report.figures.style",
        "freezing_curve": "featbert.report.figures.curve",
        "layer_curve": "featbert.report.figures.curve",
        "mix_weights": "featbert.report.figures.mix",
        "save_figure": "featbert.report.figures.saving",
        "transfer_heatmap": "featbert.report.figures.heatmap",
    },
)

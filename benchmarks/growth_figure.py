"""Seconds against sentences, both steps, with what linear growth from the largest size would be."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from featbert.report.figures.style import (
    COLORS,
    COLUMN_WIDTH,
    FAINT,
    MARKERS,
    SMALL,
    new_frame,
    settle,
    styled,
)

ROOM, LEFT, BOTTOM, RIGHT, TOP = 2.3, 0.55, 0.45, 0.15, 0.1  # inches


def growth_figure(found: Mapping[str, Mapping[int, Sequence[float]]]) -> Figure:
    """Medians with ranges.

    Args:
        found: seconds by step and sentences, one a round.
    """
    with styled():
        frame = new_frame(
            "Time against the size of the text",
            "median and range of rounds; the line is linear growth through the largest size",
            width=COLUMN_WIDTH,
            room=ROOM,
        )
        axes = frame.axes(LEFT, BOTTOM, COLUMN_WIDTH - LEFT - RIGHT, ROOM - BOTTOM - TOP)
        for (step, by_size), color, marker in zip(found.items(), COLORS, MARKERS, strict=False):
            sizes = sorted(by_size)
            middle = [statistics.median(by_size[n]) for n in sizes]
            below = [m - min(by_size[n]) for m, n in zip(middle, sizes, strict=True)]
            above = [max(by_size[n]) - m for m, n in zip(middle, sizes, strict=True)]
            axes.plot([0, sizes[-1]], [0, middle[-1]], color=FAINT, linewidth=0.7, zorder=1)
            axes.errorbar(
                sizes,
                middle,
                yerr=[below, above],
                color=color,
                marker=marker,
                markersize=4,
                linestyle="none",
                capsize=2,
                label=step,
            )
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("training sentences")
        axes.set_ylabel("seconds")
        axes.legend(loc="upper left", fontsize=SMALL)
        settle(axes)
    return frame.figure

"""Cells of heat maps: F1 in percent on one colour scale, and the scale beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from featbert.report.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Color: TypeAlias = tuple[float, float, float]

NUMBER = "100.0"  # the widest that a cell holds
CELL_HEIGHT = 0.27  # inches
WIDEST_CELL = 0.8
BAR_ROOM = 0.62  # for the colour scale, its numbers and its label
BOLD = 1.12  # bold letters are that much wider, at most


@dataclass(frozen=True)
class Scale:
    """One colour scale for all panels, from and to whole tens of percent."""

    low: int
    high: int

    @classmethod
    def around(cls, shares: Sequence[float]) -> Scale:
        """The scale of F1 in [0, 1], at least one number of it."""
        low = 10 * math.floor(10 * min(shares))
        return cls(low, max(10 * math.ceil(10 * max(shares)), low + 10))

    def color(self, share: float) -> Color:
        """The colour of an F1 in [0, 1]."""
        place = (100 * share - self.low) / (self.high - self.low)
        red, green, blue, _ = style.sequential()(place)
        return float(red), float(green), float(blue)


def color_bar(axes: Axes, scale: Scale, tall: float) -> None:
    """The scale, drawn to axes that are `tall` inches high."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    figure = axes.get_figure(root=True)
    assert figure is not None
    steps = [step for step in (10, 20, 50) if tall * step > 0.17 * (scale.high - scale.low)]
    ticks = range(scale.low, scale.high + 1, min(steps, default=scale.high - scale.low))
    colors = ScalarMappable(Normalize(scale.low, scale.high), style.sequential())
    bar = figure.colorbar(colors, cax=axes, ticks=list(ticks))
    bar.set_label("entity F1 (%)", size=style.TEXT)
    bar.outline.set_visible(False)
    style.settle(axes)


def draw_cell(
    axes: Axes,
    corner: tuple[float, float],
    size: tuple[float, float],
    mean: float | None,
    scale: Scale,
    *,
    framed: bool = False,
    bold: bool = False,
) -> None:
    """One cell with its number, `–` on grey for None.

    Args:
        corner: (x, y) where the cell begins, in the axes' data.
        size: (width, height) in the axes' data; y grows downwards.
        framed: whether a dark border marks it.
    """
    from matplotlib.patches import Rectangle

    color = _grey() if mean is None else scale.color(mean)
    axes.add_patch(Rectangle(corner, *size, facecolor=color, edgecolor="white", linewidth=1))
    if framed:
        border = Rectangle(corner, *size, fill=False, edgecolor=style.INK, linewidth=1.1)
        border.set(zorder=3, clip_on=False)
        axes.add_patch(border)
    axes.text(
        corner[0] + size[0] / 2,
        corner[1] + 0.52 * size[1],
        "–" if mean is None else f"{100 * mean:.1f}",
        ha="center",
        va="center",
        size=style.TEXT,
        weight="bold" if bold else "normal",
        color=_legible(color),
    )


def _grey() -> Color:
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(style.EMPTY)
    return red, green, blue


def _legible(background: Color) -> str:
    """Dark or light, whichever stands out more (contrast ratio of WCAG 2, 1.4.3)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in background]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    dark = (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05)
    return style.ON_LIGHT if dark else style.ON_DARK

"""Keys: what marks and lines mean, on lines between a figure's title and its axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from featbert.report.figures import style

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

_LINE, _POINT = 0.22, 0.08  # inches: a mark with a line, and without
_GAP, _NEXT = 0.06, 0.18  # from a mark to its text, and on to the next mark
_LEFT = 0.08


@dataclass(frozen=True)
class Key:
    """One mark and its meaning.

    Attributes:
        marker: as in matplotlib's lines; "" for none.
        line: "-", or dashes and gaps in points; "" for none.
        width, markersize: in points.
        hollow: whether the marker is an outline.
    """

    text: str
    color: str
    marker: str = ""
    line: Literal["-", ""] | tuple[float, tuple[float, ...]] = ""
    width: float = 1.3
    markersize: float = 4.5
    hollow: bool = False


def keys_height(keys: Sequence[Key], width: float) -> float:
    """Inches that keys take in a figure of `width` inches; 0 of none."""
    lines = _lines(keys, width)
    return len(lines) * style.line_height(style.SMALL) + 0.08 if lines else 0.0


def draw_keys(frame: style.Frame, keys: Sequence[Key], top: float) -> None:
    """Keys in the frame, the first line just beneath `top` inches."""
    step = style.line_height(style.SMALL)
    for n, line in enumerate(_lines(keys, frame.width)):
        x, y = _LEFT, top - (n + 0.5) * step
        for key in line:
            long = _mark(key)
            if key.line:
                frame.figure.add_artist(_part(frame, key, [x, x + long], y, line=True))
            if key.marker:
                frame.figure.add_artist(_part(frame, key, [x + long / 2], y, line=False))
            x += long + _GAP
            frame.text(x, y, key.text, va="center", size=style.SMALL)
            x += style.text_width(key.text, style.SMALL) + _NEXT


def _part(frame: style.Frame, key: Key, xs: Sequence[float], y: float, *, line: bool) -> Line2D:
    """The line of a key, or its marker."""
    from matplotlib.lines import Line2D

    return Line2D(
        [x / frame.width for x in xs],
        [y / frame.height] * len(xs),
        color=key.color,
        linestyle=(key.line or "None") if line else "None",
        linewidth=key.width,
        marker="None" if line else key.marker,
        markersize=key.markersize,
        markeredgewidth=1.0 if key.hollow else 0.0,
        markerfacecolor="white" if key.hollow else key.color,
    )


def _mark(key: Key) -> float:
    return _LINE if key.line else _POINT


def _lines(keys: Sequence[Key], width: float) -> list[list[Key]]:
    """As many keys on a line as fit."""
    lines: list[list[Key]] = []
    used = 0.0
    for key in keys:
        needed = _mark(key) + _GAP + style.text_width(key.text, style.SMALL) + _NEXT
        if not lines or used + needed > width - _LEFT:
            lines.append([])
            used = 0.0
        lines[-1].append(key)
        used += needed
    return lines

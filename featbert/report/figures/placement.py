"""Labels next to their marks: each takes the place around its mark that hides least."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from featbert.report.figures.style import FAINT, INK, SMALL, wrapped

Floats = NDArray[np.float64]

_NAME = 1.2  # inches of a name that is wrapped
_MARK = 3.5  # points: half a mark
_NEAR = 5.0  # points from a mark to its label, which needs no line to its mark
# (places,) points from a mark to a place of its label, and (places, 2) its direction.
_REACH = np.repeat([_NEAR, 9.0, 14.0, 20.0, 28.0, 38.0, 50.0, 64.0], 16)
_ANGLES = np.tile(2 * np.pi * np.arange(16) / 16, 8)
_TOWARD = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1)
# (places, 2) which side of its box a label shows its mark: from -1 to 1, and 0 for the middle.
_SIDE = np.clip(np.where(abs(_TOWARD) > 0.3, 2 * _TOWARD, 0), -1, 1)
# Cost of a place for each thing hidden by the label, in points of distance.
_LABEL, _HIDDEN_MARK, _AMBIGUOUS, _LEADER, _LINE = 1e4, 300.0, 200.0, 30.0, 20.0
_STYLE: dict[str, Any] = {"ha": "center", "va": "center", "size": SMALL, "color": INK, "zorder": 5}
_ARROW = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}


def place_labels(
    axes: Axes,
    names: Sequence[str],
    first: Sequence[bool],
    places: Sequence[tuple[float, float]],
    line: Sequence[tuple[float, float]],
) -> list[str]:
    """Writes the name of each mark next to it, with a thin line if it is further away.

    Args:
        names: "" for a mark that has no label.
        first: marks that choose their places before the others.
        places: (x, y) of the marks in data. The axes must have their final size.
        line: corners of a line that labels avoid. They avoid bars, too.

    Returns the names without any place, which stay unwritten.
    """
    pixels = axes.figure.dpi / 72
    marks = axes.transData.transform(places)
    dots = np.concatenate([marks - _MARK * pixels, marks + _MARK * pixels], axis=1)
    bars = [s for c in axes.collections if isinstance(c, LineCollection) for s in c.get_segments()]
    segments: list[Any] = [*itertools.pairwise(line), *bars]
    lines = [Bbox(axes.transData.transform(ends)).padded(1).extents for ends in segments]
    inside = np.array(axes.get_window_extent().extents)
    written, unwritten = list[Floats](), list[str]()
    for n in sorted(range(len(names)), key=lambda n: not first[n]):
        if not names[n]:
            continue
        note = axes.annotate(
            wrapped(names[n], _NAME), places[n], (0, 0), textcoords="offset points",
            arrowprops=_ARROW, **_STYLE,
        )  # fmt: skip
        box = Text.get_window_extent(note)
        half = np.array([box.width, box.height]) / 2 / pixels + 0.7
        # The point of the box's edge that is next to the mark is `reach` away from it.
        shifts = _TOWARD * _REACH[:, None] + half * _SIDE
        middles = marks[n] + shifts * pixels
        boxes = np.concatenate([middles - half * pixels, middles + half * pixels], axis=1)
        outside = (boxes[:, :2] < inside[:2]).any(axis=1) | (boxes[:, 2:] > inside[2:]).any(axis=1)
        near, far = boxes[:, None, :2] - marks, marks - boxes[:, None, 2:]
        # (places, marks)
        distances = np.hypot(*np.maximum(np.maximum(near, far), 0).transpose(2, 0, 1))
        nearer = np.delete(distances < distances[:, n : n + 1] + 1.5 * pixels, n, axis=1)
        has_leader = _REACH > _NEAR
        cost = (
            _LABEL * (outside + _hidden(boxes, written))
            + _HIDDEN_MARK * _hidden(boxes, dots)
            + _AMBIGUOUS * (nearer.any(axis=1) & ~has_leader)
            + _LEADER * has_leader
            + _LINE * _hidden(boxes, lines)
            + _REACH
        )
        best = int(cost.argmin())
        if cost[best] >= _LABEL:
            note.remove()
            unwritten.append(names[n])
            continue
        written.append(boxes[best])
        note.set_position(tuple(shifts[best]))
        leader: Any = note.arrow_patch
        leader.set_visible(has_leader[best])
    return unwritten


def _hidden(boxes: Floats, others: Any) -> NDArray[np.int64]:
    """How many others (m, 4) each of the boxes (n, 4) overlaps: (n,)."""
    other_boxes = np.array([*others], dtype=float).reshape(-1, 4)
    lower, upper = boxes[:, None, :2] < other_boxes[:, 2:], boxes[:, None, 2:] > other_boxes[:, :2]
    return np.asarray((lower & upper).all(axis=2).sum(axis=1))

"""Labels next to their marks: each moves around its mark to the place that hides least."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from featbert.report.figures.style import FAINT, INK, SMALL, wrapped
from featbert.units import visible

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
_ROUNDS = 3
# Cost of a place for each thing hidden by the label. A point of distance costs `_FAR`.
_LABEL, _HIDDEN_MARK, _AMBIGUOUS, _CROSSING = 1e4, 300.0, 200.0, 150.0
_STEP, _BAR, _FAR = 20.0, 20.0, 1.0


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
    vertical_bars = [
        segment
        for collection in axes.collections
        if isinstance(collection, LineCollection)
        for segment in collection.get_segments()
    ]
    steps, bars = (
        [Bbox(axes.transData.transform(ends)).padded(1).extents for ends in segments]
        for segments in (itertools.pairwise(line), vertical_bars)
    )
    inside = np.array(axes.get_window_extent().extents)
    candidates = {
        n: _candidates(axes, name, place, mark, pixels)
        for n, (name, place, mark) in enumerate(zip(names, places, marks, strict=True))
        if name
    }
    squares = np.concatenate([marks - _MARK * pixels, marks + _MARK * pixels], axis=1)

    def fixed_cost(n: int) -> Floats:
        """(candidates,) cost of the places of a label apart from other labels."""
        _, boxes, reaches, _ = candidates[n]
        outside = (boxes[:, :2] < inside[:2]).any(axis=1) | (boxes[:, 2:] > inside[2:]).any(axis=1)
        near, far = boxes[:, None, :2] - marks, marks - boxes[:, None, 2:]
        # (candidates, marks)
        distances = np.hypot(*np.maximum(np.maximum(near, far), 0).transpose(2, 0, 1))
        nearer = np.delete(distances < distances[:, n : n + 1] + 1.5 * pixels, n, axis=1)
        cost: Floats = (
            _LABEL * outside
            + _HIDDEN_MARK * _overlaps(boxes, squares).sum(axis=1)
            + _AMBIGUOUS * (nearer.any(axis=1) & (reaches == _NEAR))
            + _CROSSING / 5 * (reaches > _NEAR)
            + _STEP * _overlaps(boxes, steps).sum(axis=1)
            + _BAR * _overlaps(boxes, bars).sum(axis=1)
            + _FAR * reaches
        )
        return cost

    fixed_costs = {n: fixed_cost(n) for n in candidates}
    distances = np.hypot(*(marks[:, None] - marks).transpose(2, 0, 1))
    crowds = (distances < 40 * pixels).sum(axis=1)
    order = sorted(candidates, key=lambda n: (not first[n], -int(crowds[n])))
    chosen: dict[int, int] = {}
    for n in order * _ROUNDS:
        _, boxes, reaches, _ = candidates[n]
        label_boxes = [candidates[m][1][c] for m, c in chosen.items() if m != n]
        leaders = [
            (marks[m], _middle(candidates[m][1][c]))
            for m, c in chosen.items()
            if m != n and candidates[m][2][c] > _NEAR
        ]
        cost = fixed_costs[n] + _LABEL * _overlaps(boxes, label_boxes).sum(axis=1)
        in_between = np.array([*label_boxes, *np.delete(squares, n, axis=0)]).reshape(-1, 4)
        best = np.flatnonzero(cost < cost.min() + 2 * _CROSSING)
        cost[best] += _CROSSING * sum(_on_line(*leader, boxes[best]) for leader in leaders)
        for c in best[reaches[best] > _NEAR]:
            to_label = marks[n], _middle(boxes[c])
            crossed = sum(_cross(*to_label, *leader) for leader in leaders)
            cost[c] += _CROSSING * (_on_line(*to_label, in_between).sum() + crossed)
        chosen[n] = int(cost.argmin())
    unwritten = []
    written: list[Floats] = []
    for n in order:
        notes, boxes, reaches, shifts = candidates[n]
        choice = chosen[n]
        box = boxes[choice]
        if _overlaps(box[None], written).any() or fixed_costs[n][choice] >= _LABEL:
            unwritten.append(names[n])
            continue
        written.append(box)
        _write(axes, notes[choice], places[n], shifts[choice], leader=reaches[choice] > _NEAR)
    return unwritten


def _write(
    axes: Axes, text: str, place: tuple[float, float], shift: Any, *, leader: bool = False
) -> Annotation:
    line = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
    return axes.annotate(
        text,
        place,
        (float(shift[0]), float(shift[1])),
        textcoords="offset points",
        ha="center",
        va="center",
        size=SMALL,
        color=INK,
        arrowprops=line if leader else None,
        zorder=5,
    )


def _candidates(
    axes: Axes, name: str, place: tuple[float, float], mark: Floats, pixels: float
) -> tuple[list[str], Floats, Floats, Floats]:
    """Texts, boxes in pixels (n, 4), distances and shifts (n, 2) in points of a mark's labels."""
    texts, boxes, shifts = list[str](), [], []
    for text in dict.fromkeys([visible(name), wrapped(name, _NAME)]):
        note = _write(axes, text, place, (0, 0))
        extent = note.get_window_extent()
        note.remove()
        half = np.array([extent.width, extent.height]) / 2 / pixels + 0.7
        # The point of the box's edge that is next to the mark is `reach` away from it.
        shifts.append(_TOWARD * _REACH[:, None] + half * _SIDE)
        middles = mark + shifts[-1] * pixels
        boxes.append(np.concatenate([middles - half * pixels, middles + half * pixels], axis=1))
        texts += [text] * len(_REACH)
    return texts, np.concatenate(boxes), np.tile(_REACH, len(boxes)), np.concatenate(shifts)


def _overlaps(boxes: Floats, others: Any) -> NDArray[np.bool_]:
    """Whether boxes (n, 4) and others (m, 4) overlap: (n, m)."""
    other_boxes = np.array([*others], dtype=float).reshape(-1, 4)
    lower, upper = boxes[:, None, :2] < other_boxes[:, 2:], boxes[:, None, 2:] > other_boxes[:, :2]
    return np.asarray((lower & upper).all(axis=2))


def _middle(box: Floats) -> Floats:
    return (box[:2] + box[2:]) / 2


def _on_line(start: Floats, end: Floats, boxes: Floats) -> NDArray[np.bool_]:
    """Whether a line from a mark to its label touches boxes (n, 4): (n,)."""
    points = start + np.linspace(0, 1, 24)[:, None] * (end - start)
    return np.asarray(_overlaps(np.concatenate([points, points], axis=1), boxes).any(axis=0))


def _cross(a: Floats, b: Floats, c: Floats, d: Floats) -> bool:
    """Whether the lines from a to b and from c to d cross."""

    def turn(p: Floats, q: Floats, r: Floats) -> float:
        return float((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]))

    return turn(a, b, c) * turn(a, b, d) < 0 and turn(c, d, a) * turn(c, d, b) < 0

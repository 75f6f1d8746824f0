"""Where labels of points go: near their points, on no other label, point or line.

Plain geometry in inches; nothing is drawn. A box is (left, bottom, right, top).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]
Box: TypeAlias = tuple[float, float, float, float]

_STEP = 0.05  # from one ring of places to the next
_AROUND = 24  # places on a ring


def place_labels(
    points: Sequence[Point],
    sizes: Sequence[tuple[float, float]],
    *,
    room: tuple[float, float],
    taken: Sequence[Box],
    near: float,
    reach: float,
) -> list[Box | None]:
    """A box for each label, the first labels before later ones; None where none is free.

    Args:
        points: what each label belongs to.
        sizes: (width, height) of each label.
        room: (width, height) that labels stay within.
        taken: what no label may touch.
        near: from a point to the nearest edge of its label, at least.
        reach: the same at most.
    """
    full = list(taken)
    placed: list[Box | None] = []
    for point, size in zip(points, sizes, strict=True):
        box = _free(point, size, room, full, near, reach)
        placed.append(box)
        if box is not None:
            full.append(box)
    return placed


def box_around(point: Point, half: float) -> Box:
    """A square about a point."""
    return point[0] - half, point[1] - half, point[0] + half, point[1] + half


def nearest_on(box: Box, point: Point) -> Point:
    """The place of a box that is nearest to a point."""
    return min(max(point[0], box[0]), box[2]), min(max(point[1], box[1]), box[3])


def _free(
    point: Point,
    size: tuple[float, float],
    room: tuple[float, float],
    full: Sequence[Box],
    near: float,
    reach: float,
) -> Box | None:
    """The first free box on rings around the point, the right and the left of each first."""
    width, height = size
    distance = near
    while distance <= reach:
        for turn in range(_AROUND):
            # 0, then to both sides of it: 1, -1, 2, -2, ...
            angle = math.tau * ((turn + 1) // 2) * (1 if turn % 2 else -1) / _AROUND
            across, up = math.cos(angle), math.sin(angle)
            x = point[0] + across * distance + (across - 1) * width / 2
            y = point[1] + up * distance + (up - 1) * height / 2
            box = (x, y, x + width, y + height)
            if _within(box, room) and not any(_overlap(box, other) for other in full):
                return box
        distance += _STEP
    return None


def _within(box: Box, room: tuple[float, float]) -> bool:
    return box[0] >= 0 and box[1] >= 0 and box[2] <= room[0] and box[3] <= room[1]


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]

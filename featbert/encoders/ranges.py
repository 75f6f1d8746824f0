"""Runs of consecutive numbers, one after another, without a loop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def ranges(starts: Ints, sizes: Ints) -> Ints:
    """Concatenated ranges start .. start + size - 1, without a loop."""
    total = np.cumsum(sizes)
    begin = np.repeat(starts - (total - sizes), sizes)
    return begin + np.arange(total[-1] if len(total) else 0)

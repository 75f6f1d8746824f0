"""Length buckets under a token budget: the one way batches of sequences are formed.

Padding is the work that nobody asked for. Sequences are sorted by length and cut so that
rows times longest row stays within the budget; a sequence longer than the budget goes alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def length_batches(lengths: NDArray[np.int64], token_budget: int) -> Iterator[NDArray[np.int64]]:
    """Indices of `lengths`, longest first, in batches of at most `token_budget` padded tokens.

    The order depends on the lengths alone (ties keep their order), so equal input gives equal
    batches on every machine.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        rows = max(1, int(token_budget // max(1, int(lengths[order[start]]))))
        yield order[start : start + rows]
        start += rows


def padded_tokens(lengths: NDArray[np.int64]) -> int:
    """Tokens of sequences of these lengths as one batch: rows times longest row."""
    return len(lengths) * int(lengths.max(initial=0))

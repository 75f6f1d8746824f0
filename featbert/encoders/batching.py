"""Batches of sequences: length buckets under a token budget, smaller where memory is short."""

from collections.abc import Callable, Iterable, Iterator
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from featbert.errors import memory_lack, out_of_memory
from featbert.progress import notice

Ints = NDArray[np.int64]


def length_batches(lengths: Ints, token_budget: int) -> Iterator[Ints]:
    """Indices of `lengths`, longest first, in batches of at most `token_budget` padded tokens.

    A sequence that is longer is a batch of its own.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        rows = max(1, int(token_budget // max(1, int(lengths[order[start]]))))
        yield order[start : start + rows]
        start += rows


def padded_tokens(lengths: Ints) -> int:
    """Tokens of sequences of these lengths as one batch: rows times longest row."""
    return len(lengths) * int(lengths.max(initial=0))


def ranges(starts: Ints, sizes: Ints) -> Ints:
    """Concatenated ranges start .. start + size - 1, without a loop."""
    total = np.cumsum(sizes)
    begin = np.repeat(starts - (total - sizes), sizes)
    return begin + np.arange(total[-1] if len(total) else 0)


class TokenBudget:
    """The most padded tokens per batch, in extraction and prediction.

    If a batch does not fit in memory, it and all later ones are cut to half its tokens, once. The
    results are equal up to rounding. If half does not fit either, the error is raised.
    """

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self._halved = False
        self._lock = Lock()

    def compute_parts(
        self,
        batch: Ints,
        compute: Callable[[Ints], None],
        *,
        size: Callable[[Ints], int],
        cut: Callable[[Ints, int], Iterable[Ints]],
    ) -> None:
        """Computes a batch, in parts if it does not fit. Threads may share the budget.

        Args:
            compute: gets the rows of a part, and may get a row twice.
            size: padded tokens of a batch.
            cut: parts of a batch with at most a number of padded tokens.
        """
        halved = self._halved
        parts = cut(batch, self.tokens) if halved else (batch,)
        try:
            for part in parts:
                compute(part)
        except (RuntimeError, MemoryError) as error:
            if halved or not out_of_memory(error):
                raise
            reason = memory_lack(error)
        else:
            return
        # After the block, where the error no longer holds the batch.
        from featbert.encoders.memory import give_back

        give_back()
        with self._lock:
            if not self._halved:
                tokens = size(batch)
                self.tokens, self._halved = max(1, min(tokens, self.tokens) // 2), True
                notice(
                    f"a batch of {tokens:,} padded tokens does not fit ({reason}); later ones "
                    f"have at most {self.tokens:,}"
                )
        for part in cut(batch, self.tokens):
            compute(part)

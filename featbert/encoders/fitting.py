"""Batches that memory does not hold: computed again at half the size, once.

The token budgets suit most machines. Where a batch does not fit all the same, it and all later ones
are cut to half its padded tokens; where such a one does not fit either, that is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from featbert.encoders.batching import length_batches, padded_tokens
from featbert.encoders.memory import give_back
from featbert.errors import memory_lack, out_of_memory
from featbert.progress import notice

T = TypeVar("T")
Ints = NDArray[np.int64]


class TokenBudget:
    """Padded tokens that a batch may have, halved at most once.

    Attributes:
        tokens: of a batch, from now on.
        halved: whether they were halved.
    """

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.halved = False

    @property
    def halved_to(self) -> int:
        """Tokens that it was halved to; 0 where it was not."""
        return self.tokens if self.halved else 0

    def halve_to(self, tokens: int) -> None:
        """Goes on as where it was halved before, in a process that was interrupted."""
        self.tokens, self.halved = min(self.tokens, tokens), True

    def attempt(self, compute: Callable[[int], T], largest: Callable[[], int]) -> T:
        """What `compute` gives within the budget, or at the second attempt within half of it.

        Args:
            compute: is given the padded tokens that a batch may have. What it did before it failed
                must not show when it is called again.
            largest: padded tokens of the largest batch that `compute` forms.

        Raises:
            RuntimeError: out of memory (torch's, or MemoryError) where it is halved already.
        """
        try:
            return compute(self.tokens)
        except (RuntimeError, MemoryError) as error:
            if self.halved or not out_of_memory(error):
                raise
            lack = memory_lack(error)
        # Here what the error held of the batch is free.
        give_back()
        found = largest()
        self.tokens, self.halved = max(1, min(found, self.tokens) // 2), True
        notice(
            f"a batch of {found:,} padded tokens does not fit ({lack}); from here on they have "
            f"{self.tokens:,} at most"
        )
        return compute(self.tokens)

    def attempt_lengths(self, lengths: Ints, compute: Callable[[Ints], None]) -> None:
        """Computes sequences of these lengths in length buckets, in smaller ones where it must.

        Args:
            compute: is given the numbers of a bucket's sequences.
        """
        for bucket in length_batches(lengths, self.tokens):
            self.attempt_parts(
                bucket,
                compute,
                size=lambda rows: padded_tokens(lengths[rows]),
                cut=lambda rows, tokens: (rows[r] for r in length_batches(lengths[rows], tokens)),
            )

    def attempt_parts(
        self,
        batch: Ints,
        compute: Callable[[Ints], None],
        *,
        size: Callable[[Ints], int],
        cut: Callable[[Ints, int], Iterable[Ints]],
    ) -> None:
        """A batch as a whole, or in parts where it does not fit.

        Args:
            batch: numbers of its rows.
            compute: is given those of a part.
            size: padded tokens of a part.
            cut: parts of at most so many padded tokens.
        """

        def in_parts(tokens: int) -> None:
            for part in cut(batch, tokens) if self.halved else (batch,):
                compute(part)

        self.attempt(in_parts, lambda: size(batch))


def halved_budgets(budgets: Mapping[str, TokenBudget]) -> dict[str, int]:
    """Tokens that some of the budgets were halved to, by name."""
    return {name: budget.halved_to for name, budget in budgets.items() if budget.halved}

"""Which sentences make a step: shuffled length buckets, equal for both approaches.

The batches depend on sentence lengths in words, the batch size, the seed and the epoch alone;
nothing of the approach enters, so both see the same sentences in the same steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Sentences are sorted by length within pools of this many batches, after shuffling.
POOL_BATCHES = 16


def epoch_batches(
    lengths: NDArray[np.int64], batch_size: int, *, seed: int, epoch: int
) -> list[NDArray[np.int64]]:
    """Sentence ids of each step of an epoch; every sentence once.

    Args:
        lengths: (S,) words of each sentence.
        epoch: from 1.
    """
    random = np.random.default_rng([seed, epoch])
    shuffled = random.permutation(len(lengths))
    pool = POOL_BATCHES * batch_size
    batches = [
        part
        for start in range(0, len(shuffled), pool)
        for part in _cut(shuffled[start : start + pool], lengths, batch_size)
    ]
    return [batches[i] for i in random.permutation(len(batches))]


def _cut(
    pool: NDArray[np.int64], lengths: NDArray[np.int64], batch_size: int
) -> list[NDArray[np.int64]]:
    by_length = pool[np.argsort(lengths[pool], kind="stable")]
    return [by_length[i : i + batch_size] for i in range(0, len(by_length), batch_size)]

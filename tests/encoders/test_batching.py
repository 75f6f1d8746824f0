"""Batches by length under a token budget."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from featbert.encoders.batching import length_batches


@given(st.lists(st.integers(0, 60), max_size=80), st.integers(1, 100))
@example([0, 0], 1)
def test_every_index_once_within_the_budget_longest_first(lengths, budget):
    lengths = np.array(lengths, dtype=np.int64)
    batches = list(length_batches(lengths, budget))
    flat = [int(i) for batch in batches for i in batch]
    # An independent order: sorted() is stable too.
    assert flat == sorted(range(len(lengths)), key=lambda i: -lengths[i])
    for batch in batches:
        assert len(batch) == 1 or len(batch) * lengths[batch].max() <= budget


@given(st.lists(st.integers(1, 60), min_size=2, max_size=80), st.integers(1, 100))
def test_no_batch_could_take_the_next_sequence(lengths, budget):
    lengths = np.array(lengths)
    for batch in list(length_batches(lengths, budget))[:-1]:
        assert (len(batch) + 1) * lengths[batch].max() > budget


def test_padding_is_small():
    lengths = np.random.default_rng(0).integers(1, 40, size=500)
    batches = list(length_batches(lengths, 256))
    padded = sum(len(b) * lengths[b].max() for b in batches)
    assert padded < 1.1 * lengths.sum()
    in_order = sum(6 * lengths[i : i + 6].max() for i in range(0, 500, 6))
    assert in_order > 1.5 * lengths.sum()

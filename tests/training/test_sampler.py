"""Which sentences make a step: the same for both approaches, and the same for a seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featbert.training.sampler import POOL_BATCHES, epoch_batches

LENGTHS = st.lists(st.integers(1, 50), min_size=1, max_size=200).map(np.array)


def batches(lengths, size=4, seed=1, epoch=1) -> list[list[int]]:
    return [b.tolist() for b in epoch_batches(np.array(lengths), size, seed=seed, epoch=epoch)]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(LENGTHS, st.integers(1, 20), st.integers(0, 2**31), st.integers(1, 9))
def test_every_sentence_once_an_epoch(lengths, size, seed, epoch):
    found = batches(lengths, size, seed, epoch)
    assert sorted(s for batch in found for s in batch) == list(range(len(lengths)))
    # As many steps as the schedule counts, so that the rate ends at 0.
    assert len(found) == -(-len(lengths) // size)
    assert all(1 <= len(batch) <= size for batch in found)
    assert sum(len(batch) < size for batch in found) <= 1


@settings(max_examples=30, deadline=None, derandomize=True)
@given(LENGTHS, st.integers(1, 20), st.integers(0, 2**31), st.integers(1, 9))
def test_the_same_for_the_same_seed_whatever_else_was_drawn(lengths, size, seed, epoch):
    first = batches(lengths, size, seed, epoch)
    np.random.default_rng().normal(size=3)
    np.random.seed(epoch)
    assert batches(list(lengths), size, seed, epoch) == first


def test_another_order_each_epoch_and_seed():
    lengths = np.random.default_rng(0).integers(1, 30, size=200)
    drawn = [batches(lengths, 4, seed, epoch) for seed in (1, 2) for epoch in (1, 2)]
    assert len({str(d) for d in drawn}) == 4
    # ... in what stands together, not only in the order of steps
    assert len({str(sorted(map(sorted, d))) for d in drawn}) == 4


def test_sentences_of_a_batch_are_of_like_length():
    lengths = np.random.default_rng(0).integers(1, 50, size=16 * POOL_BATCHES)
    padded = sum(max(lengths[b]) * len(b) for b in batches(lengths, 16))
    assert padded < 1.1 * lengths.sum()
    # and steps do not come in order of length
    means = [lengths[b].mean() for b in batches(lengths, 16)]
    assert means != sorted(means)
    assert means != sorted(means, reverse=True)


def test_pinned():
    """A change of this order changes every number that was ever measured: make it knowingly."""
    assert batches([3, 1, 4, 1, 5, 9, 2, 6], 3, seed=1, epoch=1) == [[7, 5], [0, 2, 4], [1, 3, 6]]


@pytest.mark.parametrize("size", [1, 200])
def test_one_sentence_a_step_and_all_in_one(size):
    found = batches(list(range(1, 101)), size)
    assert len(found) == (100 if size == 1 else 1)

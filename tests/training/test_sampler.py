"""Which sentences make a step: the same for both approaches, and the same for a seed."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from featbert.training.sampler import count_steps, pass_batches

LENGTHS = st.lists(st.integers(1, 50), min_size=1, max_size=200).map(np.array)


def batches(lengths, size=4, seed=1, number=1) -> list[list[int]]:
    return [b.tolist() for b in pass_batches(np.array(lengths), size, seed=seed, number=number)]


@settings(max_examples=60)
@given(LENGTHS, st.integers(1, 20), st.integers(0, 2**31), st.integers(1, 9))
def test_every_sentence_once_a_pass(lengths, size, seed, number):
    found = batches(lengths, size, seed, number)
    assert sorted(s for batch in found for s in batch) == list(range(len(lengths)))
    # As many steps as the schedule counts, so that the rate ends at 0.
    assert len(found) == -(-len(lengths) // size)
    assert all(1 <= len(batch) <= size for batch in found)
    assert sum(len(batch) < size for batch in found) <= 1


def test_another_order_each_pass_and_seed():
    lengths = np.random.default_rng(0).integers(1, 30, size=200)
    drawn = [batches(lengths, 4, seed, number) for seed in (1, 2) for number in (1, 2)]
    assert len({str(d) for d in drawn}) == 4
    # ... in what stands together, not only in the order of steps
    assert len({str(sorted(map(sorted, d))) for d in drawn}) == 4


def test_pinned():
    """A change of this order changes every number that was ever measured: make it knowingly."""
    assert batches([3, 1, 4, 1, 5, 9, 2, 6], 3, seed=1, number=1) == [[7, 5], [0, 2, 4], [1, 3, 6]]


DOCUMENTS = st.lists(st.integers(1, 40), min_size=1, max_size=60).map(
    lambda sizes: np.repeat(np.arange(len(sizes)), sizes)
)


@settings(max_examples=60)
@given(DOCUMENTS, st.integers(1, 20), st.integers(0, 2**31))
def test_by_document_every_sentence_once_in_runs_of_neighbours(documents, size, seed):
    lengths = np.ones(len(documents), dtype=np.int64)
    found = pass_batches(lengths, size, seed=seed, number=2, documents=documents)
    assert sorted(np.concatenate(found).tolist()) == list(range(len(documents)))
    assert all(1 <= len(batch) <= size for batch in found)
    runs = 1 + sum(int((np.diff(batch) != 1).sum()) for batch in found) + len(found) - 1
    whole = sum(-(-n // size) for n in np.bincount(documents))
    assert runs <= whole  # no document is cut more often than a batch's size demands
    one, two = (
        count_steps(lengths, size, seed=seed, passes=n, documents=documents) for n in (1, 2)
    )
    assert two - one == len(found)


def test_by_document_batches_are_nearly_full_and_change_by_pass():
    random = np.random.default_rng(3)
    documents = np.repeat(np.arange(300), random.integers(1, 25, size=300))
    lengths = np.ones(len(documents), dtype=np.int64)
    draws = [
        pass_batches(lengths, 16, seed=1, number=number, documents=documents) for number in (1, 2)
    ]
    assert len(draws[0]) < 1.3 * len(documents) / 16  # documents of 9 to 16 stand alone
    mates = [{tuple(sorted(batch.tolist())) for batch in draw} for draw in draws]
    assert len(mates[0] & mates[1]) < 0.7 * len(mates[0])


def test_a_document_s_number_may_come_back_in_another_place():
    """Only neighbours make a document."""
    documents = np.array([0, 0, 1, 1, 0, 0])
    found = pass_batches(np.ones(6, dtype=np.int64), 2, seed=1, number=1, documents=documents)
    assert sorted(b.tolist() for b in found) == [[0, 1], [2, 3], [4, 5]]

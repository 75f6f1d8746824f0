"""Batches by length under a token budget."""

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from featbert.data.load import load_corpus
from featbert.encoders.batching import TokenBudget, length_batches, padded_tokens
from featbert.encoders.encoder import Encoder
from tests.features.support import extracted

LACK = "out of memory. Tried to allocate 2.00 GiB"


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
    for batch in batches[:-1]:  # it could not take the next sequence
        assert (len(batch) + 1) * max(1, lengths[batch].max()) > budget


def compute_buckets(budget, lengths, compute):
    def cut(rows, tokens):
        return [rows[part] for part in length_batches(lengths[rows], tokens)]

    for bucket in length_batches(lengths, budget.tokens):
        budget.compute_parts(bucket, compute, size=lambda r: padded_tokens(lengths[r]), cut=cut)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, MemoryError, RuntimeError])
def test_batches_that_do_not_fit_are_halved_once(error, caplog):
    lengths, done, tried = np.array([10] * 20), [], []

    def compute(rows):
        tried.append(padded_tokens(lengths[rows]))
        if tried[-1] > 60:
            raise error(LACK)
        done.extend(rows.tolist())

    budget = TokenBudget(95)
    compute_buckets(budget, lengths, compute)
    assert sorted(set(done)) == list(range(20))
    assert tried[0] == 90
    assert max(tried[1:]) <= budget.tokens == 45  # half of what did not fit
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(
    ("error", "tokens"), [(torch.OutOfMemoryError(LACK), 50), (RuntimeError("shapes differ"), 100)]
)
def test_what_does_not_fit_in_half_and_another_error_are_raised(error, tokens):
    def compute(rows):
        raise error

    budget = TokenBudget(100)
    for _ in range(2):
        with pytest.raises(type(error), match=str(error)):
            compute_buckets(budget, np.array([300, 10]), compute)
        assert budget.tokens == tokens  # a sequence longer than the budget does not raise it


def test_an_extraction_whose_batches_do_not_fit(workspace, tmp_path, tiny_bert, monkeypatch):
    """The same vectors but for rounding."""
    corpus = load_corpus(workspace.corpus)
    whole = extracted(corpus, tiny_bert, tmp_path / "whole")
    plain, refused = Encoder.hidden_states, []

    def small(encoder, batch, layers=None):
        if batch.ids.numel() > 200:
            refused.append(batch)
            raise torch.OutOfMemoryError(LACK)
        return plain(encoder, batch, layers)

    monkeypatch.setattr(Encoder, "hidden_states", small)
    store = extracted(corpus, tiny_bert, tmp_path / "halved", token_budget=360)
    assert refused
    for split in whole.splits:
        one, other = (s.read(split).astype(np.float32) for s in (whole, store))
        np.testing.assert_allclose(one, other, atol=2e-3)

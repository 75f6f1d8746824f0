"""Batches that memory does not hold are computed again at half the size, once."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from featbert.data.load import load_corpus
from featbert.encoders.encoder import Encoder
from featbert.encoders.fitting import TokenBudget
from featbert.features.extraction import extract
from featbert.progress import noticed_by

LACK = "out of memory. Tried to allocate 2.00 GiB"


@pytest.fixture
def notices():
    told = []
    with noticed_by(told.append):
        yield told


def computer(fits: int, tried: list[int], error: type[Exception] = torch.OutOfMemoryError):
    """Something that computes at most so many tokens at a time."""

    def compute(tokens: int) -> str:
        tried.append(tokens)
        if tokens > fits:
            raise error(LACK)
        return f"{tokens} tokens"

    return compute


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, MemoryError, RuntimeError])
def test_a_batch_that_does_not_fit_is_halved_and_tried_once_more(notices, error):
    budget, tried = TokenBudget(100), []
    assert budget.attempt(computer(60, tried, error), lambda: 90) == "45 tokens"
    assert tried == [100, 45]  # half of what was found, not of what was allowed
    assert (budget.tokens, budget.halved) == (45, True)
    assert notices == [
        "a batch of 90 padded tokens does not fit (out of memory, 2.00 GiB more could not be had); "
        "from here on they have 45 at most"
    ]
    assert budget.attempt(computer(60, tried, error), lambda: 45) == "45 tokens"
    assert len(notices) == 1


def test_a_sentence_larger_than_the_budget_does_not_raise_it(notices):
    budget = TokenBudget(100)
    with pytest.raises(torch.OutOfMemoryError):
        budget.attempt(computer(10, []), lambda: 300)
    assert budget.tokens == 50


def test_it_is_tried_again_once(notices):
    budget, tried = TokenBudget(100), []
    with pytest.raises(torch.OutOfMemoryError):
        budget.attempt(computer(10, tried), lambda: 100)
    assert tried == [100, 50]
    with pytest.raises(torch.OutOfMemoryError):
        budget.attempt(computer(10, tried), lambda: 50)
    assert tried == [100, 50, 50]


def test_another_error_is_none_of_its_business(notices):
    with pytest.raises(RuntimeError, match="shapes differ"):
        TokenBudget(100).attempt(
            lambda _: (_ for _ in ()).throw(RuntimeError("shapes differ")), int
        )
    assert notices == []


def test_an_extraction_whose_batches_do_not_fit(tmp_path, tiny_bert, notices, monkeypatch):
    """The same vectors but for rounding, in the same places, and the store says so."""
    whole = extract(
        load_corpus("sample"), str(tiny_bert), cache_dir=tmp_path / "whole", precision="fp32"
    )
    sizes, plain = [], Encoder.hidden_states

    def small(encoder, batch, layers=None):
        if batch.ids.numel() > 200:
            raise torch.OutOfMemoryError(LACK)
        sizes.append(batch.ids.numel())
        return plain(encoder, batch, layers)

    monkeypatch.setattr(Encoder, "hidden_states", small)
    done = []
    store = extract(
        load_corpus("sample"),
        str(tiny_bert),
        cache_dir=tmp_path / "halved",
        token_budget=360,
        precision="fp32",
        on_progress=lambda words, total: done.append((words, total)),
    )
    assert len(notices) == 1
    assert store.manifest.halved_to == max(sizes) <= 180
    assert whole.manifest.halved_to == 0
    assert done[-1] == (store.manifest.words, store.manifest.words)
    for split in whole.splits:
        one, other = (s.read(split, s.layers).astype(np.float32) for s in (whole, store))
        np.testing.assert_allclose(one, other, atol=2e-3)


LIMITED = """
import resource, sys
import torch
from featbert.data.load import load_corpus
from featbert.features.extraction import extract
from featbert.features.block_states import block_states
from featbert.progress import noticed_by

torch.set_num_threads(1)
corpus, model, cache = load_corpus("sample"), sys.argv[1], sys.argv[2]
extract(corpus, model, cache_dir=cache + "/first", device="cpu")  # what a process takes once
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (int(sys.argv[3]) << 20),) * 2)
told = []
with noticed_by(told.append):
    store = extract(corpus, model, cache_dir=cache, token_budget=1 << 20, device="cpu")
print(store.manifest.halved_to, *told, sep="\\n")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits a process as Linux does")
@pytest.mark.skipif("FEATBERT_SOAK" not in os.environ, reason="slow; make soak runs it")
def test_a_process_that_may_take_no_more(tmp_path):
    """No injected error: the system refuses a batch of the whole text, and half of it fits."""
    words = [sys.executable, "-c", LIMITED, "all-MiniLM-L6-v2", str(tmp_path), "650"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    halved, told = ended.stdout.splitlines()
    assert int(halved) > 0, ended.stderr
    assert "does not fit (out of memory, " in told

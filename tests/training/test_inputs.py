"""What the loop draws batches from: one shape for both approaches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from featbert.features.alignment import align
from featbert.features.encoder import load_encoder
from featbert.features.extraction import extract
from featbert.features.layers import parse_layers
from featbert.features.source import find_encoder
from featbert.features.store import StoreError
from featbert.training.inputs import FeatureInputs, PieceInputs
from tests.features.support import corpus_of, sentences_of

CPU = torch.device("cpu")
TEXTS = ["The quick fox .", "Jordan", "Hamilton rejects unaffordable " * 8, "EU x"]
ROWS = [t.split(" ") for t in TEXTS]
LENGTHS = [len(row) for row in ROWS]


@pytest.fixture(scope="module")
def source(encoder_folder):
    return find_encoder(str(encoder_folder("bert")))


@pytest.fixture(scope="module")
def store(source, tmp_path_factory):
    corpus = corpus_of(train=TEXTS, dev=TEXTS[:2])
    cache = tmp_path_factory.mktemp("cache")
    return extract(corpus, source, cache_dir=cache, layers=[1, 3], precision="fp32", device="cpu")


@pytest.fixture(scope="module")
def encoder(source):
    return load_encoder(source)


@pytest.mark.parametrize("sentences", [[0, 1, 2, 3], [3, 0], [2], [1, 1]])
def test_features_of_whole_sentences_in_the_order_asked(store, sentences):
    inputs = FeatureInputs(store, "train", parse_layers("concat:3,1", 3), CPU)
    assert inputs.costs.tolist() == LENGTHS
    batch = inputs.batch(np.array(sentences))
    held, offsets = store.read("train"), store.offsets("train")
    expected = np.concatenate([held[::-1, offsets[s] : offsets[s + 1]] for s in sentences], axis=1)
    assert batch.states.dtype == torch.float16  # as stored: half the memory
    np.testing.assert_array_equal(batch.states.numpy(), expected)
    assert batch.lengths.tolist() == [LENGTHS[s] for s in sentences]


def test_layers_that_the_store_lacks_are_refused(store):
    with pytest.raises(StoreError, match=r"hidden states 2 expected"):
        FeatureInputs(store, "train", parse_layers("layer:2", 3), CPU)


@pytest.mark.parametrize("context", ["sentence", "document"])
def test_costs_are_the_pieces_of_the_windows_that_a_sentence_is_read_from(encoder, context):
    sentences = sentences_of(TEXTS, [0, 0, 0, 1])
    alignment = align(sentences, encoder.wordpieces, positions=encoder.positions, context=context)
    inputs = PieceInputs(alignment, encoder, CPU)
    assert inputs.offsets.tolist() == np.cumsum([0, *LENGTHS]).tolist()
    for s in range(4):
        words = range(inputs.offsets[s], inputs.offsets[s + 1])
        windows = {
            v for v in range(len(alignment.windows)) for w in words
            if alignment.owned[v] <= w < alignment.owned[v + 1]
        }  # fmt: skip
        assert inputs.costs[s] == sum(
            alignment.windows[v, 1] - alignment.windows[v, 0] + 2 for v in windows
        )
        batch = inputs.batch(np.array([s]))
        assert len(batch.ids) == len(windows)  # no window is read that gives no word
        assert batch.n_words == LENGTHS[s]


def test_a_window_that_two_sentences_share_is_read_once(encoder):
    sentences = sentences_of(["fox", "dog", "EU"], [0, 0, 1])
    alignment = align(sentences, encoder.wordpieces, positions=40, context="document")
    batch = PieceInputs(alignment, encoder, CPU).batch(np.array([1, 0]))
    assert len(batch.ids) == 1
    assert batch.lengths.tolist() == [1, 1]
    assert batch.positions[0] > batch.positions[1]  # in the order of sentences asked for

"""What the loop draws batches from: one shape for both approaches."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from featbert.api import extract
from featbert.data.corpus import Sentence
from featbert.encoders.alignment import align
from featbert.encoders.layers import parse_layers
from featbert.encoders.loading import load_encoder
from featbert.encoders.source import find_encoder
from featbert.training import inputs as inputs_module
from featbert.training.inputs import GroupedInputs, PieceInputs, stored_inputs
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


@pytest.mark.parametrize("spec", ["concat:3,1", "layer:1"])
@pytest.mark.parametrize(
    ("splits", "chosen"),
    [
        (["train"], [0, 3]),
        (["train", "dev"], [1, 2, 5]),
        (["train"], None),
        (["dev", "train", "dev"], None),
    ],
)
@pytest.mark.parametrize("memory", [1 << 40, 1000])
def test_features_of_whole_sentences_in_the_order_asked(
    store, monkeypatch, spec, splits, chosen, memory
):
    """In memory no other vectors are kept; what it cannot hold is read from disk."""
    combination = parse_layers(spec, 3)
    lengths = np.concatenate([LENGTHS if name == "train" else LENGTHS[:2] for name in splits])
    states = np.concatenate([store.read(name, [*combination.indices]) for name in splits], axis=1)
    of_sentence = np.split(states, np.cumsum(lengths[:-1]), axis=1)
    monkeypatch.setattr(inputs_module, "available_memory", lambda: memory)
    numbers = None if chosen is None else np.array(chosen)
    inputs = stored_inputs(store, splits, combination, "words", CPU, chosen=numbers)
    chosen = list(range(len(lengths))) if chosen is None else chosen
    assert inputs.lengths.tolist() == lengths[chosen].tolist()
    assert inputs.offsets.tolist() == [0, *np.cumsum(lengths[chosen]).tolist()]
    assert isinstance(inputs.states, torch.Tensor) == (memory > 1000)
    if isinstance(inputs.states, torch.Tensor):
        assert inputs.states.shape[1] == inputs.offsets[-1]
    for sentences in (range(len(chosen)), [1], [1, 1], [len(chosen) - 1, 0]):
        expected = np.concatenate([of_sentence[chosen[s]] for s in sentences], axis=1)
        batch = inputs.batch(np.array(sentences))
        assert batch.dtype == torch.float16  # as stored: half the memory
        np.testing.assert_array_equal(batch.numpy(), expected)
    assert list(inputs.parts(np.zeros(0, dtype=np.int64), 100)) == []


def windows_of(alignment, s) -> set[int]:
    """Brute force: the windows that own a word of sentence s."""
    words = range(alignment.sentences[s], alignment.sentences[s + 1])
    return {
        v
        for v in range(len(alignment.windows))
        for w in words
        if alignment.owned[v] <= w < alignment.owned[v + 1]
    }


@pytest.mark.parametrize("context", ["sentence", "document"])
@pytest.mark.parametrize("budget", [1, 45, 100, 300, 10_000])
def test_parts_hold_each_sentence_once_within_the_budget(encoder, context, budget):
    """Documents of one window, of many, and of one sentence longer than a window."""
    random = np.random.default_rng(8)
    words = ["The", "quick", "fox", "Jordan", "Hamilton", "rejects", "unaffordable", "."]
    texts = [" ".join(random.choice(words, size=n)) for n in (3, 4, *[6] * 20, 60, 2)]
    sentences = sentences_of(texts, [0, 0, *[1] * 20, 2, 3])
    alignment = align(sentences, encoder.wordpieces, positions=40, context=context)
    inputs = PieceInputs(alignment, encoder, CPU)
    asked = np.random.default_rng(1).permutation(24)[:20]
    parts = list(inputs.parts(asked, budget))
    assert sorted(np.concatenate(parts).tolist()) == sorted(asked.tolist())
    for part in parts:
        windows = set().union(*(windows_of(alignment, s) for s in part))
        batch = inputs.batch(part)
        assert len(batch.ids) == len(windows)  # no window is read that gives no word
        assert batch.n_words == np.diff(alignment.sentences)[part].sum()
        assert batch.ids.numel() <= budget or len(part) == 1
    assert list(inputs.parts(asked[:0], budget)) == []
    # With room for them, a pass over a document computes each of its windows once.
    whole = sum(len(inputs.batch(part).ids) for part in inputs.parts(np.arange(24), 10_000))
    assert whole == len(alignment.windows)
    one_by_one = sum(len(windows_of(alignment, s)) for s in range(24))
    assert context == "sentence" or one_by_one > 1.3 * whole


@pytest.mark.parametrize("kind", ["features", "pooled", "pieces"])
@pytest.mark.parametrize("budget", [1, 8, 20, 60, 10_000])
def test_groups_are_batched_and_cut_whole(source, encoder, tmp_path, kind, budget):
    texts = [" ".join(["fox"] * n) for n in (1, 3, 2, 9, 1, 4, 4, 2, 6)]
    groups = np.array([0, 2, 5, 6, 9])
    if kind == "pieces":
        alignment = align(sentences_of(texts), encoder.wordpieces, positions=encoder.positions)
        single = PieceInputs(alignment, encoder, CPU)
    else:
        options = {"cache_dir": tmp_path, "precision": "fp32", "device": "cpu"}
        keep, reads = ("words", "words") if kind == "features" else ("pooled", "mean")
        store = extract(corpus_of(train=texts), source, keep=keep, **options)
        single = stored_inputs(store, ["train"], parse_layers("last", 3), reads, CPU)
    inputs = GroupedInputs(single, groups)
    assert inputs.offsets.tolist() == [0, 4, 16, 20, 32]
    parts = [part.tolist() for part in inputs.parts(np.array([3, 0, 2, 1]), budget)]
    assert sorted(number for part in parts for number in part) == [0, 1, 2, 3]
    for part, after in pairwise([*parts, []]):
        assert len(part) == 1 or inputs.tokens(np.array(part)) <= budget
        # No part could have taken the next group, too.
        assert not after or inputs.tokens(np.array([*part, after[0]])) > budget
    some = np.array([2, 0])
    assert inputs.sequences(some).tolist() == [5, 0, 1]
    layout = inputs.layout(some)
    assert layout.groups.tolist() == [1, 2]
    assert layout.lengths.tolist() == single.layout(np.array([5, 0, 1])).lengths.tolist()


@pytest.mark.parametrize("reads", ["words", "cls", "sequence"])
@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_a_text_beyond_the_budget_is_computed_in_parts(source, reads, pooling):
    """The same vectors and gradients, with no more tokens at once than the budget."""
    encoder = load_encoder(source, pooling=pooling)
    words = " ".join(["unaffordable Hamilton fox"] * 30).split(" ")
    sentences = [
        Sentence(("Jordan", "rejects", *words), pair=2),
        Sentence(("EU", "fox", "The", "quick"), pair=1),
    ]
    alignment = align(sentences, encoder.wordpieces, positions=40, packing="joint")
    inputs = PieceInputs(alignment, encoder, CPU, reads=reads)
    (part,) = [ids for ids in inputs.parts(np.arange(2), 100) if 0 in ids]
    read, computed = inputs.batch(part), []
    handle = encoder.model.register_forward_pre_hook(
        lambda module, args, named: computed.append(named["input_ids"].numel()), with_kwargs=True
    )
    found = []
    for batch in (read, inputs.batch(part, 100)):
        states = encoder(batch)
        states.square().sum().backward()
        gradients = [p.grad for p in encoder.parameters() if p.grad is not None]
        found.append([states.detach(), *(g.clone() for g in gradients)])
        encoder.zero_grad()
    handle.remove()
    torch.testing.assert_close(*found, atol=1e-4, rtol=1e-4)
    whole, *parts = computed
    assert whole > 200
    assert max(parts) <= 100
    with torch.inference_mode():
        torch.testing.assert_close(encoder(inputs.batch(part, 41)), encoder(read))

"""The keystone (promise 2): features and fine-tuning begin from the same states.

A tuned encoder, in eval mode and before any step, gives exactly the states that
the store holds, within the store's precision.
"""

import itertools

import numpy as np
import pytest
import torch

from featbert.api import extract
from featbert.data.corpus import Corpus, Sentence, Split
from featbert.encoders.alignment import align
from featbert.encoders.device import Device, autocast
from featbert.encoders.layers import parse_layers
from featbert.encoders.loading import load_encoder
from featbert.encoders.source import find_encoder
from featbert.training.inputs import PieceInputs, stored_inputs
from tests.features.support import TRAIN, corpus_of
from tests.models.support import TUNED, tuned
from tests.tiny_encoders import FAMILIES

CPU = torch.device("cpu")
# Half the spacing of float16 numbers; the rest is the rounding of float32 sums in another order.
TOLERANCE = {
    "float32": {"atol": 2e-5, "rtol": 1e-4},
    "float16": {"atol": 2e-5, "rtol": 2**-11 + 1e-4},
}


def pairs_of(corpus: Corpus) -> Corpus:
    """Two questions about each of its sentences."""
    pairs = tuple(
        Sentence((*question, *sentence.words), pair=len(question))
        for sentence in corpus["train"]
        for question in (("Who", "jumps", "?"), ("Who", "rejects", "lamb", "?"))
    )
    return Corpus("pairs", {"train": Split("train", pairs)}, targets=None)


@pytest.mark.parametrize(
    ("family", "reading", "pooling", "dtype"),
    [
        *((family, "sentence", None, "float16") for family in FAMILIES),
        *((family, "document", "mean", "float32") for family in ("roberta", "modernbert", "qwen3")),
        *itertools.product(["bert"], ["sentence", "document"], ["first", "last"], ["float32"]),
        *((family, "joint", "mean", "float32") for family in FAMILIES),
        *(("bert", "joint", "first", "float32"), ("qwen2", "joint", "last", "float32")),
        *((family, "apart", "mean", "float32") for family in ("bert", "llama")),
    ],
)
def test_both_approaches_begin_from_the_same_states(
    encoder_folder, tmp_path, monkeypatch, family, reading, pooling, dtype
):
    """Of words in a context, or of the first piece and the words of packed pairs."""
    monkeypatch.setattr("featbert.features.plan.BLOCK_WORDS", 10)
    corpus = corpus_of(train=TRAIN, documents={"train": [0, 0, 0, 1, 1, 1]})
    reads, how = "words", {"context": reading}
    if reading in ("joint", "apart"):
        corpus, reads, how = pairs_of(corpus), "sequence", {"packing": reading}
    sentences, folder = corpus["train"].sentences, str(encoder_folder(family))
    options = {"precision": "fp32", "store_dtype": dtype, "device": "cpu", "token_budget": 60}
    store = extract(corpus, folder, cache_dir=tmp_path, pooling=pooling or "auto", **how, **options)
    encoder = tuned(folder, pooling=pooling).eval().encoder
    alignment = align(sentences, encoder.wordpieces, positions=encoder.positions, **how)
    unit = "documents" if reading == "document" else "sentences"
    assert alignment.counts[f"windowed_{unit}"] >= 1
    pieces = PieceInputs(alignment, encoder, CPU, reads=reads)
    layers = encoder.num_layers
    combination = parse_layers(f"concat:0-{layers}", layers)
    features = stored_inputs(store, ["train"], combination, reads, CPU, sentences=sentences)
    assert pieces.offsets.tolist() == features.offsets.tolist()

    # Batches as the loop draws them: other sentences, in another order, than were extracted.
    for numbers in (np.array([5, 0, 1]), np.array([3]), np.array([4, 2])):
        stored = features.batch(numbers).numpy().astype(np.float32)
        batch = pieces.batch(numbers)
        with torch.inference_mode():
            found = torch.stack(encoder.hidden_states(batch)).numpy()
            last = encoder(batch).numpy()
        assert np.abs(stored).max() > 0.5
        np.testing.assert_allclose(stored, found, **TOLERANCE[dtype])
        np.testing.assert_allclose(stored[-1], last, **TOLERANCE[dtype])
        chosen = [sentences[number] for number in numbers]
        lengths = [len(s) if s.pair is None else [1 + s.pair, len(s) - s.pair] for s in chosen]
        for inputs in (pieces, features):
            assert inputs.layout(numbers).lengths.tolist() == lengths


@pytest.mark.parametrize("family", FAMILIES)
def test_every_tuning_begins_from_them(encoder_folder, tmp_path, family):
    """Whatever a way puts into the encoder changes no state before the first step."""
    corpus = corpus_of(train=TRAIN)
    folder = str(encoder_folder(family))
    options = {"precision": "fp32", "store_dtype": "float32", "device": "cpu"}
    stored = extract(corpus, folder, cache_dir=tmp_path, **options).read("train")
    for tuning in TUNED if family == "bert" else ("lora", "ia3"):  # these put something into it
        for given in [{}, {"dora": True, "target_modules": "all"}] if tuning == "lora" else [{}]:
            encoder = tuned(folder, tuning=tuning, **given).eval().encoder
            words = corpus["train"].sentences
            alignment = align(words, encoder.wordpieces, positions=encoder.positions)
            batch = PieceInputs(alignment, encoder, CPU).batch(np.arange(len(TRAIN)))
            with torch.inference_mode():
                found = torch.stack(encoder.hidden_states(batch)).numpy()
            np.testing.assert_allclose(stored, found, **TOLERANCE["float32"], err_msg=tuning)


@pytest.mark.parametrize("family", ["bert", "albert", "modernbert", "deberta-v3", "qwen3"])
def test_at_bf16_the_approaches_begin_close(encoder_folder, tmp_path, family):
    """A store comes from bf16 weights, fine-tuning from fp32 weights under bf16 autocast.

    The two are not the same states; each stays within bf16's eight bits of the fp32 ones, so they
    differ by no more than rounding does. bf16 without native instructions is slow, not another.
    """
    corpus = corpus_of(train=TRAIN)
    source = find_encoder(str(encoder_folder(family)))
    options = {"cache_dir": tmp_path, "store_dtype": "float32", "device": "cpu"}
    exact = extract(corpus, source, precision="fp32", **options).read("train")
    stored = extract(corpus, source, precision="bf16", **options).read("train")
    encoder = load_encoder(source)
    alignment = align(corpus["train"].sentences, encoder.wordpieces, positions=encoder.positions)
    batch = PieceInputs(alignment, encoder, CPU).batch(np.arange(len(TRAIN)))
    with torch.inference_mode(), autocast(Device("cpu", "a processor", 1), "bf16"):
        tuned = torch.stack([s.float() for s in encoder.hidden_states(batch)]).numpy()

    def distance(a, b) -> float:
        return float(np.linalg.norm(a - b) / np.linalg.norm(exact))

    assert 0 < distance(stored, exact) < 0.02
    assert 0 < distance(tuned, exact) < 0.02
    assert distance(stored, tuned) < 0.02

"""The baselines do featbert's work in another way: the same features, the same logits."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

from benchmarks.baselines.bilstm import StoredSentences, Tagger, collate
from benchmarks.baselines.extraction import extract_plainly
from benchmarks.baselines.finetuning import encoded
from benchmarks.baselines.loop import IGNORED, label_numbers
from featbert import extract, parse_layers
from featbert.encoders.alignment import align
from featbert.encoders.encoder import load_encoder
from featbert.encoders.source import find_encoder
from featbert.models.bilstm import BiLSTMTagger
from featbert.models.finetuned import FineTuneTagger
from featbert.training.inputs import FeatureInputs, PieceInputs
from featbert.training.settings import DEFAULTS
from tests.tiny_encoders import write_encoder

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def store(news, reader, tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    return extract(
        news, str(reader), cache_dir=cache, precision="fp32", dtype="float32", device="cpu"
    )


def test_the_same_features(news, reader, store, tmp_path) -> None:
    path = tmp_path / "plain.h5"
    words = extract_plainly(news, reader, path, dtype="float32")
    assert words == sum(split.n_words for split in news.splits.values())
    with h5py.File(path) as file:
        for split in news.splits:
            for layer in store.layers:
                found = file[f"{split}/{layer:02d}"][:]
                np.testing.assert_allclose(found, store.read(split, [layer])[0], atol=1e-5)


def test_the_same_vectors_and_logits_of_the_bilstm(news, store) -> None:
    combination = parse_layers("concat_last4", 4)
    settings = DEFAULTS["features"].but(lstm_size=8)
    labels = label_numbers(news)
    width = combination.width(store.manifest.hidden_size)
    torch.manual_seed(1)
    plain = Tagger(width, len(labels), settings).eval()
    ours = BiLSTMTagger(combination, store.manifest.hidden_size, len(labels), lstm_size=8).eval()
    ours.load_state_dict(plain.state_dict())
    sentences = np.array([3, 0, 7])
    inputs = FeatureInputs.of_store(store, "train", combination, CPU)
    with h5py.File(store.path) as file, torch.inference_mode():
        stored = StoredSentences(file, news["train"], combination.indices, labels)
        batch = collate([stored[int(i)] for i in sentences])
        logits = plain(batch["vectors"], batch["lengths"])
        words = batch["labels"] != IGNORED
        expected = ours(inputs.batch(sentences))
    torch.testing.assert_close(logits[words], expected, atol=1e-5, rtol=1e-4)
    tags = [tag for i in sentences for tag in news["train"].tags[i]]
    assert batch["labels"][words].tolist() == [labels[tag] for tag in tags]


def test_the_same_logits_of_fine_tuning(news, reader) -> None:
    labels = label_numbers(news)
    plain = AutoModelForTokenClassification.from_pretrained(
        reader, num_labels=len(labels), dtype=torch.float32
    ).eval()
    encoder = load_encoder(find_encoder(str(reader)))
    ours = FineTuneTagger(encoder, len(labels)).eval()
    ours.classifier.load_state_dict(plain.classifier.state_dict())
    dev = news["dev"]
    alignment = align(dev.sentences, encoder.wordpieces, positions=encoder.positions)
    inputs = PieceInputs(alignment, encoder, CPU)
    tokenizer = AutoTokenizer.from_pretrained(reader)
    with torch.inference_mode():
        for number, feature in enumerate(encoded(dev, tokenizer, labels, 512)):
            logits = plain(input_ids=torch.tensor([feature["input_ids"]])).logits[0]
            wanted = torch.tensor(feature["labels"]) != IGNORED
            expected = ours(inputs.batch(np.array([number])))
            torch.testing.assert_close(logits[wanted], expected, atol=1e-5, rtol=1e-4)


def test_words_that_are_cut_off_are_told(news, tmp_path) -> None:
    short = write_encoder(tmp_path / "short", layers=1, positions=12)
    words = extract_plainly(news, short, tmp_path / "plain.h5")
    assert 0 < words < sum(split.n_words for split in news.splits.values())

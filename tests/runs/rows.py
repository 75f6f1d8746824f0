"""Frozen and tuned runs of tasks whose answers belong to texts, and both before any step."""

from pathlib import Path

import torch

from featbert.config import RowsTable, Settings
from featbert.data.corpus import Corpus, Split
from featbert.encoders.alignment import align
from featbert.encoders.encoder import load_encoder
from featbert.encoders.layers import parse_layers
from featbert.encoders.source import EncoderSource
from featbert.features.store import FeatureStore
from featbert.models.model import Model, stored_model, tuned_model
from featbert.runs.run import Run
from featbert.runs.train import finetune, train
from featbert.training.inputs import Inputs, PieceInputs, stored_inputs

CPU = torch.device("cpu")
FP32 = {"device": "cpu", "precision": "fp32"}


def settings_of(tuning: str, task: str, **given) -> Settings:
    table = RowsTable(**({"epochs": 2, "lstm_size": 8, "learning_rate": 1e-2} | given))
    return table.settings(tuning, 4, task)


def frozen(
    store: FeatureStore, layers: str, corpus: Corpus, task: str, folder: Path, seed=1, **given
) -> Run:
    settings = settings_of("none", task, **given)
    options = {"corpus": corpus, "task": task, "seed": seed, "runs_dir": folder}
    return train(store, layers, settings=settings, **options, **FP32)


def tuned(
    model: str | EncoderSource, corpus: Corpus, task: str, folder: Path, seed=1, packing="joint",
    **given,
) -> Run:  # fmt: skip
    settings = settings_of("full", task, **given)
    options = {"task": task, "seed": seed, "packing": packing, "runs_dir": folder}
    return finetune(corpus, model, settings=settings, **options, **FP32)


def before_any_step(
    store: FeatureStore, source: EncoderSource, split: Split, task: str, packing=None, **given
) -> list[tuple[Model, Inputs]]:
    """One head, on the store's last layer and on the encoder that is tuned, and what each reads."""
    encoder = load_encoder(source)
    last = parse_layers("last", encoder.num_layers)
    heads = [settings_of(tuning, task, **given) for tuning in ("none", "full")]
    classes, texts = ("a", "b"), store.manifest.texts
    torch.manual_seed(0)
    stored = stored_model(last, encoder.hidden_size, classes, heads[0], texts).eval()
    torch.manual_seed(0)
    tuned = tuned_model(encoder, classes, heads[1], texts).eval()
    alignment = align(
        split.sentences, encoder.wordpieces, positions=encoder.positions, packing=packing
    )
    reads = heads[0].reads
    vectors = stored_inputs(store, [split.name], last, reads, CPU, texts=split.sentences)
    return [(stored, vectors), (tuned, PieceInputs(alignment, encoder, CPU, reads=reads))]

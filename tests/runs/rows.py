"""Frozen and tuned runs of tasks whose answers belong to texts."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from featbert.api import load
from featbert.config import RowsTable, Settings
from featbert.data.corpus import Corpus, Split
from featbert.encoders.source import EncoderSource
from featbert.features.store import FeatureStore
from featbert.runs.run import Run
from tests.features.support import FP32
from tests.workspace import finetune, train

CPU = torch.device("cpu")


def settings_of(tuning: str, task: str, **given) -> Settings:
    table = RowsTable(**({"epochs": 2, "lstm_size": 8, "learning_rate": 1e-2} | given))
    return table.settings_for(tuning, 4, task)


def frozen(
    store: FeatureStore, layers: str, corpus: Corpus, task: str, folder: Path, seed=1, **given
) -> Run:
    settings = settings_of("none", task, **given)
    options = {"data": corpus, "task": task, "seed": seed, "runs_dir": folder}
    return train(store, layers, settings=settings, **options, **FP32)


def tuned(
    model: str | EncoderSource, corpus: Corpus, task: str, folder: Path, seed=1, packing="joint",
    **given,
) -> Run:  # fmt: skip
    settings = settings_of("full", task, **given)
    options = {"task": task, "seed": seed, "packing": packing, "runs_dir": folder}
    return finetune(corpus, model, settings=settings, **options, **FP32)


def assert_answers_again(run: Run, split: Split) -> NDArray[np.float32]:
    """A loaded run gives the recorded answers of a split. Returns the shares of its classes."""
    loaded = load(run, device="cpu")
    answers, shares, _ = loaded.shares(loaded.inputs(split.sentences), split)
    assert answers == run.predictions(split.name).predicted
    return shares

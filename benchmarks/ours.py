"""featbert's side of every contest, by the steps that its commands take.

What a command does from its input to its result is inside the clock: hashing and loading the
encoder, tokenizing, reading features, writing and closing the store, scoring dev after each epoch.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from featbert.data.corpus import Corpus
from featbert.encoders.device import Device, Precision
from featbert.encoders.source import find_encoder
from featbert.features.extraction import extract
from featbert.features.store.reader import FeatureStore
from featbert.runs.labels import label_ids, tags_by_sentence
from featbert.runs.planning import (
    PlannedRun,
    RunOptions,
    plan_features_run,
    plan_finetune_run,
)
from featbert.runs.preparing import Prepared, prepare_features, prepare_finetune
from featbert.tasks.entities import TASK
from featbert.training.loop import fit, predict, prediction_flops
from featbert.training.settings import TrainingSettings


@dataclass(frozen=True)
class Extracted:
    """A finished store and the seconds from text to it."""

    seconds: float
    store: FeatureStore


@dataclass(frozen=True)
class Learned:
    """What training came to.

    Attributes:
        seconds: from store or text to the weights that were best on dev.
        epoch_seconds: of each epoch, as the history has them.
        dev_f1: of the best epoch; None where dev was not scored.
        flops: by shape, of training and of scoring dev.
        precision: that the tagger was trained in.
    """

    seconds: float
    epoch_seconds: list[float]
    dev_f1: float | None
    flops: float
    precision: str


def extract_once(
    corpus: Corpus,
    model: str,
    folder: Path,
    device: Device,
    *,
    precision: str,
    dtype: str = "float16",
    layers: Sequence[int] | None = None,
    token_budget: int | None = None,
) -> Extracted:
    """A new store in a folder of its own under `folder`; the caller removes it."""
    cache = tempfile.mkdtemp(dir=folder)
    started = time.perf_counter()
    store = extract(
        corpus,
        find_encoder(model),
        cache_dir=cache,
        precision=precision,
        dtype=dtype,
        layers=layers,
        device=device,
        token_budget=token_budget,
    )
    return Extracted(time.perf_counter() - started, store)


def train_bilstm(
    store: FeatureStore,
    corpus: Corpus,
    layers: str,
    settings: TrainingSettings,
    *,
    seed: int,
    device: Device,
    precision: str,
    score_dev: bool = True,
) -> Learned:
    """The BiLSTM tagger on a store of the corpus, from opening the store on."""
    started = time.perf_counter()
    store = FeatureStore(store.path)
    options = RunOptions(seed, settings, Path("runs"), device, precision)
    plan = plan_features_run(store.manifest, store.path, corpus, layers, options)
    return _learned(plan, prepare_features(plan, store, corpus), corpus, started, score_dev)


def finetune_encoder(
    corpus: Corpus,
    model: str,
    settings: TrainingSettings,
    *,
    seed: int,
    device: Device,
    precision: str,
    score_dev: bool = True,
) -> Learned:
    """The fine-tuned tagger, from loading the encoder on."""
    started = time.perf_counter()
    source = find_encoder(model)
    options = RunOptions(seed, settings, Path("runs"), device, precision)
    plan = plan_finetune_run(source, corpus, options, context="sentence", pooling="first")
    return _learned(plan, prepare_finetune(plan, source, corpus), corpus, started, score_dev)


def _learned(
    plan: PlannedRun, prepared: Prepared, corpus: Corpus, started: float, score_dev: bool
) -> Learned:
    tagger, dev = prepared.tagger, prepared.inputs["dev"]
    settings, device = plan.options.settings, plan.options.device
    precision = cast(Precision, plan.signature.training_precision)

    def scored() -> dict[str, float]:
        ids = predict(tagger, dev, settings, device=device, precision=precision)
        tags = tags_by_sentence(ids, prepared.labels, dev.offsets)
        return TASK.dev_values(corpus["dev"].tags, tags)

    fitted = fit(
        tagger,
        prepared.inputs["train"],
        label_ids(prepared.train, prepared.labels),
        settings,
        seed=plan.seed,
        score_dev=scored if score_dev else None,
        device=device,
        precision=precision,
    )
    seconds = time.perf_counter() - started
    scores = [row.dev_score for row in fitted.history if row.dev_score is not None]
    flops = fitted.flops + len(scores) * prediction_flops(tagger, dev, settings, device)
    return Learned(
        seconds,
        [row.seconds for row in fitted.history],
        max(scores, default=None),
        flops,
        precision,
    )

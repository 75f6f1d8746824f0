"""Runs of both approaches from Python: plan one, carry it out unless it is finished."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.encoders.device import find_device
from featbert.encoders.encoding import Casing, Context, Pooling
from featbert.encoders.source import DEFAULT_MODEL, EncoderSource, find_encoder
from featbert.features.store import FeatureStore
from featbert.runs.carrying_out import Listeners, run_features, run_finetune
from featbert.runs.folder import settle
from featbert.runs.planning import (
    PlannedRun,
    RunOptions,
    plan_features_run,
    plan_finetune_run,
)
from featbert.runs.run import Run
from featbert.training.settings import DEFAULTS, TrainingSettings

RUNS_DIR = Path("experiments/runs")


def train(
    store: FeatureStore | str | Path,
    layers: str = "concat_last4",
    *,
    corpus: Corpus | None = None,
    reading: Mapping[str, Any] | None = None,
    seed: int = 1,
    settings: TrainingSettings | None = None,
    tag_scheme: str = "bio",
    runs_dir: str | Path = RUNS_DIR,
    device: str = "auto",
    precision: str = "auto",
    experiment: str | None = None,
    vary: Sequence[str] = (),
    overwrite: bool = False,
    listeners: Listeners | None = None,
) -> Run:
    """A BiLSTM tagger on frozen features, trained, scored and recorded.

    A finished run of the same name (same text, tags, encoder, settings, seed) is returned as it
    is unless `overwrite`. Where `settings.train_on` is "train+dev", the same run on train alone
    is trained first, unless it is finished: its best epoch says how many to train.

    Args:
        layers: layer combination, such as "concat_last4", "last" or "weighted:0-6".
        corpus: the tagged text of the store; read from where the store says by default.
        reading: options that `corpus` was read with, kept in the record; the store's by default.
        settings: defaults to `DEFAULTS["features"]`.
        tag_scheme: of the labels it learns: "bio" or "iob1"; scores are of the same entities.
        experiment, vary: what an experiment file declares; kept in the record.

    Raises:
        RunBusyError: another process trains this run.
        FeatbertError: before any work for what can be known then; nothing half-written counts.
    """
    store = store if isinstance(store, FeatureStore) else FeatureStore(store)
    m = store.manifest
    corpus = corpus or load_corpus(m.source, **m.reading)
    options = RunOptions(
        seed,
        settings or DEFAULTS["features"],
        Path(runs_dir),
        find_device(device),
        precision,
        experiment,
        tuple(vary),
        m.reading if reading is None else reading,
        tag_scheme,
    )
    plan = plan_features_run(m, store.path, corpus, layers, options)

    def carry_out(planned: PlannedRun, overwrite: bool) -> Run:
        return run_features(planned, store, corpus, listeners, overwrite=overwrite)

    return _finished_or(plan, overwrite, carry_out)


def finetune(
    corpus: Corpus | str,
    model: str | EncoderSource = DEFAULT_MODEL,
    *,
    reading: Mapping[str, Any] | None = None,
    seed: int = 1,
    settings: TrainingSettings | None = None,
    context: Context = "sentence",
    casing: Casing = "original",
    pooling: Pooling = "first",
    tag_scheme: str = "bio",
    runs_dir: str | Path = RUNS_DIR,
    device: str = "auto",
    precision: str = "auto",
    experiment: str | None = None,
    vary: Sequence[str] = (),
    overwrite: bool = False,
    listeners: Listeners | None = None,
) -> Run:
    """The whole encoder fine-tuned with a linear classifier, scored and recorded; see `train`."""
    corpus = load_corpus(corpus) if isinstance(corpus, str) else corpus
    source = find_encoder(model) if isinstance(model, str) else model
    options = RunOptions(
        seed,
        settings or DEFAULTS["finetune"],
        Path(runs_dir),
        find_device(device),
        precision,
        experiment,
        tuple(vary),
        reading or {},
        tag_scheme,
    )
    plan = plan_finetune_run(
        source, corpus, options, context=context, casing=casing, pooling=pooling
    )

    def carry_out(planned: PlannedRun, overwrite: bool) -> Run:
        return run_finetune(planned, source, corpus, listeners, overwrite=overwrite)

    return _finished_or(plan, overwrite, carry_out)


def _finished_or(
    plan: PlannedRun, overwrite: bool, carry_out: Callable[[PlannedRun, bool], Run]
) -> Run:
    """The finished run, or the run carried out after the one whose epochs it takes."""
    settle(plan.folder)
    if not overwrite and (done := plan.finished) is not None:
        return done
    if plan.base is not None and plan.base.finished is None:
        carry_out(plan.base, False)
    return carry_out(plan, overwrite)

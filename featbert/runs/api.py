"""Runs from Python: plan one, and train it unless it is finished."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from featbert.config import Settings, defaults
from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.encoders.device import find_device
from featbert.encoders.encoding import Casing, Context, Encoding, Packing, Pooling
from featbert.encoders.source import DEFAULT_MODEL, EncoderSource, find_encoder
from featbert.features.store import FeatureStore
from featbert.runs.experiment import RUNS_DIR
from featbert.runs.planned import RunOptions, plan_stored_run, plan_tuned_run
from featbert.runs.run import Run
from featbert.runs.train import train_planned
from featbert.tasks.base import get_task, task_of


def train(
    store: FeatureStore | str | Path,
    layers: str = "concat_last4",
    *,
    corpus: Corpus | None = None,
    reading: Mapping[str, Any] | None = None,
    seed: int = 1,
    settings: Settings | None = None,
    task: str = "entities",
    tag_scheme: str = "bio",
    runs_dir: str | Path = RUNS_DIR,
    device: str = "auto",
    precision: str = "auto",
    overwrite: bool = False,
    log_dir: Path | None = None,
) -> Run:
    """A head on frozen features, trained, scored and recorded.

    A finished run of the same name (same text, targets, encoder, settings, seed) is returned as it
    is, unless `overwrite`. Where `settings.train_on` is "train+dev", the same run on train alone
    is trained first, unless it is finished: its best epoch is the number of epochs.

    Args:
        layers: layer combination, such as "concat_last4", "last" or "weighted:0-6".
        corpus: the text of the store with targets; read from where the store says by default.
        reading: options that `corpus` was read with, kept in the record; the store's by default.
        settings: defaults to `defaults("none")`.
        tag_scheme: of the labels that are learned; scores are of the same entities.
        log_dir: folder that the epochs are logged to (`log_folder`).

    Raises:
        BusyError: another process trains this run.
    """
    store = store if isinstance(store, FeatureStore) else FeatureStore(store)
    m = store.manifest
    task = task_of(task, m.source if corpus is None else corpus.source)
    corpus = corpus or load_corpus(m.source, targets=get_task(task).targets, **m.reading)
    options = RunOptions(
        seed,
        settings or defaults("none", task),
        Path(runs_dir),
        find_device(device),
        precision,
        reading=m.reading if reading is None else reading,
        task=task,
        tag_scheme=tag_scheme,
    )
    plan = plan_stored_run(m, store.path, corpus, layers, options)
    return train_planned(plan, store, corpus, overwrite=overwrite, log_dir=log_dir)


def finetune(
    corpus: Corpus | str,
    model: str | EncoderSource = DEFAULT_MODEL,
    *,
    reading: Mapping[str, Any] | None = None,
    seed: int = 1,
    settings: Settings | None = None,
    task: str = "entities",
    context: Context = "sentence",
    casing: Casing = "original",
    pooling: Pooling | Literal["auto"] = "auto",
    packing: Packing = "joint",
    tag_scheme: str = "bio",
    runs_dir: str | Path = RUNS_DIR,
    device: str = "auto",
    precision: str = "auto",
    overwrite: bool = False,
    log_dir: Path | None = None,
) -> Run:
    """An encoder that is tuned with a head on top, scored and recorded; see `train`.

    `settings` default to `defaults("full")`; their `tuning` says what is trained.
    """
    task = task_of(task, corpus if isinstance(corpus, str) else corpus.source)
    if isinstance(corpus, str):
        corpus = load_corpus(corpus, targets=get_task(task).targets)
    source = find_encoder(model) if isinstance(model, str) else model
    options = RunOptions(
        seed,
        settings or defaults("full", task),
        Path(runs_dir),
        find_device(device),
        precision,
        reading=reading or {},
        task=task,
        tag_scheme=tag_scheme,
    )
    encoding = Encoding(context=context, casing=casing, pooling=pooling, packing=packing)
    plan = plan_tuned_run(source, corpus, options, encoding)
    return train_planned(plan, source, corpus, overwrite=overwrite, log_dir=log_dir)

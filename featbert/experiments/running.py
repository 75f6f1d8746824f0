"""One run of either approach: the same steps from a tagger to a record.

    tagger, inputs ─▶ fit ─▶ best weights ─▶ predict dev and test once ─▶ scores ─▶ record

What the approaches do not share is in `train` and `finetune`: which tagger, which inputs. All
else is `_carry_out`, so the comparison varies nothing that it does not show.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from featbert.comparison import Run
from featbert.comparison.record import Cost, RunRecord
from featbert.comparison.runs import write_record
from featbert.data import Corpus, load_corpus
from featbert.data.conll_write import write_conll
from featbert.data.corpus import Split
from featbert.evaluation.scorer import entity_counts, prf, score
from featbert.evaluation.scores import PRF
from featbert.experiments.folder import (
    clean_run_folder,
    move_into_place,
    save_weights,
    working_folder,
    write_text,
)
from featbert.experiments.labels import label_ids, tags_by_sentence, train_labels
from featbert.experiments.planning import (
    PlannedRun,
    RunOptions,
    plan_features_run,
    plan_finetune_run,
)
from featbert.experiments.recording import (
    config_text,
    layer_indices,
    learned_mix,
    summed_counts,
)
from featbert.features.alignment import Context, align
from featbert.features.device import (
    Precision,
    find_device,
    peak_memory,
    reset_peak_memory,
)
from featbert.features.encoder import Pooling, load_encoder
from featbert.features.flops import TRAINING_FACTOR
from featbert.features.source import DEFAULT_MODEL, EncoderSource, find_encoder
from featbert.features.store import FeatureStore
from featbert.tagging.bilstm import BiLSTMTagger
from featbert.tagging.finetuned import FineTuneTagger
from featbert.training.history import Epoch
from featbert.training.inputs import FeatureInputs, Inputs, PieceInputs
from featbert.training.loop import fit, predict
from featbert.training.settings import DEFAULTS, TrainingSettings

RUNS_DIR = Path("experiments/runs")


@dataclass(frozen=True)
class Listeners:
    """Who wants to hear how a run goes on.

    Attributes:
        on_start: the run is not finished yet and begins.
        on_step: steps done, steps in all.
        on_epoch: each history row.
    """

    on_start: Callable[[], None] | None = None
    on_step: Callable[[int, int], None] | None = None
    on_epoch: Callable[[Epoch], None] | None = None


def train(
    store: FeatureStore | str | Path,
    layers: str = "concat_last4",
    *,
    corpus: Corpus | None = None,
    reading: Mapping[str, Any] | None = None,
    seed: int = 1,
    settings: TrainingSettings | None = None,
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
    is unless `overwrite`.

    Args:
        layers: layer combination, such as "concat_last4", "last" or "weighted:0-6".
        corpus: the tagged text of the store; read from where the store says by default.
        reading: options that `corpus` was read with, kept in the record; the store's by default.
        settings: defaults to `DEFAULTS["features"]`.
        experiment, vary: what an experiment file declares; kept in the record.

    Raises:
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
    )
    plan = plan_features_run(m, store.path, corpus, layers, options)
    if not overwrite and plan.finished is not None:
        return plan.finished
    return run_features(plan, store, corpus, listeners)


def finetune(
    corpus: Corpus | str,
    model: str | EncoderSource = DEFAULT_MODEL,
    *,
    reading: Mapping[str, Any] | None = None,
    seed: int = 1,
    settings: TrainingSettings | None = None,
    context: Context = "sentence",
    pooling: Pooling = "first",
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
    )
    plan = plan_finetune_run(source, corpus, options, context=context, pooling=pooling)
    if not overwrite and plan.finished is not None:
        return plan.finished
    return run_finetune(plan, source, corpus, listeners)


def run_features(
    plan: PlannedRun, store: FeatureStore, corpus: Corpus, listeners: Listeners | None = None
) -> Run:
    """Carries out a planned run on frozen features."""
    combination, device = plan.combination, plan.options.device
    assert combination is not None
    store.require(combination.indices)
    reset_peak_memory(device)
    labels = train_labels(corpus)
    settings = plan.options.settings
    torch.manual_seed(plan.seed)
    tagger = BiLSTMTagger(
        combination,
        store.manifest.hidden_size,
        len(labels),
        lstm_size=settings.lstm_size,
        lstm_layers=settings.lstm_layers,
        dropout=settings.dropout,
    ).to(device.torch)
    return _carry_out(
        plan,
        tagger,
        {name: FeatureInputs(store, name, combination, device.torch) for name in corpus.splits},
        corpus,
        labels=labels,
        counts=summed_counts(s.counts for s in store.manifest.splits.values()),
        store=store,
        listeners=listeners or Listeners(),
    )


def run_finetune(
    plan: PlannedRun, source: EncoderSource, corpus: Corpus, listeners: Listeners | None = None
) -> Run:
    """Carries out a planned fine-tuned run."""
    signature, device = plan.signature, plan.options.device
    reset_peak_memory(device)
    labels = train_labels(corpus)
    torch.manual_seed(plan.seed)
    encoder = load_encoder(source, pooling=cast(Pooling, signature.pooling))
    tagger = FineTuneTagger(encoder, len(labels), dropout=plan.options.settings.dropout)
    tagger.to(device.torch)
    alignments = {
        name: align(
            split.sentences,
            encoder.wordpieces,
            positions=encoder.positions,
            context=cast(Context, signature.context),
        )
        for name, split in corpus.splits.items()
    }
    return _carry_out(
        plan,
        tagger,
        {name: PieceInputs(a, encoder, device.torch) for name, a in alignments.items()},
        corpus,
        labels=labels,
        counts=summed_counts(a.counts for a in alignments.values()),
        store=None,
        listeners=listeners or Listeners(),
    )


def _carry_out(
    plan: PlannedRun,
    tagger: nn.Module,
    inputs: Mapping[str, Inputs],
    corpus: Corpus,
    *,
    labels: tuple[str, ...],
    counts: dict[str, int],
    store: FeatureStore | None,
    listeners: Listeners,
) -> Run:
    """Trains, predicts, scores and records; the record is written last."""
    settings, device = plan.options.settings, plan.options.device
    precision = cast(Precision, plan.signature.training_precision)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    folder = working_folder(plan.folder)
    clean_run_folder(folder)
    write_text(folder / "config.json", config_text(plan, labels))
    if listeners.on_start is not None:
        listeners.on_start()
    history = (folder / "history.jsonl").open("w", encoding="utf-8")

    def on_epoch(row: Epoch) -> None:
        history.write(json.dumps(dataclasses.asdict(row)) + "\n")
        history.flush()
        if listeners.on_epoch is not None:
            listeners.on_epoch(row)

    def tags_of(split: Split) -> list[list[str]]:
        ids = predict(tagger, inputs[split.name], settings, device=device, precision=precision)
        return tags_by_sentence(ids, labels, inputs[split.name].offsets)

    def score_dev() -> PRF:
        return prf(*entity_counts(corpus["dev"].tags, tags_of(corpus["dev"])).sum(0).tolist())

    with history:
        fitted = fit(
            tagger,
            inputs["train"],
            label_ids(corpus["train"], labels),
            settings,
            seed=plan.seed,
            score_dev=score_dev,
            device=device,
            precision=precision,
            on_step=listeners.on_step,
            on_epoch=on_epoch,
        )
    evaluated = [corpus[name] for name in ("dev", "test") if name in corpus]
    clock = time.perf_counter()
    predicted = {split.name: tags_of(split) for split in evaluated}
    prediction_seconds = time.perf_counter() - clock
    for split in evaluated:
        write_conll(folder / f"{split.name}.conll", split.sentences, predicted[split.name])
    save_weights(folder / "weights.safetensors", tagger)
    trained = sum(p.numel() for p in tagger.parameters() if p.requires_grad)
    everything = sum(p.numel() for p in tagger.parameters())
    forward = {name: split.flops(tagger) for name, split in inputs.items()}
    record = RunRecord(
        name=plan.folder.name,
        approach=plan.approach,
        layers=plan.layers,
        layer_indices=layer_indices(plan),
        seed=plan.seed,
        experiment=plan.options.experiment,
        vary=list(plan.options.vary),
        settings=plan.settings,
        signature=plan.signature,
        scores={s.name: score(s.tags, predicted[s.name]) for s in evaluated},
        history=fitted.history,
        best_epoch=fitted.best_epoch,
        mix=learned_mix(tagger, layer_indices(plan)),
        cost=Cost(
            extraction_seconds=None if store is None else store.manifest.seconds,
            extraction_words=None if store is None else store.manifest.words,
            store_bytes=None if store is None else store.file_bytes,
            training_seconds=fitted.seconds,
            prediction_seconds=prediction_seconds,
            prediction_words=sum(s.n_words for s in evaluated),
            peak_memory_bytes=peak_memory(device),
            trained_parameters=trained,
            total_parameters=everything
            + (0 if store is None else store.manifest.encoder_parameters),
            run_bytes=(folder / "weights.safetensors").stat().st_size,
            extraction_flops=None if store is None else store.manifest.flops,
            training_flops=len(fitted.history)
            * (TRAINING_FACTOR * forward["train"] + forward["dev"]),
            prediction_flops=sum(forward[s.name] for s in evaluated),
        ),
        counts={
            **counts,
            "repaired_tags": sum(s.notes.repaired_tags for s in corpus.splits.values()),
        },
        started=started,
        labels=list(labels),
        model_source=plan.model_source,
        reading=dict(plan.options.reading),
    )
    write_record(folder, record)
    move_into_place(folder, plan.folder)
    return Run(plan.folder, record)

"""One planned run of either approach: the same steps from a tagger to a record.

tagger, inputs ─▶ fit ─▶ best weights ─▶ predict dev and test once ─▶ scores ─▶ record
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import numpy as np

from featbert.data.corpus import Corpus, Split
from featbert.encoders.device import Precision
from featbert.encoders.memory import peak_memory, reset_peak_memory
from featbert.encoders.source import EncoderSource
from featbert.errors import MissingError
from featbert.features.store import FeatureStore
from featbert.runs.evaluations import evaluation_files
from featbert.runs.folder import (
    append_line,
    clean_run_folder,
    file_hash,
    move_into_place,
    save_weights,
    settle_owned,
    told_by_name,
    working_folder,
    write_text,
)
from featbert.runs.labels import label_ids, tags_by_sentence
from featbert.runs.lock import owned
from featbert.runs.planning import PlannedRun
from featbert.runs.preparing import (
    Prepared,
    evaluated_splits,
    prepare_features,
    prepare_finetune,
)
from featbert.runs.record import Cost, RunRecord, write_record
from featbert.runs.recording import (
    checkpoint_identity,
    config_text,
    layer_indices,
    learned_mix,
)
from featbert.runs.run import Run
from featbert.tasks.base import get_task
from featbert.text import named_sentence
from featbert.training.checkpoint import NAME as CHECKPOINT
from featbert.training.checkpoint import Checkpoint
from featbert.training.history import Epoch, read_epoch
from featbert.training.loop import Fitted, fit, predict, prediction_budget, prediction_flops
from featbert.training.tracking import epoch_log


@dataclass(frozen=True)
class Listeners:
    """Who wants to hear how a run goes on.

    Attributes:
        on_start: the run is not finished yet and begins.
        on_step: steps done, steps in all.
        on_epoch: each history row.
        on_outdated: the run took the place of a finished one, whose evaluations on other data, so
            many, went with it.
        log_dir: folder that the epochs are logged to while the run trains (`log_folder`).
    """

    on_start: Callable[[], None] | None = None
    on_step: Callable[[int, int], None] | None = None
    on_epoch: Callable[[Epoch], None] | None = None
    on_outdated: Callable[[int], None] | None = None
    log_dir: Path | None = None


def run_features(
    plan: PlannedRun,
    store: FeatureStore,
    corpus: Corpus,
    listeners: Listeners | None = None,
    *,
    overwrite: bool = False,
) -> Run:
    """Carries out a planned run on frozen features; a run that it builds on must be finished.

    Where another process has finished it by now, it is returned as it is unless `overwrite`.

    Raises:
        RunBusyError: another process trains it.
    """
    return _carry_out(
        plan, lambda: prepare_features(plan, store, corpus), corpus, listeners, overwrite
    )


def run_finetune(
    plan: PlannedRun,
    source: EncoderSource,
    corpus: Corpus,
    listeners: Listeners | None = None,
    *,
    overwrite: bool = False,
) -> Run:
    """Carries out a planned fine-tuned run; see `run_features`."""
    return _carry_out(
        plan, lambda: prepare_finetune(plan, source, corpus), corpus, listeners, overwrite
    )


def _epochs(plan: PlannedRun) -> int:
    """Epochs to train: those asked for, or the best one of the run on train alone."""
    if plan.base is None:
        return plan.options.settings.epochs
    base = plan.base.finished
    if base is None:
        raise MissingError(
            f"the run on train alone expected finished at {plan.base.folder}, whose best epoch "
            "says how many to train on train and dev; train it first"
        )
    return base.record.best_epoch


def _carry_out(
    plan: PlannedRun,
    prepare: Callable[[], Prepared],
    corpus: Corpus,
    listeners: Listeners | None,
    overwrite: bool,
) -> Run:
    """The run, trained by this process or in the meantime by another."""
    with owned(plan.folder):
        with told_by_name(plan.folder):
            settle_owned(plan.folder)
        done = None if overwrite else plan.finished
        return done or _train(plan, prepare, corpus, listeners or Listeners())


def _train(
    plan: PlannedRun, prepare: Callable[[], Prepared], corpus: Corpus, listeners: Listeners
) -> Run:
    """Prepares, trains, predicts, scores and records; the record is written last."""
    device = plan.options.device
    settings = dataclasses.replace(plan.options.settings, epochs=_epochs(plan))
    reset_peak_memory(device)  # what is prepared counts
    prepared = prepare()
    precision = cast(Precision, plan.signature.training_precision)
    scheme = plan.signature.tag_scheme
    task = get_task("entities")
    tagger, inputs, labels = prepared.tagger, prepared.inputs, prepared.labels
    evaluated = evaluated_splits(plan, corpus)
    budget = prediction_budget(tagger, settings, device)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    folder = working_folder(plan.folder)
    clean_run_folder(folder)
    write_text(folder / "config.json", config_text(plan, labels))
    identity = checkpoint_identity(plan, labels, settings.epochs)
    checkpoint = Checkpoint(folder / CHECKPOINT, identity, read_epoch)
    if listeners.on_start is not None:
        listeners.on_start()

    def tags_of(split: Split) -> list[list[str]]:
        ids = predict(
            tagger,
            inputs[split.name],
            settings,
            device=device,
            precision=precision,
            budget=budget,
        )
        return tags_by_sentence(ids, labels, inputs[split.name].offsets, scheme)

    def score_dev() -> dict[str, float]:
        return task.dev_values(corpus["dev"].tags, tags_of(corpus["dev"]))

    learns_dev = "dev" in settings.trained_splits
    with epoch_log(listeners.log_dir, plan.folder.name) as log:

        def on_epoch(row: Epoch) -> None:
            append_line(folder / "history.jsonl", json.dumps(dataclasses.asdict(row)))
            log(row)
            if listeners.on_epoch is not None:
                listeners.on_epoch(row)

        fitted = fit(
            tagger,
            inputs["train"],
            label_ids(prepared.train, labels, scheme),
            settings,
            seed=plan.seed,
            score_dev=None if learns_dev else score_dev,
            documents=_documents(plan, prepared.train),
            device=device,
            precision=precision,
            on_step=listeners.on_step,
            on_epoch=on_epoch,
            checkpoint=checkpoint,
            told=lambda n: named_sentence(n, "train", prepared.train.sentences[n].words),
        )
    clock = time.perf_counter()
    predicted = {split.name: tags_of(split) for split in evaluated}
    prediction_seconds = time.perf_counter() - clock
    for split in evaluated:
        path = folder / task.predictions_name(split.name)
        task.write_predictions(path, split.sentences, predicted[split.name])
    save_weights(folder / "weights.safetensors", tagger)
    record = RunRecord(
        name=plan.folder.name,
        task=task.name,
        tuning="none" if plan.approach == "features" else "full",
        layers=plan.layers,
        layer_indices=layer_indices(plan),
        seed=plan.seed,
        experiment=plan.options.experiment,
        vary=list(plan.options.vary),
        settings=plan.settings,
        signature=plan.signature,
        scores={s.name: task.score(s.tags, predicted[s.name]) for s in evaluated},
        history=fitted.history,
        best_epoch=fitted.best_epoch,
        mix=learned_mix(tagger, layer_indices(plan)),
        cost=_cost(plan, prepared, fitted, evaluated, folder, prediction_seconds),
        counts={
            **prepared.counts,
            "repaired_tags": sum(s.notes.repaired_tags for s in corpus.splits.values()),
        },
        started=started,
        labels=list(labels),
        model_source=plan.model_source,
        reading=dict(plan.options.reading),
        trained_on=list(settings.trained_splits),
        epochs_from=None if plan.base is None else plan.base.folder.name,
        configurations_tried=plan.options.configurations_tried,
        weights=file_hash(folder / "weights.safetensors"),
        train_sentences=len(prepared.train),
        train_words=prepared.train.n_words,
        predictions={s.name: file_hash(folder / task.predictions_name(s.name)) for s in evaluated},
    )
    write_record(folder, record)
    # After the record: a kill in between leaves a finished run and a file too many (`settle`).
    checkpoint.remove()
    done = Run(plan.folder, record)
    outdated = len(evaluation_files(done)) if folder != plan.folder else 0
    move_into_place(folder, plan.folder)
    if outdated and listeners.on_outdated is not None:
        listeners.on_outdated(outdated)
    return done


def _documents(plan: PlannedRun, train: Split) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    """(S,) document of each sentence, where words see their whole document."""
    if plan.signature.context != "document":
        return None
    return np.array([s.document for s in train], dtype=np.int64)


def _cost(
    plan: PlannedRun,
    prepared: Prepared,
    fitted: Fitted,
    evaluated: list[Split],
    folder: Path,
    prediction_seconds: float,
) -> Cost:
    """What the run cost; operations from shapes, the rest as measured."""
    tagger, manifest = prepared.tagger, None
    if prepared.store is not None:
        manifest = prepared.store.manifest
    settings, device = plan.options.settings, plan.options.device
    flops = {
        s.name: prediction_flops(tagger, prepared.inputs[s.name], settings, device)
        for s in evaluated
    }
    encoder = 0 if manifest is None else manifest.encoder_parameters
    return Cost(
        extraction_seconds=None if manifest is None else manifest.seconds,
        extraction_words=None if manifest is None else manifest.words,
        store_bytes=None if prepared.store is None else prepared.store.file_bytes,
        training_seconds=fitted.seconds,
        prediction_seconds=prediction_seconds,
        prediction_words=sum(s.n_words for s in evaluated),
        peak_memory_bytes=peak_memory(device),
        trained_parameters=fitted.trained_parameters,
        total_parameters=sum(p.numel() for p in tagger.parameters()) + encoder,
        run_bytes=(folder / "weights.safetensors").stat().st_size,
        extraction_flops=None if manifest is None else manifest.flops,
        training_flops=fitted.flops + len(fitted.history) * flops.get("dev", 0.0),
        prediction_flops=sum(flops.values()),
    )

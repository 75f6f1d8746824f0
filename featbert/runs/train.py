"""The training of a planned run: from a model to a record."""

import contextlib
import dataclasses
import json
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from featbert.config import Settings, recorded
from featbert.data.corpus import Corpus, Split, join_splits
from featbert.data.share import learned_part
from featbert.encoders.device import Stopwatch, computing_threads
from featbert.encoders.memory import peak_memory, reset_peak_memory
from featbert.encoders.source import EncoderSource
from featbert.encoders.tunings import get_tuning
from featbert.errors import InputError, PrunedError
from featbert.features.store import FeatureStore
from featbert.io import explaining, file_hash, json_hash, write_text
from featbert.models.registry import KEPT_POOLINGS
from featbert.progress import notice, prefixed, report, stage
from featbert.runs.folder import (
    CHECKPOINT,
    PRUNED,
    WEIGHTS,
    claimed,
    clean_run_folder,
    evaluation_files,
    load_weights,
    move_into_place,
    recover,
    save_weights,
    working_folder,
    write_probabilities,
)
from featbert.runs.planned import PlannedRun
from featbert.runs.record import RECORD_NAME, Cost, Mix, PrunedRun, RunRecord, write_json
from featbert.runs.run import Run
from featbert.runs.states import StoredStates, TunedStates
from featbert.tasks.base import IGNORED, Threshold, get_task
from featbert.tasks.forecasts import is_distribution
from featbert.text import counted, json_text, named_sentence, unusual
from featbert.training.checkpoint import Checkpoint
from featbert.training.fitting import Fitting
from featbert.training.history import Epoch, Progress
from featbert.training.inputs import grouped
from featbert.training.loop import (
    Backend,
    GoldAnswers,
    TrainingText,
    predict,
    prediction_budget,
    prediction_flops,
)
from featbert.training.tracking import epoch_log


def train_all(
    plans: Mapping[str, PlannedRun],
    state_source: FeatureStore | EncoderSource | None,
    corpus: Corpus,
    *,
    overwrite: bool,
    log_dir: Path | None,
    on_run: Callable[[Run], object] | None,
) -> list[Run]:
    """Trains planned runs, by title (`train_planned`). `on_run` gets each finished run."""
    runs = []
    for title, plan in plans.items():
        with prefixed(title):
            run = train_planned(plan, state_source, corpus, overwrite=overwrite, log_dir=log_dir)
        if on_run is not None:
            on_run(run)
        if run.why_unlearned:
            report(f"{title}: {run.why_unlearned}")
        runs.append(run)
    if counts := unusual(runs[-1].record.counts):
        report(f"unusual in the corpus: {counts}")
    return runs


def train_planned(
    plan: PlannedRun,
    state_source: FeatureStore | EncoderSource | None,
    corpus: Corpus,
    *,
    overwrite: bool = False,
    log_dir: Path | None = None,
) -> Run:
    """Trains a planned run, and before it the run that it builds on, if that is not finished.

    A finished run, also of another process in the meantime, is returned without changes, unless
    `overwrite`.

    Args:
        state_source: the store that the run reads, or the encoder that it tunes. None if the run
            is finished.
        log_dir: folder that the epochs are logged to (`log_folder`).

    Raises:
        BusyError: another process trains the run.
        PrunedError: a search ended the run early.
    """
    recover(plan.folder, overwrite=overwrite)
    if not overwrite and (done := plan.finished) is not None:
        return done
    base = None
    if plan.base is not None:
        base = train_planned(plan.base, state_source, corpus, log_dir=log_dir)
    with claimed(plan.folder):
        if not overwrite and (done := plan.finished) is not None:
            return done
        assert state_source is not None
        # A step on pooled vectors is so short that several threads would wait for each other.
        settings = plan.options.settings
        is_short = get_tuning(settings.tuning).frozen and settings.reads in KEPT_POOLINGS
        with (
            stage(f"training {plan.layers or settings.tuning}, seed {plan.options.seed}", ""),
            computing_threads(1 if is_short else plan.signature.threads),
        ):
            return _Training(plan, base, state_source, corpus).run(log_dir)


def _with_chosen_epochs(plan: PlannedRun, base: Run | None) -> Settings:
    """The settings of a run, with as many epochs as dev chose in `base` and its tuning needs."""
    settings = plan.options.settings
    if base is None:
        return settings
    chosen = base.record.best_epoch
    for epochs in range(chosen, settings.epochs + 1):
        shorter = settings.but(epochs=epochs)
        with contextlib.suppress(InputError):
            get_tuning(settings.tuning).check(shorter, plan.signature.encoder_layers)
            break
    if epochs > chosen:
        notice(
            f"dev chose epoch {chosen}, which is too few for {settings.tuning}; {plan.folder.name} "
            f"trains for {epochs}"
        )
    return shorter


class _Training:
    """The training of one run: first its model and inputs, then `run` up to its record."""

    def __init__(
        self,
        plan: PlannedRun,
        base: Run | None,
        state_source: FeatureStore | EncoderSource,
        corpus: Corpus,
    ) -> None:
        self.plan, self.base, self.corpus = plan, base, corpus
        self.task, self.scheme = get_task(plan.task), plan.signature.tag_scheme
        self.device = plan.options.device
        # Settings that are not in the run's name have their defaults.
        epochs = _with_chosen_epochs(plan, base).epochs
        self.settings = recorded(plan.settings, plan.tuning).but(epochs=epochs)
        self.backend = Backend(self.device, plan.signature.training_precision)
        reset_peak_memory(self.device)  # the preparation counts
        learned, seed = self.settings.trained_splits, plan.options.seed
        whole = join_splits([corpus[name] for name in learned])
        self.train, numbers_in_whole = learned_part(
            whole, self.settings.train_share, shots=self.settings.shots, seed=seed
        )
        self.scored_splits = [s for n, s in corpus.splits.items() if n not in ("train", *learned)]
        self.learns_part = numbers_in_whole is not None
        self.targets = self.task.summary(self.train, self.scheme)
        self.classes = self.targets.classes
        for split in filter(lambda s: s.is_tagged, self.scored_splits):
            classes = {*self.task.classes_in(self.task.gold(split))}
            if untaught := sorted(classes - {*self.task.taught(self.classes)}):
                names = ", ".join(untaught[:12])
                notice(f"{split.name} has {names}, not in train: all of them count as missed")
        # Fields of the record that are known before the training
        self.config: dict[str, Any] = {
            "task": self.task.name,
            "tuning": self.settings.tuning,
            "layers": plan.layers,
            "layer_indices": plan.combination and list(plan.combination.indices),
            "seed": seed,
            "settings": plan.settings,
            "targets": self.targets,
        }
        self.states: StoredStates | TunedStates
        if isinstance(state_source, FeatureStore):
            self.states = StoredStates(plan, state_source, self.settings)
        else:
            self.states = TunedStates(plan, state_source, self.settings, corpus)
        torch.manual_seed(seed)
        self.model = self.states.model(self.targets)
        if (head := plan.head) is not None:
            load_weights(head.folder / WEIGHTS, self.model, head.record.weights)
        # By split. "train" has all texts that the run learns from.
        texts = {"train": (learned, self.train, numbers_in_whole)}
        texts |= {split.name: ((split.name,), split, None) for split in self.scored_splits}
        self.inputs = {
            name: grouped(
                self.states.inputs(splits, text.sentences, numbers),
                self.task.groups(text.sentences),
            )
            for name, (splits, text, numbers) in texts.items()
        }

    def run(self, log_dir: Path | None) -> Run:
        """Trains, predicts, scores and writes the record, which is the last file."""
        plan, folder = self.plan, working_folder(self.plan.folder)
        started = datetime.now(UTC).isoformat(timespec="seconds")
        clean_run_folder(folder)
        # A training resumes to the same numbers only with the same config.
        config = self.config | {
            "signature": dataclasses.asdict(plan.signature),
            "targets": dataclasses.asdict(self.targets),
        }
        write_text(folder / "config.json", json_text(config) + "\n")
        identity = json_hash(config | {"epochs": self.settings.epochs})
        checkpoint = Checkpoint(folder / CHECKPOINT, identity)
        fitting = Fitting(
            self.model,
            self._training_text(),
            self.settings,
            self.backend,
            seed=plan.options.seed,
            checkpoint=checkpoint,
        )
        progress = fitting.progress
        if resumed_after := len(progress.history):
            report(f"resumes after {counted(resumed_after, 'epoch')}")
        # A study ends the run after epoch n if its best dev score is below bounds[n - 1].
        bounds = plan.options.prune_below[: self.settings.epochs - 1]
        with epoch_log(log_dir, plan.name) as log:
            for row in progress.history:  # of the checkpoint
                self._note(row, folder, log)
            for epoch in fitting.epochs():
                self._note(fitting.add(epoch, self._dev_values()), folder, log)
                best, number = progress.best, epoch.epoch
                if best is not None and number <= len(bounds) and best[0] < bounds[number - 1]:
                    study = plan.options.pruned_by or ""
                    flops = progress.flops + number * self._prediction_flops("dev")
                    seconds = fitting.end().seconds
                    write_json(folder / PRUNED, PrunedRun(study, number, flops, seconds))
                    checkpoint.path.unlink(missing_ok=True)
                    raise PrunedError(f"pruned after epoch {number}")
        if self.settings.is_quick:
            chosen, n_epochs = progress.history[progress.best_epoch - 1], len(progress.history)
            report(f"best of {n_epochs} epochs: {chosen}  {progress.seconds:.1f} s")
        record = self._record(folder, fitting.end(), started, resumed_after)
        write_json(folder / RECORD_NAME, record)
        # After the record: a kill in between leaves a finished run and a checkpoint (`recover`).
        checkpoint.path.unlink(missing_ok=True)
        n_outdated = len(evaluation_files(plan.folder)) if folder != plan.folder else 0
        move_into_place(folder, plan.folder)
        if n_outdated:
            notice(f"{counted(n_outdated, 'evaluation')} of the replaced run were removed")
        return Run(plan.folder, record)

    def _training_text(self) -> TrainingText:
        """The text to learn from, with its answers as numbers."""
        encoded = torch.from_numpy(self.task.encode(self.train, self.classes, self.scheme))
        groups = self.task.groups(self.train.sentences)
        counted = None if self.task.of_texts else encoded.numpy() != IGNORED
        answers = GoldAnswers(encoded, self.task.items(self.train), groups is not None, counted)
        documents = None
        if self.plan.signature.context == "document":
            documents = np.array([s.document for s in self.train], dtype=np.int64)

        def name_of(number: int) -> str:
            first = self.train.sentences[number if groups is None else groups[number]]
            text = "the part of train" if self.learns_part else self.train.name
            return named_sentence(number, text, first.words, self.task.unit)

        return TrainingText(self.inputs["train"], answers, documents, name_of)

    def _dev_values(self) -> dict[str, float] | None:
        """Values on dev, the task's measure first. None if the run learns from dev."""
        if "dev" in self.settings.trained_splits:
            return None
        dev = self.corpus["dev"]
        predicted, *_ = self._answers([dev])
        answers = self.task.with_gold(self.task.gold(dev), predicted["dev"])
        return self.task.dev_values(*answers, self.task.taught(self.classes))

    def _note(self, row: Epoch, folder: Path, log: Callable[[Epoch], None]) -> None:
        """Writes an epoch to folder and log, and reports it unless it takes only a moment."""
        path = folder / "history.jsonl"
        with explaining(path), path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(dataclasses.asdict(row)) + "\n")
        log(row)
        if not self.settings.is_quick:
            report(f"{row}  {row.seconds:.1f} s")

    def _record(
        self, folder: Path, progress: Progress, started: str, resumed_after: int
    ) -> RunRecord:
        """Predicts and scores, writes predictions and weights, and returns the record."""
        plan, splits = self.plan, self.corpus.splits.values()
        clock, apart = time.perf_counter(), Stopwatch(self.device.torch)
        predicted, threshold, shares, numbers = self._answers(self.scored_splits, apart)
        prediction_seconds = time.perf_counter() - clock - apart.seconds
        paths = {s.name: folder / self.task.predictions_name(s.name) for s in self.scored_splits}
        probabilities, scores = {}, {}
        for split in self.scored_splits:
            name, answers = split.name, predicted[split.name]
            self.task.write_predictions(paths[name], split.sentences, answers)
            if split.is_tagged:
                gold, classes = self.task.gold(split), self.task.taught(self.classes)
                scores[name] = self.task.scores(gold, answers, split.n_words, classes)
            if not is_distribution(shares[name]):
                continue
            probabilities[name] = write_probabilities(paths[name], shares[name])
            if split.is_tagged:
                scores[name] = self.task.with_probabilities(
                    scores[name],
                    split,
                    shares[name].astype(float),
                    self.classes,
                    self.scheme,
                    numbers[name],
                )
        save_weights(folder / WEIGHTS, self.model, progress.trained)
        mix = None
        if (module := getattr(self.model.states, "mix", None)) is not None:
            weights, scale = module.weights.detach().tolist(), float(module.scale.detach())
            mix = Mix(self.config["layer_indices"], weights, scale)
        return RunRecord(
            **self.config,
            name=plan.name,
            experiment=plan.options.experiment,
            vary=list(plan.options.vary),
            signature=plan.signature,
            scores=scores,
            history=progress.history,
            best_epoch=progress.best_epoch,
            mix=mix,
            cost=self._cost(progress, folder, prediction_seconds),
            counts={
                **self.states.counts,
                "repaired_tags": sum(s.notes.repaired_tags for s in splits),
                "missing_answers": sum(map(self.task.unlabelled, splits)),
            },
            started=started,
            resumed_after=resumed_after,
            model_source=plan.model_source,
            reading=dict(self.corpus.reading),
            columns=self.corpus["train"].notes.named_columns,
            trained_on=list(self.settings.trained_splits),
            epochs_from=None if self.base is None else self.base.name,
            configurations_tried=plan.options.configurations_tried,
            weights=file_hash(folder / WEIGHTS),
            train_sentences=len(self.inputs["train"].offsets) - 1,
            train_words=self.train.n_words,
            threshold=threshold,
            predictions={name: file_hash(path) for name, path in paths.items()},
            probabilities=probabilities,
        )

    def _answers(
        self, splits: Sequence[Split], apart: Stopwatch | None = None
    ) -> tuple[dict[str, Any], Threshold, dict[str, Any], dict[str, Any]]:
        """Predicted answers by split, their threshold, with `apart` probabilities, and numbers.

        The threshold is chosen on dev, by the run on train if this run learns from dev.
        """
        numbers: dict[str, Any] = {}
        shares: dict[str, Any] = {}
        for split in splits:
            inputs, items = self.inputs[split.name], self.task.items(split)
            budget = prediction_budget(self.model, self.settings, self.device)
            prediction = (self.model, inputs, items, self.backend, budget)
            if apart is None:
                (numbers[split.name],) = predict(*prediction)
            else:
                numbers[split.name], shares[split.name] = predict(
                    *prediction, probabilities=True, apart=apart
                )
        threshold: Threshold
        if self.base is not None:
            threshold = self.base.record.threshold
            if isinstance(threshold, list):  # dev may have classes that train lacks
                by_class = dict(zip(self.base.record.targets.classes, threshold, strict=True))
                threshold = [by_class.get(name, 0.5) for name in self.classes]
        else:
            threshold = self.task.threshold(
                numbers["dev"], self.corpus["dev"], self.classes, self.settings
            )
        answers = {
            s.name: self.task.answers(numbers[s.name], self.classes, s, self.scheme, threshold)
            for s in splits
        }
        return answers, threshold, shares, numbers

    def _prediction_flops(self, split: str) -> float:
        return prediction_flops(self.model, self.inputs[split], self.settings, self.device)

    def _cost(self, progress: Progress, folder: Path, prediction_seconds: float) -> Cost:
        model, store = self.model, self.states.store
        manifest = None if store is None else store.manifest
        flops = {s.name: self._prediction_flops(s.name) for s in self.scored_splits}
        encoder = 0 if manifest is None else manifest.encoder_parameters
        seconds = progress.seconds
        training_flops = progress.flops + len(progress.history) * flops.get("dev", 0.0)
        if self.base is not None:  # on the same store
            seconds += self.base.record.cost.training_seconds
            training_flops += self.base.record.cost.training_flops
        if self.plan.head is not None:
            # The extraction of test is part of no cost.
            of_head, share = self.plan.head.record.cost, self.plan.head.record.share_learned_from
            seconds += of_head.training_seconds + share * (of_head.extraction_seconds or 0.0)
            training_flops += of_head.training_flops + share * (of_head.extraction_flops or 0.0)

        return Cost(
            extraction_seconds=None if manifest is None else manifest.seconds,
            extraction_words=None if manifest is None else manifest.words,
            store_bytes=None if store is None else store.file_bytes,
            training_seconds=seconds,
            prediction_seconds=prediction_seconds,
            prediction_words=sum(s.n_words for s in self.scored_splits),
            peak_memory_bytes=peak_memory(self.device),
            trained_parameters=sum(progress.trained.values()),
            total_parameters=sum(p.numel() for p in model.parameters()) + encoder,
            run_bytes=(folder / WEIGHTS).stat().st_size,
            extraction_flops=None if manifest is None else manifest.flops,
            training_flops=training_flops,
            prediction_flops=sum(flops.values()),
        )

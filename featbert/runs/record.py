"""Records of runs and of experiments: the single source of every number that is shown.

They are JSON with a checksum. A run's `record.json` is written last, so a folder that has it is a
finished run. An experiment has a record of its own, since a run may serve several experiments.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, TypeVar

import pydantic.dataclasses
from pydantic import TypeAdapter, ValidationError

from featbert.config import recorded
from featbert.data.corpus import SPLITS
from featbert.encoders.device import Precision
from featbert.encoders.encoding import Casing, Context, Packing, SubwordPooling
from featbert.encoders.layers import parse_layers
from featbert.encoders.tunings import get_tuning
from featbert.errors import InputError, MissingError, check_known, nearest
from featbert.io import owning, regular_file, slug, write_text
from featbert.progress import notice
from featbert.runs.results import exists, listed_in, read_text
from featbert.schema import STRICT, Amount, Count, Moment, Number, Seconds, Share
from featbert.tasks.base import Scores, TargetSummary, get_task
from featbert.training.history import Epoch

RECORD_NAME = "record.json"
# The record of an exported run, in a folder of any name.
EXPORTED = "featbert.json"
NOTES = "notes.json"
# Seconds to wait for other processes that change the notes of a run.
NOTES_PATIENCE = 30.0
SUFFIX = ".experiment.json"
Kept = TypeVar("Kept")
# A folder may have thousands of records.
_adapter: Callable[[Any], TypeAdapter[Any]] = functools.cache(TypeAdapter)


def to_json(record: Any) -> str:
    """A record (a dataclass) with its checksum, as JSON text."""
    data = dataclasses.asdict(record)
    return json.dumps(data | {"checksum": checksum(data)}, indent=1, ensure_ascii=False) + "\n"


def from_json(kind: type[Kept], text: str, *, where: str) -> Kept:
    """The record of class `kind` in JSON text of the file `where`.

    InputError if it is not such a record, or was modified after it was written.
    """
    try:
        data = json.loads(text)
        stored_checksum = data.pop("checksum", None) if isinstance(data, dict) else None
        plain = json.dumps(data)
        # With strict types, only an object of JSON may become a dataclass.
        record: Kept = _adapter(kind).validate_json(plain, context="read")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the top"
        raise InputError(
            f"{where} is no record of this version: {first['msg']} at {place[:60]!r}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {error}") from None
    if stored_checksum != _sha256(plain):
        raise InputError(
            f"{where} was modified after it was written (checksum mismatch); "
            "restore it or make it again"
        )
    return record


def write_json(path: Path, record: Any) -> None:
    """Writes a record and makes its folder. The file appears whole or not at all."""
    write_text(path, to_json(record))


def read_json(path: Path, kind: type[Kept], missing: str) -> Kept:
    """The record of class `kind` in a file (`from_json`). MissingError(missing) without a file."""
    try:
        text = read_text(path)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingError(missing) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    return from_json(kind, text, where=str(path))


def read_or_left_out(read: Callable[..., Kept], *arguments: Any) -> Kept | None:
    """The result of a function that reads a file, None without it or, with a notice, if damaged."""
    try:
        return read(*arguments)
    except MissingError:
        return None
    except InputError as error:
        notice(f"left out: {error}")
        return None


def checksum(data: Any) -> str:
    """SHA-256 in hex of plain data as JSON, the order of keys included."""
    return _sha256(json.dumps(data))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class SplitIdentity:
    """Fingerprints of the text and tags of one split, and its size."""

    text: str
    tags: str
    sentences: Count
    words: Count


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class Signature:
    """Everything a number depends on besides the settings and the seed.

    Attributes:
        source: place of the corpus: "sample" or a path.
        language: BCP 47 code or None.
        tag_scheme: of the labels that were learned, "bio" or "iob1".
        entity_types: types of the corpus, sorted.
        model: encoder as the user named it.
        encoder_weights, encoder_files: SHA-256 over weights, and over config and tokenizer.
        encoder_layers, encoder_hidden_size: layers L and hidden size H of the encoder.
        context: "sentence" or "document".
        pooling: piece that represents a word: "first", "last" or "mean".
        encoder_precision: "fp32", "bf16" or "fp16", or "bf16-autocast" of a tuned encoder.
        training_precision: "fp32", "bf16" or "fp16", or "fp64" of a solver.
        store_dtype: "float16", "float32", or None without a store.
        scorer: the task's scorer with its version.
        device: "cpu", "cuda" or "mps".
        device_name: processor or GPU name.
        threads: threads that torch had. Heads on pooled vectors use one of them.
        extraction_device: device name that the store was computed on, None without a store.
        casing: "original", or "truecased": sentences in capitals were read in another casing.
        packing: of pairs: "joint" or "apart". None for single texts.
        adapted_epochs: epochs of language-model training on a task's text before the run
            (`featbert adapt`). 0 for a checkpoint as published.
    """

    corpus: str
    source: str
    language: str | None
    splits: dict[str, SplitIdentity]
    tag_scheme: str
    entity_types: list[str]
    model: str
    encoder_weights: str
    encoder_layers: Count
    encoder_hidden_size: Count
    context: Context
    pooling: SubwordPooling
    encoder_precision: str
    training_precision: Precision
    store_dtype: str | None
    scorer: str
    device: str
    device_name: str
    threads: Count
    versions: dict[str, str]
    encoder_files: str
    extraction_device: str | None
    casing: Casing
    adapted_epochs: Count
    packing: Packing | None = None


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class Mix:
    """Learned scalar mix: softmaxed weights by layer index, and the scale gamma."""

    layers: list[Count]
    weights: list[Share]
    scale: Number


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class Cost:
    """Cost of a run. Seconds are wall time. None: not part of this run.

    Attributes:
        extraction_seconds, extraction_words, store_bytes: of the whole store that this run read,
            paid once for all runs on it.
        training_seconds: training and dev scoring, all epochs. Includes the run on train that
            chose the epochs, and the run that `head_from` names, with its extraction of train and
            dev.
        prediction_seconds, prediction_words: of dev and test, with the best weights.
        peak_memory_bytes: highest resident size of the process (CPU) or allocation (GPU).
        trained_parameters: parameters that training changed.
        total_parameters: parameters needed to predict from text, the encoder's included.
        run_bytes: size of the run folder's weights on disk.
        extraction_flops, training_flops, prediction_flops: operations of the same parts, estimated
            from shapes.
    """

    extraction_seconds: Seconds | None
    extraction_words: Count | None
    store_bytes: Count | None
    training_seconds: Seconds
    prediction_seconds: Seconds
    prediction_words: Count
    peak_memory_bytes: Count
    trained_parameters: Count
    total_parameters: Count
    run_bytes: Count
    extraction_flops: Amount | None
    training_flops: Amount
    prediction_flops: Amount


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class RunRecord:
    """One finished run.

    Attributes:
        name: name of the run's folder.
        tuning: "none" (features from a store), "full", ...
        layers: canonical name of the layer combination that is read from a store, or None.
        layer_indices: hidden states it reads: 0 is `embeddings`, 1..L the layers.
        experiment: name of the experiment file that asked for the run, or None.
        vary: signature and settings keys the experiment declares that it varies.
        settings: settings of head and training that have an effect, flat.
        scores: by split.
        best_epoch: epoch of the weights, from 1.
        counts: counts of the unusual, by name: windowed_sentences, unknown_words, ...
        started: UTC, ISO 8601. If an interrupted training went on, when it did.
        resumed_after: number of epochs of the history that were finished before `started`.
        targets: summary of the training targets, from which the output was made.
        model_source: folder or name that finds the encoder again. In an exported run, a path that
            begins with a dot is in the run's folder.
        reading: options that the corpus was read with.
        columns: names of train's columns of texts and answers, by option: text, pair, target.
        trained_on: splits that were learned from. They have no scores.
        epochs_from: for a run on train and dev, name of the run on train with the number of epochs
            as its best epoch.
        configurations_tried: number of settings that the experiment tried on dev, this one
            included, or 1 without a search. If seconds or operations end the search, the number
            at the time of the plan.
        weights: SHA-256 of the weights file, in hex, or "" in a record without weights.
        predictions: SHA-256 of the predictions file by split.
        probabilities: SHA-256 of the file of probabilities by split, if it was kept.
        temperature: of an exported run, the number by which featbert divides logits. None without.
        train_sentences, train_words: number of sentences (or other examples) and words that were
            learned from.
        threshold: lower bound of an answer's margin or probability, or one for each class, chosen
            on dev. None if answers have neither.
    """

    name: str
    task: str
    tuning: str
    layers: str | None
    layer_indices: list[Count] | None
    seed: int
    experiment: str | None
    vary: list[str]
    settings: dict[str, Any]
    signature: Signature
    scores: dict[str, Scores]
    history: list[Epoch]
    best_epoch: Count
    mix: Mix | None
    cost: Cost
    counts: dict[str, Count]
    started: Moment
    targets: TargetSummary
    model_source: str
    reading: dict[str, Any]
    trained_on: list[str]
    epochs_from: str | None
    configurations_tried: Count
    weights: str
    predictions: dict[str, str]
    train_sentences: Count
    train_words: Count
    threshold: Number | list[Number] | None = None
    probabilities: dict[str, str] = field(default_factory=dict)
    temperature: Number | None = None
    resumed_after: Count = 0
    columns: dict[str, str] = field(default_factory=dict)

    @property
    def words(self) -> int:
        """Words of all splits. A store has fewer if pairs share texts, which are stored once."""
        return sum(split.words for split in self.signature.splits.values())

    @property
    def share_learned_from(self) -> float:
        """Words that training and dev scores read, as a share of all words of the corpus."""
        dev = self.signature.splits.get("dev")
        is_apart = dev is not None and "dev" not in self.trained_on
        return (self.train_words + (dev.words if dev and is_apart else 0)) / self.words

    def score(self, split: str, key: str | None = None) -> float | None:
        """A value in [0, 1], by default of the task's measure. None without scores."""
        scores = self.scores.get(split)
        key = key or get_task(self.task).measure.key
        return None if scores is None else scores.all_values.get(key)


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class PrunedRun:
    """Cost of a run until a study ended it early. It has no other record."""

    study: str
    epochs: Count
    operations: Amount
    seconds: Seconds


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class Notes:
    """Tags and a note of people on a run. Its numbers do not depend on them."""

    tags: list[str] = field(default_factory=list)
    note: str = ""


def read_notes(folder: Path) -> Notes:
    """The notes of a run's folder. InputError if they cannot be read."""
    with contextlib.suppress(MissingError):
        return read_json(folder / NOTES, Notes, "")
    return Notes()


def change_notes(folder: Path, change: Callable[[Notes], Notes]) -> Notes:
    """Changes the notes of a run and returns them. Other processes wait meanwhile."""
    with owning(folder / NOTES, NOTES_PATIENCE):
        notes = change(read_notes(folder))
        write_json(folder / NOTES, notes)
    return notes


def read_record(folder: Path) -> RunRecord:
    """The record of a finished run's folder. MissingError if the folder holds none.

    InputError if it cannot be read, or belongs to another run.
    """
    path = folder / RECORD_NAME
    advice = (
        f"{folder} is no finished run: it holds no {RECORD_NAME}; "
        "name a folder under the runs directory, or train it to its end"
    )
    record = read_run_record(path, advice)
    # A folder with a dot before the name holds a run that is not complete yet.
    if record.name != folder.absolute().name.removeprefix("."):
        raise InputError(
            f"{path} is the record of another run, {record.name!r}; give the folder its name "
            "back, or train the run again"
        )
    return record


def read_run_record(path: Path, missing: str) -> RunRecord:
    """The record in a file (`read_json`) of a run that can be shown and compared.

    InputError also for impossible values, and for a task, tuning or setting of another version.
    """
    record = read_json(path, RunRecord, missing)
    try:
        _check_parts(record)
    except InputError as error:
        raise InputError(f"{path} is no record of this version: {error}") from None
    return record


def _check_parts(record: RunRecord) -> None:
    """Raises InputError for unknown names, and for parts that do not fit the others."""
    signature, task, scores = record.signature, get_task(record.task), record.scores
    recorded(record.settings, record.tuning)
    check_known("split", [*signature.splits, *scores, *record.trained_on], SPLITS)
    if frozen := get_tuning(record.tuning).frozen:
        parse_layers(record.layers or "", signature.encoder_layers)
    classes = [by_key for of_split in scores.values() for by_key in of_split.by_class.values()]
    parts = {
        "layers": frozen == (record.layers is not None) == (record.layer_indices is not None),
        "signature.splits": "dev" in signature.splits,
        "scores": all(task.measure.key in of_split.values for of_split in scores.values())
        and all(by_key.get(key, 0) <= 1 for by_key in classes for key in task.columns),
        "history": [row.epoch for row in record.history] == [*range(1, len(record.history) + 1)],
        "dev": all(row.dev is None or row.dev for row in record.history),
        "best_epoch": 1 <= record.best_epoch <= len(record.history),
        "mix": record.mix is None or len(record.mix.layers) == len(record.mix.weights),
    }
    if unfit := [name for name, fits in parts.items() if not fits]:
        raise InputError(f"its {unfit[0]} does not belong to a finished run")


# Experiments --------------------------------------------------------------------------------------


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class TriedSettings:
    """One try of a search. Scores and costs are null if runs are missing.

    Attributes:
        settings: the settings that the search varies and that take effect.
        runs: names, one per seed.
        dev, test: mean scores over the runs, in [0, 1].
        state: "finished", "pruned" (ended early for its dev scores), "failed" or "waiting".
        operations, seconds: of training all runs.
    """

    settings: dict[str, Any]
    runs: list[str]
    dev: Share | None
    test: Share | None
    state: Literal["finished", "pruned", "failed", "waiting"]
    operations: Amount | None
    seconds: Seconds | None


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class SearchRecord:
    """A search on dev for one row.

    Attributes:
        tuning, layers, corpus: of the row.
        configuration: its name in the experiment.
        sampler: "random", "tpe" or "grid", or "halving" within a number of minutes.
        tried: every try, in order.
        chosen: place of the best try. None if runs are missing, or if no try learned.
        rows: names of the runs with its settings, in all rows that use this search.
        floor: score without skill on dev if no try was clearly better, else None.
    """

    tuning: str
    layers: str | None
    corpus: str
    configuration: str
    sampler: str
    tried: list[TriedSettings]
    chosen: Count | None
    rows: list[str]
    floor: Share | None = None

    @property
    def trials(self) -> dict[str, None]:
        """Names of the runs of every try, in order, each once."""
        return {name: None for trial in self.tried for name in trial.runs}


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class TimePlan:
    """How an experiment spends its minutes.

    Attributes:
        key: hash of the minutes and all candidates.
        share: part of train that runs learn from.
        most_epochs: of tuned rows whose tuning needs no more. Rows on features that are halved have
            at most twice as many.
        later: share and most epochs of the rows that halving leaves, which are larger if finished
            runs show that there is time. None before halving ends.
        candidates: expected seconds of each candidate's run, by the name of the run with all epochs
            on all of train.
        seconds: the most that each stage was expected to take.
        spent: seconds of all commands so far.
        done: whether no further run is trained.
        untrained: methods of the plan for which no time was left, once all is done.
    """

    key: str
    share: Share
    most_epochs: Count
    later: tuple[Share, Count] | None
    candidates: dict[str, Seconds]
    seconds: dict[str, Seconds]
    spent: Seconds
    done: bool
    untrained: list[str] = dataclasses.field(default_factory=list)


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class ExperimentRecord:
    """One experiment after it was last run.

    Attributes:
        vary: conditions that may differ in a table of its runs.
        rows: names of the runs that its table shows.
        missing: names of its rows' and trials' runs that are not finished.
        published, show, transfer, labels: as in the file.
        searches: records of its searches.
        failures: reasons by the name of the run that failed, "" in a results file.
        time_plan: how it spends its minutes, if it has a number of them.
    """

    name: str
    description: str
    vary: list[str]
    rows: list[str]
    missing: list[str]
    published: list[str]
    show: list[str]
    transfer: bool
    labels: dict[str, str]
    searches: list[SearchRecord]
    failures: dict[str, str]
    time_plan: TimePlan | None = None

    @property
    def trials(self) -> dict[str, None]:
        """Names of the runs of every try of its searches, in order, each once."""
        return {name: None for search in self.searches for name in search.trials}


def experiment_path(runs_dir: Path, name: str) -> Path:
    """The path of an experiment's record."""
    return runs_dir / (slug(name, 80) + SUFFIX)


def search_path(runs_dir: Path, name: str) -> Path:
    """The path of the trials of an experiment's searches."""
    return runs_dir / (slug(name, 80) + ".search.log")


def write_experiment_record(runs_dir: Path, record: ExperimentRecord) -> None:
    """Writes or replaces an experiment's record. InputError if the file is anything else."""
    path, content = experiment_path(runs_dir, record.name), None
    with contextlib.suppress(FileNotFoundError):
        with contextlib.suppress(ValueError, RecursionError):
            content = json.loads(regular_file(path).read_text("utf-8"))
        if not isinstance(content, dict) or "checksum" not in content:
            raise InputError(f"{path} is not a record; move it elsewhere")
        if content.get("name") != record.name:
            raise InputError(
                f"{path} is the record of another experiment, {str(content.get('name'))[:60]!r}; "
                f"give {record.name!r} another name"
            )
    write_json(path, record)


def read_experiment_record(runs_dir: Path, name: str) -> ExperimentRecord:
    """The record of the experiment called `name`, or with this name of its file.

    Rows include the runs that finished after it was written. MissingError without a record.
    """
    path = experiment_path(runs_dir, name)
    names = [p.name.removesuffix(SUFFIX) for p in listed_in(runs_dir, f"*{SUFFIX}")]
    advice = (
        f"no experiment {name!r} was run in {runs_dir}{nearest(name, names)}; "
        f"there are {', '.join(names) or 'none'}"
    )
    record = read_json(path, ExperimentRecord, advice)
    if name not in (record.name, path.name.removesuffix(SUFFIX)):
        raise MissingError(advice)
    for row in [*record.rows, *record.missing]:  # names of folders, never paths to other places
        if row in ("", ".", "..") or not row.isprintable() or "/" in row or "\\" in row:
            raise InputError(f"{path} names a row {row[:60]!r}, which is no run; run it again")
    if record.time_plan is not None:  # it chooses the rows at its end
        return record
    trials = record.trials
    untried = [run for run in record.missing if run not in trials]
    finished = [run for run in untried if exists(runs_dir / run / RECORD_NAME)]
    missing = [run for run in record.missing if run not in finished]
    return dataclasses.replace(record, rows=[*record.rows, *finished], missing=missing)


def without_removed(record: ExperimentRecord, runs_dir: Path) -> ExperimentRecord:
    """The record, with rows as missing whose runs were removed."""
    removed = [row for row in record.rows if not exists(runs_dir / row / RECORD_NAME)]
    rows = [row for row in record.rows if row not in removed]
    return dataclasses.replace(record, rows=rows, missing=[*record.missing, *removed])

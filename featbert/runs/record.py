"""A run: one trained tagger's record, the single source of every number that is shown.

A run is a folder under the runs directory; `record.json` is written last, so a folder with a
record is a finished run and a folder without one never counts. The record's shape is this
module's dataclasses; the file is their JSON, field by field.
"""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from featbert.errors import MissingError
from featbert.runs.checked import RecordError as RecordError
from featbert.runs.checked import build_checked
from featbert.runs.record_checks import check_record
from featbert.runs.sealing import is_intact, sealed
from featbert.tasks.scores import SplitScores
from featbert.training.history import Epoch
from featbert.training.settings import with_later_settings

FORMAT_VERSION = 1
RECORD_NAME = "record.json"
Approach = Literal["features", "finetune"]


@dataclass(frozen=True)
class SplitIdentity:
    """What identifies the text and tags of one split."""

    text: str
    tags: str
    sentences: int
    words: int


@dataclass(frozen=True)
class Signature:
    """Everything a number depends on beside the settings and the seed (promise 3).

    Attributes:
        corpus: name of the corpus.
        source: where it was read: "sample" or a path.
        language: BCP 47 code or None.
        splits: identity by split name.
        tag_scheme: scheme of the labels that the tagger was trained on: "bio" or "iob1"; scores
            are always of the entities.
        entity_types: types of the corpus, sorted.
        model: encoder as the user named it.
        encoder_weights: SHA-256 over the encoder's weights.
        encoder_layers: transformer layers L.
        encoder_hidden_size: H.
        context: "sentence" or "document".
        pooling: piece that stands for a word: "first", "last" or "mean".
        encoder_precision: precision the encoder computed in: "fp32", "bf16", "fp16".
        training_precision: precision the tagger was trained in.
        store_dtype: "float16", "float32", or None where no store was used.
        scorer: "seqeval 1.2.2, conlleval semantics".
        device: "cpu" or "cuda".
        device_name: processor or GPU name.
        threads: threads torch computed with.
        versions: library versions by name.
        encoder_files: SHA-256 over the encoder's config and tokenizer.
        extraction_device: device name that the store was computed on, None without a store.
        adapted_epochs: epochs of language-model training that the encoder had on a task's text
            before (`featbert adapt`); 0 for a checkpoint as published.
        casing: "original", or "truecased": sentences in capitals were read in another casing.
    """

    corpus: str
    source: str
    language: str | None
    splits: dict[str, SplitIdentity]
    tag_scheme: str
    entity_types: list[str]
    model: str
    encoder_weights: str
    encoder_layers: int
    encoder_hidden_size: int
    context: str
    pooling: str
    encoder_precision: str
    training_precision: str
    store_dtype: str | None
    scorer: str
    device: str
    device_name: str
    threads: int
    versions: dict[str, str]
    encoder_files: str = ""
    extraction_device: str | None = None
    casing: str = "original"
    adapted_epochs: int = 0


@dataclass(frozen=True)
class Mix:
    """Learned scalar mix: softmaxed weights by layer index, and the scale gamma."""

    layers: list[int]
    weights: list[float]
    scale: float


@dataclass(frozen=True)
class Cost:
    """What a run cost. Seconds are wall time; None means: not part of this run.

    Attributes:
        extraction_seconds: of the whole store this run read, paid once for all runs on it.
        extraction_words: words in that store.
        store_bytes: size of the store on disk.
        training_seconds: training and dev scoring, all epochs.
        prediction_seconds: prediction of dev and test with the best weights.
        prediction_words: words predicted in that time.
        peak_memory_bytes: highest resident size of the process (CPU) or allocation (GPU).
        trained_parameters: parameters that training changed.
        total_parameters: parameters needed to predict from text, the encoder's included.
        run_bytes: size of the run folder's weights on disk.
        extraction_flops, training_flops, prediction_flops: operations estimated from shapes
            (`featbert.encoders.flops`): of the store, of all epochs with their dev scoring, of
            predicting dev and test.
    """

    extraction_seconds: float | None
    extraction_words: int | None
    store_bytes: int | None
    training_seconds: float
    prediction_seconds: float
    prediction_words: int
    peak_memory_bytes: int
    trained_parameters: int
    total_parameters: int
    run_bytes: int
    extraction_flops: float | None
    training_flops: float
    prediction_flops: float


@dataclass(frozen=True)
class RunRecord:
    """One finished run.

    Attributes:
        name: name of the run's folder.
        approach: "features" or "finetune".
        layers: layer combination by its canonical name for features, None for fine-tuning.
        layer_indices: hidden states it reads: 0 is `embeddings`, 1..L the layers.
        seed: the random seed.
        experiment: name of the experiment file that asked for the run, or None.
        vary: signature and settings keys the experiment declares that it varies.
        settings: resolved configuration of tagger and training without seed and paths, flat
            names to plain values: what makes two runs "the same settings".
        scores: by split ("dev", "test").
        best_epoch: epoch whose weights were kept, from 1.
        counts: what was unusual, by name: windowed_sentences, unknown_words, repaired_tags, ...
        started: UTC, ISO 8601.
        labels: tags by label number, as the weights have them.
        model_source: folder or name that finds the encoder again.
        reading: options that the corpus was read with.
        trained_on: splits that the tagger learned from; such a split has no scores.
        epochs_from: name of the run on train alone whose best epoch said how many epochs to
            train, where train and dev were trained on together.
        configurations_tried: settings that the experiment it was trained for tried on dev, itself
            included; 1 where nothing was searched. Where another experiment reuses the run, that
            one's record tells (`ExperimentRecord.searches`).
        weights: SHA-256 of the weights file, in hex; "" in older records.
        predictions: SHA-256 of the predictions file by split; empty in older records.
        halved_to: padded tokens of a batch from where on one of `token_budget` tokens did not
            fit in memory, by "training" and "prediction"; empty where all did.
        train_sentences, train_words: that the tagger learned from, in all; None in older records,
            which learned from all of `trained_on`.
    """

    name: str
    approach: Approach
    layers: str | None
    layer_indices: list[int] | None
    seed: int
    experiment: str | None
    vary: list[str]
    settings: dict[str, Any]
    signature: Signature
    scores: dict[str, SplitScores]
    history: list[Epoch]
    best_epoch: int
    mix: Mix | None
    cost: Cost
    counts: dict[str, int]
    started: str
    labels: list[str] = field(default_factory=list)
    model_source: str = ""
    reading: dict[str, Any] = field(default_factory=dict)
    trained_on: list[str] = field(default_factory=lambda: ["train"])
    epochs_from: str | None = None
    configurations_tried: int = 1
    weights: str = ""
    train_sentences: int | None = None
    train_words: int | None = None
    predictions: dict[str, str] = field(default_factory=dict)
    halved_to: dict[str, int] = field(default_factory=dict)
    format_version: int = field(default=FORMAT_VERSION)


def record_to_json(record: RunRecord) -> str:
    """The record with its checksum as JSON text with a final newline, encodable as UTF-8."""
    return json_text(sealed(dataclasses.asdict(record)))


def json_text(data: Any) -> str:
    """Plain data as JSON text with a final newline, encodable as UTF-8 whatever it holds."""
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    # A path that is not UTF-8 reaches Python as lone surrogates, which UTF-8 cannot hold.
    return re.sub("[\ud800-\udfff]", lambda m: f"\\u{ord(m[0]):04x}", text)


def record_from_json(text: str, *, where: str) -> RunRecord:
    """The record in `text`: its checksum, every field's type, and what it says twice, checked.

    Args:
        where: the file's name for messages.

    Raises:
        RecordError: not JSON, another format version, changed since it was written, a field that
            is missing or of another type, or numbers that contradict each other.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"run record expected, {where} is not JSON: {error}") from None
    version = data.get("format_version") if isinstance(data, dict) else None
    if version != FORMAT_VERSION:
        raise RecordError(
            f"run record of format version {FORMAT_VERSION} expected, {where} has "
            f"{repr(version)[:60]}; "
            "read it with the featbert version that wrote it, or train the run again"
        )
    check_intact(data, where=where)
    record = build_checked(RunRecord, data, where=where)
    assert isinstance(record, RunRecord)
    check_record(record, where=where)
    settings = with_later_settings(record.settings, record.approach)
    return dataclasses.replace(record, settings=settings)


def read_record(folder: Path) -> RunRecord:
    """The record of a finished run's folder.

    Raises:
        MissingError: the folder holds no record, so it is no finished run.
        RecordError: the record cannot be read, or is another run's.
    """
    path = folder / RECORD_NAME
    try:
        text = path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise MissingError(
            f"a finished run expected, {folder} holds no {RECORD_NAME}; "
            "name a folder under the runs directory, or train it to its end"
        ) from None
    except (OSError, ValueError) as error:
        raise RecordError(f"run record expected, {path} cannot be read: {error}") from None
    record = record_from_json(text, where=str(path))
    # A dot before the name: written aside, until it is whole.
    if record.name != folder.absolute().name.removeprefix("."):
        raise RecordError(
            f"the record of {folder.name} expected in {path}, it is that of {record.name!r}; give "
            "the folder its name back, or train the run again"
        )
    return record


def check_intact(data: dict[str, Any], *, where: str) -> None:
    """Raises RecordError where a record was changed since it was written."""
    if not is_intact(data):
        raise RecordError(
            f"what was written expected in {where}, its checksum says that it was changed; take it "
            "from where it was copied, or make it again"
        )

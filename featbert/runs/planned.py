"""A run that is named but not trained: all checks, and whether it is finished already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from featbert.config import Settings
from featbert.data.corpus import SPLITS, Corpus
from featbert.encoders.device import Device, find_precision
from featbert.encoders.encoding import Encoding
from featbert.encoders.layers import LayerCombination, parse_layers
from featbert.encoders.source import EncoderSource
from featbert.encoders.tunings import TUNINGS
from featbert.errors import InputError
from featbert.features.store import Manifest
from featbert.runs.identity import (
    check_same_text,
    check_trainable,
    encoding_of_encoder,
    encoding_of_store,
    run_name,
    split_identity,
)
from featbert.runs.record import RECORD_NAME, Signature, read_record
from featbert.runs.run import Run
from featbert.tasks.base import Task, get_task
from featbert.versions import library_versions


@dataclass(frozen=True)
class RunOptions:
    """What a run is asked besides its corpus and encoder.

    Attributes:
        precision: to compute in; "auto" asks the device.
        tag_scheme: of the labels that are learned: "bio" or "iob1".
        configurations_tried: how many settings a search on dev chooses these from.
        experiment, vary: what an experiment file declares; kept in the record.
        reading: options the corpus was read with; kept in the record.
    """

    seed: int
    settings: Settings
    runs_dir: Path
    device: Device
    precision: str = "auto"
    experiment: str | None = None
    vary: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    task: str = "entities"
    tag_scheme: str = "bio"
    configurations_tried: int = 1


@dataclass(frozen=True)
class PlannedRun:
    """A run before it is trained.

    Attributes:
        combination: layers it reads from a store; None where the encoder is tuned.
        settings: those of its options that play a part, flat.
        model_source: folder or name that finds the encoder again.
        base: the same run on train alone, whose best epoch is the number of epochs to train; None
            for a run on train alone.
    """

    folder: Path
    combination: LayerCombination | None
    signature: Signature
    settings: dict[str, Any]
    options: RunOptions
    model_source: str
    base: PlannedRun | None = None

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def task(self) -> Task:
        return get_task(self.options.task)

    @property
    def seed(self) -> int:
        return self.options.seed

    @property
    def tuning(self) -> str:
        return self.options.settings.tuning

    @property
    def layers(self) -> str | None:
        return None if self.combination is None else self.combination.name

    @property
    def layer_indices(self) -> list[int] | None:
        """Hidden states that the run reads from a store."""
        return None if self.combination is None else list(self.combination.indices)

    @property
    def finished(self) -> Run | None:
        """The run, if it is finished; raises InputError where the folder holds another one."""
        if not (self.folder / RECORD_NAME).is_file():
            return None
        try:
            record = read_record(self.folder)
        except InputError as error:
            raise InputError(f"{error}; --overwrite trains the run again") from None
        found = (record.layers, record.seed, record.settings, record.signature.splits)
        if found != (self.layers, self.seed, self.settings, self.signature.splits):
            raise InputError(f"{self.folder} holds another run than its name says; move it away")
        return Run(self.folder, record)


def plan_stored_run(
    manifest: Manifest, store: Path, corpus: Corpus, layers: str, options: RunOptions
) -> PlannedRun:
    """A run on frozen features from the store with this manifest, which need not exist yet.

    Raises:
        FeatbertError: layers the encoder lacks, an untrainable corpus, or another text.
    """
    combination = parse_layers(layers, manifest.num_layers)
    kind = options.settings.reads
    if kind not in manifest.kinds and "words" not in manifest.kinds:
        raise InputError(
            f"{store} keeps pooled vectors, but the head reads {kind}; extract with --keep words"
        )
    check_trainable(corpus, options.settings)
    check_same_text(manifest, store, corpus)
    encoding = encoding_of_store(manifest)
    return _named(corpus, encoding, options, combination, manifest.model_source)


def plan_tuned_run(
    source: EncoderSource, corpus: Corpus, options: RunOptions, how: Encoding
) -> PlannedRun:
    """A run that tunes the encoder, which reads texts as `how` says.

    Raises:
        FeatbertError: an untrainable corpus, document context without documents, truecasing for
            an uncased encoder, or layers to freeze that the encoder lacks.
    """
    check_trainable(corpus, options.settings)
    how.check(source, corpus)
    precision = find_precision(options.precision, options.device)
    packing = how.packing if corpus.has_pairs else None
    encoding = encoding_of_encoder(source, precision, how, packing)
    check_layers(options.settings, encoding["encoder_layers"])
    return _named(corpus, encoding, options, None, source.reference)


def check_layers(settings: Settings, num_layers: int) -> None:
    """Raises InputError for freezing or unfreezing that an encoder of L layers cannot do."""
    for name in ("freeze_to", "unfreeze"):
        if (given := getattr(settings, name) or 0) > num_layers:
            raise InputError(f"{name} is {given}, but the encoder has {num_layers} layers")
    if settings.unfreeze is None:
        return
    free = num_layers - (settings.freeze_to or 0)
    needed = 1 + -(-free // settings.unfreeze)
    if settings.epochs < needed:
        raise InputError(
            f"epochs is {settings.epochs}; {needed} are needed to unfreeze {free} layers in groups "
            f"of {settings.unfreeze} after an epoch of the head alone"
        )


def _named(
    corpus: Corpus,
    encoding: Mapping[str, Any],
    options: RunOptions,
    combination: LayerCombination | None,
    model_source: str,
) -> PlannedRun:
    settings, task = options.settings, get_task(options.task)
    task.check(settings)
    if options.tag_scheme != "bio" and task.targets != "entities":
        raise InputError(f"tag_scheme is {options.tag_scheme}, but {task.title} have no tag scheme")
    layers = None if combination is None else combination.name
    precision = find_precision(options.precision, options.device)
    if TUNINGS[settings.tuning].frozen and options.device.kind == "cuda":
        precision = "fp32"  # cuDNN's LSTM knows no bf16 autocast: see `models/bilstm.py`
    device = options.device
    signature = Signature(
        corpus=corpus.name,
        source=corpus.source,
        language=corpus.language,
        splits={name: split_identity(corpus, name) for name in SPLITS if name in corpus},
        tag_scheme=options.tag_scheme,
        entity_types=list(task.classes_of(corpus)),
        training_precision=precision,
        scorer=task.scorer,
        device=device.kind,
        device_name=device.name,
        threads=device.threads,
        versions=library_versions(),
        **encoding,
    )
    weighted = combination is not None and combination.mode == "weighted"
    flat = settings.used(weighted=weighted)
    name = run_name(signature, task.name, settings.tuning, layers, flat, options.seed)
    base = None
    if settings.train_on != "train":
        on_train = replace(options, settings=settings.but(train_on="train"))
        base = _named(corpus, encoding, on_train, combination, model_source)
    return PlannedRun(
        Path(options.runs_dir) / name, combination, signature, flat, options, model_source, base
    )

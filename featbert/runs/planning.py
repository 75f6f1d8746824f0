"""Runs that are named but not yet trained: all checks, and whether the work is done already."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from featbert.data.corpus import Corpus
from featbert.encoders.device import Device, find_precision
from featbert.encoders.encoding import check_casing_of, check_context
from featbert.encoders.layers import LayerCombination, parse_layers
from featbert.encoders.source import EncoderSource
from featbert.errors import InputError
from featbert.features.store import Manifest
from featbert.runs.identity import (
    Approach,
    Encoding,
    check_same_text,
    check_tag_scheme,
    check_trainable,
    check_trained_splits,
    make_signature,
    run_name,
)
from featbert.runs.record import RECORD_NAME, Signature, read_record
from featbert.runs.run import Run
from featbert.training.settings import TrainingSettings, check_layers, used_settings


@dataclass(frozen=True)
class RunOptions:
    """What a run of either approach is told beside its corpus and encoder.

    Attributes:
        settings: of tagger and training.
        runs_dir: folder that its own folder is made in.
        precision: to compute in; "auto" asks the device.
        tag_scheme: of the labels that the tagger learns: "bio" or "iob1".
        configurations_tried: how many settings a search on dev chooses these from.
        experiment, vary: what an experiment file declares; kept in the record.
        reading: options the corpus was read with; kept in the record.
    """

    seed: int
    settings: TrainingSettings
    runs_dir: Path
    device: Device
    precision: str = "auto"
    experiment: str | None = None
    vary: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    tag_scheme: str = "bio"
    configurations_tried: int = 1


@dataclass(frozen=True)
class PlannedRun:
    """A run before it is trained.

    Attributes:
        folder: where it will be, or already is.
        combination: layers it reads; None for fine-tuning.
        settings: those of its options that play a part, flat.
        model_source: folder or name that finds the encoder again.
        base: the same run on train alone, whose best epoch says how many epochs to train; None
            where the run is on train alone itself.
    """

    folder: Path
    approach: Approach
    combination: LayerCombination | None
    signature: Signature
    settings: dict[str, Any]
    options: RunOptions
    model_source: str
    base: PlannedRun | None = None

    @property
    def seed(self) -> int:
        """The run's seed."""
        return self.options.seed

    @property
    def layers(self) -> str | None:
        """Canonical name of the layer combination."""
        return None if self.combination is None else self.combination.name

    @property
    def finished(self) -> Run | None:
        """The run, where it is finished already.

        Raises:
            InputError: the folder of this name holds another run.
        """
        if not (self.folder / RECORD_NAME).is_file():
            return None
        try:
            record = read_record(self.folder)
        except InputError as error:
            raise InputError(f"{error}; --overwrite trains the run again") from None
        found = (record.layers, record.seed, record.settings, record.signature.splits)
        if found != (self.layers, self.seed, self.settings, self.signature.splits):
            raise InputError(
                f"the run that its name says expected in {self.folder}, it holds another; "
                "the folder was renamed or its record changed, move it away"
            )
        return Run(self.folder, record)


def plan_features_run(
    manifest: Manifest, store_path: Path, corpus: Corpus, layers: str, options: RunOptions
) -> PlannedRun:
    """A run on the store with this manifest, which need not exist yet.

    Raises:
        FeatbertError: layers the encoder lacks, an untrainable corpus, or another text.
    """
    combination = parse_layers(layers, manifest.num_layers)
    check_trainable(corpus)
    check_same_text(manifest, store_path, corpus)
    encoding = Encoding.of_store(manifest)
    return _named(corpus, encoding, options, combination, manifest.model_source)


def plan_finetune_run(
    source: EncoderSource,
    corpus: Corpus,
    options: RunOptions,
    *,
    context: str,
    pooling: str,
    casing: str = "original",
) -> PlannedRun:
    """A fine-tuned run.

    Raises:
        FeatbertError: an untrainable corpus, document context without documents, truecasing for
            an uncased encoder, or layers to freeze that the encoder lacks.
    """
    check_trainable(corpus)
    for split in corpus.splits.values():
        check_context(context, has_documents=split.has_documents)
    check_casing_of(source, casing, corpus)
    precision = find_precision(options.precision, options.device)
    encoding = Encoding.of_encoder(
        source, context=context, casing=casing, pooling=pooling, precision=precision
    )
    check_layers(options.settings, encoding.encoder_layers)
    return _named(corpus, encoding, options, None, source.reference)


def _named(
    corpus: Corpus,
    encoding: Encoding,
    options: RunOptions,
    combination: LayerCombination | None,
    model_source: str,
) -> PlannedRun:
    """The run with its signature, and the name that follows from it."""
    approach: Approach = "finetune" if combination is None else "features"
    layers = None if combination is None else combination.name
    precision = find_precision(options.precision, options.device)
    if combination is not None and options.device.kind == "cuda":
        precision = "fp32"  # cuDNN's LSTM knows no bf16 autocast: see BiLSTMTagger
    check_tag_scheme(options.tag_scheme)
    check_trained_splits(corpus, options.settings)
    signature = make_signature(
        corpus,
        encoding,
        options.device,
        training_precision=precision,
        tag_scheme=options.tag_scheme,
    )
    weighted = combination is not None and combination.mode == "weighted"
    flat = used_settings(options.settings, approach, weighted=weighted)
    name = run_name(signature, approach, layers, flat, options.seed)
    base = None
    if options.settings.train_on != "train":
        on_train = dataclasses.replace(options.settings, train_on="train")
        base_options = dataclasses.replace(options, settings=on_train)
        base = _named(corpus, encoding, base_options, combination, model_source)
    return PlannedRun(
        Path(options.runs_dir) / name,
        approach,
        combination,
        signature,
        flat,
        options,
        model_source,
        base,
    )

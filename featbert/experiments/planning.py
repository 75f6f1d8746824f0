"""Runs that are named but not yet trained: all checks, and whether the work is done already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from featbert.comparison import Run
from featbert.comparison.record import (
    RECORD_NAME,
    Approach,
    RecordError,
    Signature,
    read_record,
)
from featbert.data.corpus import Corpus
from featbert.experiments.identity import (
    Encoding,
    check_same_text,
    check_trainable,
    make_signature,
    run_name,
    run_settings,
)
from featbert.features.alignment import check_context
from featbert.features.device import Device, find_precision
from featbert.features.layers import LayerCombination, parse_layers
from featbert.features.source import EncoderSource
from featbert.features.store import Manifest
from featbert.training.settings import TrainingSettings


@dataclass(frozen=True)
class RunOptions:
    """What a run of either approach is told beside its corpus and encoder.

    Attributes:
        settings: of tagger and training.
        runs_dir: folder that its own folder is made in.
        precision: to compute in; "auto" asks the device.
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


@dataclass(frozen=True)
class PlannedRun:
    """A run before it is trained.

    Attributes:
        folder: where it will be, or already is.
        combination: layers it reads; None for fine-tuning.
        settings: those of its options that play a part, flat.
        model_source: folder or name that finds the encoder again.
    """

    folder: Path
    approach: Approach
    combination: LayerCombination | None
    signature: Signature
    settings: dict[str, Any]
    options: RunOptions
    model_source: str

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
            RecordError: the folder of this name holds another run.
        """
        if not (self.folder / RECORD_NAME).is_file():
            return None
        try:
            record = read_record(self.folder)
        except RecordError as error:
            raise RecordError(f"{error}; --overwrite trains the run again") from None
        found = (record.layers, record.seed, record.settings, record.signature.splits)
        if found != (self.layers, self.seed, self.settings, self.signature.splits):
            raise RecordError(
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
    source: EncoderSource, corpus: Corpus, options: RunOptions, *, context: str, pooling: str
) -> PlannedRun:
    """A fine-tuned run.

    Raises:
        FeatbertError: an untrainable corpus, or document context without documents.
    """
    check_trainable(corpus)
    for split in corpus.splits.values():
        check_context(context, has_documents=split.has_documents)
    precision = find_precision(options.precision, options.device)
    encoding = Encoding.of_encoder(source, context=context, pooling=pooling, precision=precision)
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
    signature = make_signature(corpus, encoding, options.device, precision)
    weighted = combination is not None and combination.mode == "weighted"
    flat = run_settings(options.settings, approach, weighted=weighted)
    name = run_name(signature, approach, layers, flat, options.seed)
    return PlannedRun(
        Path(options.runs_dir) / name, approach, combination, signature, flat, options, model_source
    )

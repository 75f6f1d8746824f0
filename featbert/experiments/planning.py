"""Runs that are named but not yet trained: all checks, and whether the work is done already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from featbert.comparison import Run
from featbert.comparison.record import RECORD_NAME, Approach, Signature, read_record
from featbert.data.corpus import Corpus
from featbert.experiments.identity import (
    check_same_text,
    check_trainable,
    features_signature,
    finetune_signature,
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
class PlannedRun:
    """A run before it is trained.

    Attributes:
        folder: where it will be, or already is.
        combination: layers it reads; None for fine-tuning.
        settings: those that play a part, flat.
    """

    folder: Path
    approach: Approach
    combination: LayerCombination | None
    seed: int
    signature: Signature
    settings: dict[str, Any]
    experiment: str | None
    vary: tuple[str, ...]

    @property
    def layers(self) -> str | None:
        """Canonical name of the layer combination."""
        return None if self.combination is None else self.combination.name

    @property
    def finished(self) -> Run | None:
        """The run, where it is finished already."""
        if not (self.folder / RECORD_NAME).is_file():
            return None
        return Run(self.folder, read_record(self.folder))


def plan_features_run(
    manifest: Manifest,
    store_path: Path,
    corpus: Corpus,
    layers: str,
    *,
    seed: int,
    settings: TrainingSettings,
    runs_dir: str | Path,
    device: Device,
    precision: str = "auto",
    experiment: str | None = None,
    vary: Sequence[str] = (),
) -> PlannedRun:
    """A run on the store with this manifest, which need not exist yet.

    Raises:
        FeatbertError: layers the encoder lacks, an untrainable corpus, or another text.
    """
    combination = parse_layers(layers, manifest.num_layers)
    check_trainable(corpus)
    check_same_text(manifest, store_path, corpus)
    signature = features_signature(manifest, corpus, device, find_precision(precision, device))
    flat = run_settings(settings, "features", weighted=combination.mode == "weighted")
    name = run_name(signature, "features", combination.name, flat, seed)
    return PlannedRun(
        Path(runs_dir) / name,
        "features",
        combination,
        seed,
        signature,
        flat,
        experiment,
        tuple(vary),
    )


def plan_finetune_run(
    source: EncoderSource,
    corpus: Corpus,
    *,
    seed: int,
    settings: TrainingSettings,
    context: str,
    pooling: str,
    runs_dir: str | Path,
    device: Device,
    precision: str = "auto",
    experiment: str | None = None,
    vary: Sequence[str] = (),
) -> PlannedRun:
    """A fine-tuned run.

    Raises:
        FeatbertError: an untrainable corpus, or document context without documents.
    """
    check_trainable(corpus)
    for split in corpus.splits.values():
        check_context(context, has_documents=split.has_documents)
    signature = finetune_signature(
        corpus,
        source,
        device,
        context=context,
        pooling=pooling,
        precision=find_precision(precision, device),
    )
    flat = run_settings(settings, "finetune")
    name = run_name(signature, "finetune", None, flat, seed)
    return PlannedRun(
        Path(runs_dir) / name, "finetune", None, seed, signature, flat, experiment, tuple(vary)
    )

"""A run's tagger with its inputs: all that the two approaches do not share.

features   store of the corpus ─▶ FeatureInputs ─▶ BiLSTMTagger
finetune   words of the corpus ─▶ PieceInputs   ─▶ FineTuneTagger
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from featbert.data.corpus import Corpus, Split, joined
from featbert.data.share import drawn_part, drawn_sentences
from featbert.encoders.alignment import Alignment, align
from featbert.encoders.encoder import load_encoder
from featbert.encoders.encoding import Context, Pooling, Reading
from featbert.encoders.layers import LayerCombination
from featbert.encoders.memory import FROZEN_BYTES, TRAINED_BYTES, check_memory
from featbert.encoders.source import EncoderSource
from featbert.features.store import FeatureStore
from featbert.models.bilstm import BiLSTMTagger
from featbert.models.finetuned import FineTuneTagger
from featbert.runs.labels import train_labels
from featbert.runs.planning import PlannedRun
from featbert.runs.recording import summed_counts
from featbert.training.inputs import FeatureInputs, Inputs, PieceInputs
from featbert.training.settings import TrainingSettings

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Prepared:
    """What a run trains and on what.

    Attributes:
        tagger: on its device, weights as the seed gives them.
        train: what it learns from: one split or a part of it, or train and dev as one.
        labels: that it learns, "O" first.
        inputs: "train" for what it learns from, and by name the splits it is scored on.
        counts: what was unusual in the text, by name.
        store: the features it reads, None for fine-tuning.
    """

    tagger: nn.Module
    train: Split
    labels: tuple[str, ...]
    inputs: Mapping[str, Inputs]
    counts: dict[str, int]
    store: FeatureStore | None


def evaluated_splits(plan: PlannedRun, corpus: Corpus) -> list[Split]:
    """Dev and test, those that exist and are not learned from."""
    learned = plan.options.settings.trained_splits
    return [corpus[name] for name in ("dev", "test") if name in corpus and name not in learned]


def learned_text(plan: PlannedRun, corpus: Corpus) -> Split:
    """The sentences that a run learns from, the same for both approaches."""
    settings = plan.options.settings
    whole = joined([corpus[name] for name in settings.trained_splits])
    return drawn_part(whole, settings.train_share, seed=plan.seed)


def prepare_features(plan: PlannedRun, store: FeatureStore, corpus: Corpus) -> Prepared:
    """The tagger and inputs of a run on frozen features.

    Raises:
        InputError: the store lacks a layer that the run reads.
    """
    combination, device = plan.combination, plan.options.device
    assert combination is not None
    store.require(combination.indices)
    settings = plan.options.settings
    train = learned_text(plan, corpus)
    labels = train_labels(train, plan.signature.tag_scheme)
    _check_room(plan, combination, store.manifest.hidden_size, len(labels))
    torch.manual_seed(plan.seed)
    tagger = bilstm_tagger(combination, store.manifest.hidden_size, len(labels), settings)
    drawn = None
    if settings.train_share != 1:
        drawn = drawn_sentences(corpus["train"], settings.train_share, seed=plan.seed)

    def read(*splits: str, sentences: Ints | None = None) -> FeatureInputs:
        return FeatureInputs.of_store(store, splits, combination, device.torch, sentences=sentences)

    return Prepared(
        tagger.to(device.torch),
        train,
        labels,
        {"train": read(*settings.trained_splits, sentences=drawn)}
        | {split.name: read(split.name) for split in evaluated_splits(plan, corpus)},
        summed_counts(s.counts for s in store.manifest.splits.values()),
        store,
    )


def _check_room(
    plan: PlannedRun, combination: LayerCombination, hidden_size: int, n_labels: int
) -> None:
    """Refuses a tagger that is too large; vectors that are too many stay on disk."""
    try:
        with torch.device("meta"):  # shapes alone
            tagger = bilstm_tagger(combination, hidden_size, n_labels, plan.options.settings)
        parameters = sum(p.numel() for p in tagger.parameters())
    except (RuntimeError, OverflowError):  # more than can be counted
        parameters = 1 << 60
    check_memory(
        parameters * TRAINED_BYTES,
        plan.options.device,
        what="training the tagger (weights, gradients, moments)",
        less="give a smaller --hidden-size, or a combination of fewer layers",
    )


def bilstm_tagger(
    combination: LayerCombination, hidden_size: int, n_labels: int, settings: TrainingSettings
) -> BiLSTMTagger:
    """The tagger of a features run, with fresh weights: for training, and to load a run's into."""
    return BiLSTMTagger(
        combination,
        hidden_size,
        n_labels,
        lstm_size=settings.lstm_size,
        lstm_layers=settings.lstm_layers,
        dropout=settings.dropout,
    )


def prepare_finetune(plan: PlannedRun, source: EncoderSource, corpus: Corpus) -> Prepared:
    """The tagger and inputs of a fine-tuned run."""
    signature, device = plan.signature, plan.options.device
    settings = plan.options.settings
    train = learned_text(plan, corpus)
    labels = train_labels(train, signature.tag_scheme)
    # Layers that stay frozen take their weights alone.
    each = TRAINED_BYTES if settings.freeze_to is None else FROZEN_BYTES
    check_memory(
        (source.parameters or 0) * each,
        device,
        what=f"fine-tuning {source.name} (weights, gradients, moments)",
        less="train on its frozen features (featbert train), or use a smaller encoder",
    )
    torch.manual_seed(plan.seed)
    encoder = load_encoder(source, pooling=cast(Pooling, signature.pooling))
    tagger = FineTuneTagger(encoder, len(labels), dropout=settings.dropout).to(device.torch)
    reading = Reading(corpus, signature.casing)

    def aligned(split: Split) -> Alignment:
        return align(
            reading(split.sentences),
            encoder.wordpieces,
            positions=encoder.positions,
            context=cast(Context, signature.context),
        )

    alignments = {"train": aligned(train)}
    alignments |= {split.name: aligned(split) for split in evaluated_splits(plan, corpus)}
    return Prepared(
        tagger,
        train,
        labels,
        {name: PieceInputs(a, encoder, device.torch) for name, a in alignments.items()},
        summed_counts(a.counts for a in alignments.values()),
        None,
    )

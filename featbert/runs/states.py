"""The states of a run: from a store of frozen features, or from an encoder that is tuned.

Only these two classes differ between the rows of a comparison.
"""

from collections import Counter
from collections.abc import Sequence

import torch

from featbert.config import Settings
from featbert.data.corpus import Corpus, Sentence
from featbert.encoders.batching import Ints
from featbert.encoders.encoder import Encoder
from featbert.encoders.encoding import WordCasing
from featbert.encoders.layers import LayerCombination
from featbert.encoders.loading import load_encoder
from featbert.encoders.memory import FROZEN_BYTES, TRAINED_BYTES, check_memory
from featbert.encoders.source import EncoderSource
from featbert.encoders.tunings import get_tuning
from featbert.errors import spelling
from featbert.features.store import FeatureStore
from featbert.models.combination import CombineLayers
from featbert.models.model import Model
from featbert.runs.planned import PlannedRun
from featbert.runs.record import Signature
from featbert.tasks.base import TargetSummary
from featbert.training.assembly import make_model
from featbert.training.inputs import Inputs, PieceInputs, stored_inputs


def new_model(
    source: LayerCombination | EncoderSource,
    signature: Signature,
    targets: TargetSummary,
    settings: Settings,
) -> Model:
    """A model with a new head, on stored layers or on an encoder that is loaded to be tuned."""
    states: CombineLayers | Encoder
    if isinstance(source, LayerCombination):
        states = CombineLayers(source, signature.encoder_hidden_size)
    else:
        pooler = settings.sentence_pooling == "pooler"
        states = load_encoder(source, pooling=signature.pooling, pooler=pooler)
    return make_model(states, targets, settings, 2 if signature.packing == "apart" else 1)


class StoredStates:
    """States of a store. `counts` counts unusual texts, words and tags."""

    def __init__(self, plan: PlannedRun, store: FeatureStore, settings: Settings) -> None:
        assert plan.combination is not None
        self.store, self.combination = store, plan.combination
        self.settings, self.signature = settings, plan.signature
        self.device = plan.options.device
        self.counts = Counter[str]()
        for split in store.manifest.splits.values():
            self.counts.update(split.counts)

    def model(self, targets: TargetSummary) -> Model:
        """A model with a new head, on the device. Its weights follow torch's random state."""
        parts = (self.combination, self.signature, targets, self.settings)
        try:
            with torch.device("meta"):  # only shapes
                parameters = sum(p.numel() for p in new_model(*parts).parameters())
        except (RuntimeError, OverflowError):  # too many to count
            parameters = 1 << 60
        check_memory(
            parameters * TRAINED_BYTES,
            self.device,
            what="training the head (weights, gradients, moments)",
            less=f"use a smaller {spelling('lstm_size')}, or a combination of fewer layers",
        )
        return new_model(*parts).to(self.device.torch)

    def inputs(
        self, names: Sequence[str], sentences: Sequence[Sentence], numbers: Ints | None = None
    ) -> Inputs:
        """Inputs for sentences of the splits `names`, one split after the other.

        `numbers` are the places of the sentences in these splits. None: all.
        """
        store, layers, reads = self.store, self.combination, self.settings.reads
        device = self.device.torch
        return stored_inputs(
            store, names, layers, reads, device, chosen=numbers, sentences=sentences
        )


class TunedStates:
    """States of an encoder that is tuned. `model` loads it. See `StoredStates`."""

    store = None
    encoder: Encoder

    def __init__(
        self, plan: PlannedRun, source: EncoderSource, settings: Settings, corpus: Corpus
    ) -> None:
        self.source, self.signature, self.settings = source, plan.signature, settings
        self.word_casing = WordCasing(corpus, plan.signature.casing)
        self.device = plan.options.device
        self.counts = Counter[str]()

    def model(self, targets: TargetSummary) -> Model:
        # A partly trained encoder takes little more memory than a frozen one.
        settings, layers = self.settings, self.signature.encoder_layers
        whole = get_tuning(settings.tuning).trains("", 0, settings, layers, settings.epochs)
        check_memory(
            (self.source.parameters or 0) * (TRAINED_BYTES if whole else FROZEN_BYTES),
            self.device,
            what=f"tuning {self.source.name} (weights, gradients, moments)",
            less="train on its frozen features (featbert train), or use a smaller encoder",
        )
        model = new_model(self.source, self.signature, targets, settings).to(self.device.torch)
        assert model.encoder is not None
        self.encoder = model.encoder
        return model

    def inputs(
        self, names: Sequence[str], sentences: Sequence[Sentence], numbers: Ints | None = None
    ) -> Inputs:
        context, packing = self.signature.context, self.signature.packing
        alignment = self.encoder.align(self.word_casing(sentences), context, packing)
        self.counts.update(alignment.counts)
        reads, device = self.settings.reads, self.device.torch
        return PieceInputs(alignment, self.encoder, device, reads=reads)

"""Where a run's states come from: a store of frozen features, or an encoder that is tuned.

This is all that the rows of a comparison do not share.
"""

from collections import Counter
from collections.abc import Sequence

import torch

from featbert.config import Settings
from featbert.data.corpus import Corpus, Sentence
from featbert.encoders.alignment import Alignment, align
from featbert.encoders.batching import Ints
from featbert.encoders.device import Device
from featbert.encoders.encoder import Encoder, load_encoder
from featbert.encoders.encoding import Reading
from featbert.encoders.layers import LayerCombination
from featbert.encoders.memory import FROZEN_BYTES, TRAINED_BYTES, check_memory
from featbert.encoders.source import EncoderSource
from featbert.encoders.tunings import get_tuning
from featbert.features.store import FeatureStore
from featbert.models.model import Model, stored_model, tuned_model
from featbert.runs.record import Signature
from featbert.training.inputs import Inputs, PieceInputs, stored_inputs


class StoredStates:
    """States of a store, which has the layers; `counts` are what was unusual in its texts."""

    def __init__(
        self, store: FeatureStore, combination: LayerCombination, settings: Settings, device: Device
    ) -> None:
        store.require(combination.indices)
        self.store, self.combination, self.device = store, combination, device
        self.reads, self.texts = settings.reads, store.manifest.texts
        self.counts = Counter[str]()
        for split in store.manifest.splits.values():
            self.counts.update(split.counts)

    def model(self, classes: tuple[str, ...], settings: Settings) -> Model:
        """A model with a new head, on the device; weights follow torch's random state."""
        hidden_size = self.store.manifest.hidden_size
        try:
            with torch.device("meta"):  # shapes alone
                model = stored_model(self.combination, hidden_size, classes, settings, self.texts)
            parameters = sum(p.numel() for p in model.parameters())
        except (RuntimeError, OverflowError):  # more than can be counted
            parameters = 1 << 60
        check_memory(
            parameters * TRAINED_BYTES,
            self.device,
            what="training the head (weights, gradients, moments)",
            less="use a smaller --lstm-size, or a combination of fewer layers",
        )
        made = stored_model(self.combination, hidden_size, classes, settings, self.texts)
        return made.to(self.device.torch)

    def inputs(
        self, names: Sequence[str], sentences: Sequence[Sentence], numbers: Ints | None = None
    ) -> Inputs:
        """Inputs for sentences of the splits `names`, which follow one another.

        `numbers` are those of the sentences in these splits; None for all.
        """
        where, layers = self.device.torch, self.combination
        return stored_inputs(self.store, names, layers, self.reads, where, numbers, sentences)


class TunedStates:
    """States of an encoder that is tuned; see `StoredStates`."""

    store = None

    def __init__(
        self,
        source: EncoderSource,
        signature: Signature,
        settings: Settings,
        reading: Reading,
        device: Device,
    ) -> None:
        self.source, self.signature, self.reads = source, signature, settings.reads
        self.reading, self.device = reading, device
        self.counts = Counter[str]()
        self.encoder: Encoder | None = None

    def model(self, classes: tuple[str, ...], settings: Settings) -> Model:
        # What is trained in part takes little more than what is frozen.
        trains, layers = get_tuning(settings.tuning).trains, self.signature.encoder_layers
        whole = trains("", 0, settings, layers, settings.epochs)
        each = TRAINED_BYTES if whole else FROZEN_BYTES
        check_memory(
            (self.source.parameters or 0) * each,
            self.device,
            what=f"tuning {self.source.name} (weights, gradients, moments)",
            less="train on its frozen features (featbert train), or use a smaller encoder",
        )
        pooler = settings.sentence_pooling == "pooler"
        self.encoder = load_encoder(self.source, pooling=self.signature.pooling, pooler=pooler)
        texts = 2 if self.signature.packing == "apart" else 1
        return tuned_model(self.encoder, classes, settings, texts).to(self.device.torch)

    def inputs(
        self, names: Sequence[str], sentences: Sequence[Sentence], numbers: Ints | None = None
    ) -> Inputs:
        if self.encoder is None:
            raise RuntimeError("the model comes before its inputs")
        alignment = aligned(self.reading(sentences), self.encoder, self.signature)
        self.counts.update(alignment.counts)
        return PieceInputs(alignment, self.encoder, self.device.torch, reads=self.reads)


def aligned(sentences: Sequence[Sentence], encoder: Encoder, signature: Signature) -> Alignment:
    """Sentences in subwords and windows of the encoder, as the run with this signature has them."""
    return align(
        sentences,
        encoder.wordpieces,
        positions=encoder.positions,
        context=signature.context,
        packing=signature.packing,
    )


def training_states(
    material: FeatureStore | EncoderSource,
    combination: LayerCombination | None,
    signature: Signature,
    settings: Settings,
    corpus: Corpus,
    device: Device,
) -> StoredStates | TunedStates:
    """The states of a run on a store, or on an encoder; `corpus` says the casing of words."""
    if isinstance(material, FeatureStore):
        assert combination is not None
        return StoredStates(material, combination, settings, device)
    return TunedStates(material, signature, settings, Reading(corpus, signature.casing), device)

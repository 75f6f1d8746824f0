"""Which layers learn, and how fast: frozen lower layers, gradual unfreezing, rates by layer.

Depths count from the bottom: 0 the embeddings, 1..L the layers, L + 1 the classifier. Gradual
unfreezing (Howard and Ruder 2018, section 3.3; Baumann 2019 in groups of layers): the first epoch
trains the classifier alone, each further epoch one group of K layers more, from the top; the
embeddings come with the lowest group. Discriminative rates (section 3.2 there): a parameter at
depth d learns at eta / delta^(L + 1 - d), so the classifier at eta, the top layer at eta / delta.
Frozen layers run without dropout: they give the states that frozen features hold.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import nn

from featbert.training.settings import SettingsError, TrainingSettings


@runtime_checkable
class Layered(Protocol):
    """A tagger whose parameters stand in layers.

    Attributes:
        num_layers: L.
    """

    num_layers: int

    def parameter_depths(self) -> dict[str, int]:
        """Depth by parameter name: 0 embeddings, 1..L layers, L + 1 the classifier."""

    def freeze_below(self, depth: int) -> None:
        """From now on only parameters at `depth` and above are trained."""


def lowest_trained(settings: TrainingSettings, num_layers: int, epoch: int) -> int:
    """The lowest depth that is trained in an epoch (from 1)."""
    frozen = 0 if settings.freeze_to is None else settings.freeze_to + 1
    if settings.unfreeze is None:
        return frozen
    reached = num_layers + 1 - settings.unfreeze * (epoch - 1)
    return max(frozen, reached if reached > 1 else 0)


def freeze_for_epoch(tagger: nn.Module, settings: TrainingSettings, epoch: int) -> None:
    """Freezes what does not learn in this epoch; nothing at all by default."""
    if settings.freeze_to is None and settings.unfreeze is None:
        return
    layered = as_layered(tagger)
    layered.freeze_below(lowest_trained(settings, layered.num_layers, epoch))


def as_layered(tagger: nn.Module) -> Layered:
    """The tagger, where it stands in layers; raises SettingsError where it does not."""
    if not isinstance(tagger, Layered):
        raise SettingsError(
            "a fine-tuned tagger expected for freezing and rates by layer, found "
            f"{type(tagger).__name__}; a tagger on frozen features has no layers to freeze"
        )
    return tagger

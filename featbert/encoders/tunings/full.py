"""Fine-tuning: the whole encoder, or its upper layers.

Gradual unfreezing (Howard and Ruder 2018, section 3.3; Baumann 2019 in groups of layers): the first
epoch trains the head alone, each further epoch one group of layers more, from the top; the
embeddings come with the lowest group.
"""

from __future__ import annotations

from typing import Any

from featbert.encoders.tunings.base import Tuning


def lowest_trained(settings: Any, num_layers: int, epoch: int) -> int:
    """The lowest depth that is trained in an epoch (from 1); L + 1 is the head alone."""
    frozen = 0 if settings.freeze_to is None else settings.freeze_to + 1
    if settings.unfreeze is None:
        return frozen
    reached = num_layers + 1 - settings.unfreeze * (epoch - 1)
    return max(frozen, reached if reached > 1 else 0)


def _trains(name: str, depth: int, settings: Any, num_layers: int, epoch: int) -> bool:
    return depth >= lowest_trained(settings, num_layers, epoch)


TUNING = Tuning(
    "full",
    "fine-tuning",
    {"body": "linear"},
    _trains,
    settings=("discriminative", "unfreeze", "freeze_to"),
)

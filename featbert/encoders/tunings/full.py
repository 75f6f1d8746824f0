"""Fine-tuning: the whole encoder, or its upper layers.

Gradual unfreezing (Howard and Ruder 2018, section 3.3; Baumann 2019 in groups of layers): the first
epoch trains the head alone, each further epoch one group of layers more, from the top; the
embeddings come with the lowest group.
"""

from __future__ import annotations

from typing import Any

from featbert.encoders.tunings.base import Tuning


def _trains(name: str, depth: int, settings: Any, num_layers: int, epoch: int) -> bool:
    if settings.freeze_to is not None and depth <= settings.freeze_to:
        return False
    if settings.unfreeze is None:
        return True
    # The lowest depth that is unfrozen; L + 1 is the head alone.
    lowest: int = num_layers + 1 - settings.unfreeze * (epoch - 1)
    return depth >= lowest or lowest <= 1


TUNING = Tuning(
    "full",
    "fine-tuning",
    {"body": "linear"},
    _trains,
    settings=("discriminative", "unfreeze", "freeze_to"),
)

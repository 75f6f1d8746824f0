"""Words to wordpieces and back, layer combinations by name, the encoder, extraction, the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.lazy import attach

if TYPE_CHECKING:
    from featbert.features.alignment import Alignment, align
    from featbert.features.device import Device, find_device, find_precision
    from featbert.features.encoder import Encoder, load_encoder
    from featbert.features.extraction import extract
    from featbert.features.extraction_plan import plan_extraction
    from featbert.features.layers import LayerCombination, parse_layers
    from featbert.features.source import EncoderSource, find_encoder
    from featbert.features.store import FeatureStore

__all__ = [
    "Alignment",
    "Device",
    "Encoder",
    "EncoderSource",
    "FeatureStore",
    "LayerCombination",
    "align",
    "extract",
    "find_device",
    "find_encoder",
    "find_precision",
    "load_encoder",
    "parse_layers",
    "plan_extraction",
]
__getattr__, __dir__ = attach(
    __name__,
    {
        "Alignment": "featbert.features.alignment",
        "Device": "featbert.features.device",
        "Encoder": "featbert.features.encoder",
        "EncoderSource": "featbert.features.source",
        "FeatureStore": "featbert.features.store",
        "LayerCombination": "featbert.features.layers",
        "align": "featbert.features.alignment",
        "extract": "featbert.features.extraction",
        "find_device": "featbert.features.device",
        "find_encoder": "featbert.features.source",
        "find_precision": "featbert.features.device",
        "load_encoder": "featbert.features.encoder",
        "parse_layers": "featbert.features.layers",
        "plan_extraction": "featbert.features.extraction_plan",
    },
)

"""Where things are in a store's file, and the checksums over them.

/<split>/layers/00 .. /<split>/layers/LL   (N, H) float16 or float32
/<split>/offsets                           (S + 1,) int64, words before each sentence
/<split>/blocks                            (K + 1,) int64, words before each block
/<split>/checksums                         (layers, K) CRC-32 of each block of a layer
attrs: format_version, manifest (JSON), checksum (CRC-32 of manifest and offsets), complete
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def layer_path(split: str, layer: int) -> str:
    """The dataset of one layer of a split."""
    return f"{split}/layers/{layer:02d}"


def checksum(rows: NDArray[Any], start: int = 0) -> int:
    """CRC-32 of an array's bytes."""
    buffer: Any = np.ascontiguousarray(rows)  # numpy states no buffer type before Python 3.12
    return zlib.crc32(buffer, start)


def frame_checksum(manifest: str, offsets: dict[str, NDArray[np.int64]]) -> int:
    """CRC-32 over the manifest's text and the offsets of all splits."""
    value = zlib.crc32(manifest.encode())
    for name in sorted(offsets):
        value = checksum(offsets[name].astype("<i8"), value)
    return value

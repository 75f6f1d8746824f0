"""Where sentences, units and blocks begin in a store, and the checksums of its parts."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from featbert.data.corpus import Sentence
from featbert.encoders.batching import Ints
from featbert.encoders.encoding import texts_of
from featbert.features.manifest import FORMAT_VERSION, Manifest

# File patterns of a folder of shards.
SHARD_FILES = ("*.h5", "*.h5.partial", "*.h5.journal")


@dataclass(frozen=True)
class SplitIndex:
    """Where the parts of a split begin.

    Attributes:
        offsets: (S + 1,) words before each sentence.
        units: (U + 1,) words before each unit.
        blocks: (K + 1,) units before each block.
        texts: (S, 2) units of both texts of each pair. None unless they are encoded apart.
    """

    offsets: Ints
    units: Ints
    blocks: Ints
    texts: Ints | None = None

    @property
    def n_blocks(self) -> int:
        return len(self.blocks) - 1

    def places(self, kind: str = "words") -> Ints:
        """(S, T, 2) first and end vector of each text of each sentence.

        T is 2 for pairs that are encoded apart, else 1. Vectors of units need sentence context.
        """
        texts = np.arange(len(self.offsets) - 1)[:, None] if self.texts is None else self.texts
        begins = self.offsets if self.texts is None else self.units
        begins = begins if kind == "words" else np.arange(len(self.units))
        return np.stack([begins[texts], begins[texts + 1]], axis=2)

    def edges(self, kind: str) -> Ints:
        """(K + 1,) vectors of a kind before each block."""
        return self.units[self.blocks] if kind == "words" else self.blocks


def index_of(
    sentences: Sequence[Sentence], context: str, packing: str | None, block_words: int
) -> SplitIndex:
    """The index of a split, which depends only on its words and documents."""
    offsets = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
    _, texts, units = texts_of(sentences, context, packing)
    blocks = block_edges(units, block_words)
    return SplitIndex(offsets, units, blocks, texts if packing == "apart" else None)


def block_edges(unit_words: Ints, block_words: int) -> Ints:
    """(K + 1,) units before each block. All blocks but the last have at least `block_words` words.

    `unit_words` are (U + 1,) words before each unit. No batch crosses the edge of a block.
    """
    n_units, edges = len(unit_words) - 1, [0]
    while edges[-1] < n_units:
        end = np.searchsorted(unit_words, unit_words[edges[-1]] + block_words)
        edges.append(min(int(end), n_units))
    return np.array(edges)


def dataset_name(split: str, layer: int, kind: str = "words") -> str:
    """Name of the dataset with one layer of a split."""
    return f"{split}/{'layers' if kind == 'words' else kind}/{layer:02d}"


def shards_folder(path: Path) -> Path:
    """The folder with the shards of the set `path`."""
    return path.with_suffix(".shards")


def checksum(rows: NDArray[Any], start: int = 0) -> int:
    """CRC-32 of an array's bytes."""
    buffer: Any = np.ascontiguousarray(rows)  # numpy states no buffer type before Python 3.12
    return zlib.crc32(buffer, start)


def frame_checksum(manifest: str, indexes: Mapping[str, SplitIndex]) -> int:
    """CRC-32 over the manifest's text, and offsets, units and texts of all splits."""
    value = zlib.crc32(manifest.encode())
    for name in sorted(indexes):
        for numbers in (indexes[name].offsets, indexes[name].units, indexes[name].texts):
            value = value if numbers is None else checksum(numbers.astype("<i8"), value)
    return value


def write_index(file: h5py.File, split: str, index: SplitIndex) -> None:
    """Writes the arrays of an index as datasets of a split."""
    for name, numbers in vars(index).items():
        if numbers is not None:
            file[f"{split}/{name}"] = numbers


def write_attributes(
    file: h5py.File, manifest: Manifest, indexes: Mapping[str, SplitIndex]
) -> None:
    """Writes the attributes that make a file with all its datasets a finished store."""
    text = manifest.to_json()
    file.attrs["format_version"] = FORMAT_VERSION
    # Bytes of fixed length: HDF5 keeps other text in a separate heap, and walks a damaged heap
    # without end.
    file.attrs["manifest"] = np.bytes_(text.encode())
    file.attrs["checksum"] = frame_checksum(text, indexes)
    file.attrs["complete"] = True

"""Reading a feature store: one contiguous dataset a layer, so that a layer costs a layer."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from featbert.encoders.layers import parse_layers
from featbert.errors import FeatbertError, InputError, MissingError, nearest_path
from featbert.features.store.layout import checksum, frame_checksum, layer_path
from featbert.features.store.manifest import (
    FORMAT_VERSION,
    Manifest,
    ManifestError,
    check_version,
    manifest_from_json,
)
from featbert.progress import stage, track

# Blocks of each layer whose checksum ordinary reading compares.
SAMPLED_BLOCKS = 3
# What h5py and numpy raise on bytes that make no sense: any of these, depending on the byte.
DAMAGE = (OSError, RuntimeError, LookupError, ValueError, TypeError, OverflowError, MemoryError)


class StoreError(InputError):
    """A store that is damaged, foreign, incomplete, or lacks what was asked of it."""


class StoreNotFoundError(MissingError):
    """No store at this path."""


class FeatureStore:
    """A finished store on disk. It keeps a path, not an open file, so it may cross processes.

    Attributes:
        path: the HDF5 file.
        manifest: what it holds; checked against the file when the store is opened.
    """

    def __init__(self, path: str | Path) -> None:
        """Opens the store, checks manifest, offsets and sizes, and closes it again.

        Raises:
            StoreNotFoundError: no such file.
            StoreError: not a finished, intact featbert store.
        """
        self.path = Path(path)
        if not self.path.is_file():
            near = nearest_path(self.path, "*.h5")
            what = "a folder, not a .h5 file in it" if self.path.is_dir() else f"no file{near}"
            raise StoreNotFoundError(
                f"a feature store expected, {self.path} is {what}; featbert extract makes one"
            )
        if not h5py.is_hdf5(self.path):
            raise StoreError(
                f"a feature store expected, {self.path} is no HDF5 file; name a store that "
                "featbert extract made"
            )
        with self._open() as file:
            if not file.attrs.get("complete", False) or "manifest" not in file.attrs:
                raise StoreError(
                    f"a finished feature store expected, {self.path} is none; "
                    "featbert extract makes one or finishes it"
                )
            text = file.attrs["manifest"]
            if isinstance(text, bytes):  # older stores have text
                text = text.decode()
            try:
                check_version(file.attrs.get("format_version"), where=str(self.path))
                self.manifest: Manifest = manifest_from_json(text, where=str(self.path))
            except ManifestError as error:
                raise StoreError(str(error)) from None
            self._offsets = {
                name: self._numbers(file, f"{name}/offsets", (split.sentences + 1,))
                for name, split in self.manifest.splits.items()
            }
            if int(file.attrs.get("checksum", -1)) != frame_checksum(text, self._offsets):
                raise StoreError(self._damaged("manifest or offsets do not match their checksum"))
            self._check_shapes(file)

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits it holds."""
        return tuple(self.manifest.splits)

    @property
    def layers(self) -> tuple[int, ...]:
        """Hidden states it holds, rising; 0 is the embeddings."""
        return self.manifest.layers

    @property
    def file_bytes(self) -> int:
        """Size on disk."""
        return self.path.stat().st_size

    def offsets(self, split: str) -> NDArray[np.int64]:
        """(S + 1,) words before each sentence of a split."""
        offsets: NDArray[np.int64] = self._offsets[self._known(split)]
        return offsets

    def __repr__(self) -> str:
        m = self.manifest
        return f"FeatureStore({str(self.path)!r}: {m.words} words, layers {list(self.layers)})"

    def read(
        self, split: str, layers: Sequence[int] | str | None = None, *, words: slice | None = None
    ) -> NDArray[Any]:
        """Hidden states in the stored precision; reads the named layers and nothing else.

        Args:
            layers: (k,) hidden states in the order wanted, or the name of a combination (its
                states, uncombined); all that the store holds by default.
            words: a contiguous run of words; all by default.

        Returns:
            (k, N, H), or (k, n, H) for a run of n words.

        Raises:
            StoreError: a split or layer that the store lacks, or damage.
        """
        if isinstance(layers, str):
            layers = parse_layers(layers, self.manifest.num_layers).indices
        wanted = self.layers if layers is None else tuple(layers)
        self.require(wanted)
        n_words = self.manifest.splits[self._known(split)].words
        start, stop, step = (words or slice(None)).indices(n_words)
        if step != 1:
            raise StoreError(f"a contiguous run of words expected, found a step of {step}")
        stop = max(start, stop)
        out = np.empty((len(wanted), stop - start, self.manifest.hidden_size), self.manifest.dtype)
        with self._open() as file:
            blocks, sums = self._blocks(file, split), self._sums(file, split)
            layers_read = track(wanted, f"reading vectors of {split}", "layers")
            for row, layer in zip(out, layers_read, strict=True):
                if len(row):
                    dataset = self._dataset(file, layer_path(split, layer))
                    dataset.read_direct(row, np.s_[start:stop])
                    where = (split, layer, start)
                    self._check_sample(row, blocks, sums[self.layers.index(layer)], where)
        return out

    def mapped(self, split: str, layers: Sequence[int]) -> list[NDArray[Any]]:
        """The same states as k arrays (N, H) that lie on disk and are read where they are touched.

        For what is larger than memory: the system keeps as much of it as there is room for.

        Raises:
            StoreError: a split or layer that the store lacks, or damage in the blocks that `read`
                compares, too.
        """
        self.require(layers)
        shape = (self.manifest.splits[self._known(split)].words, self.manifest.hidden_size)
        if not shape[0]:
            return [np.empty(shape, self.manifest.dtype) for _ in layers]
        with self._open() as file:
            places = [self._dataset(file, layer_path(split, k)).id.get_offset() for k in layers]
            blocks = self._blocks(file, split)
        for k in _sampled(len(blocks) - 1):
            self.read(split, layers, words=slice(int(blocks[k]), int(blocks[k + 1])))
        with self.path.open("rb") as file:
            # Writes, which nobody makes, would stay in memory; torch wants writable arrays.
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        if hasattr(mmap, "MADV_RANDOM"):
            # Sentences are drawn at random: reading ahead would read many times as much.
            mapped.madvise(mmap.MADV_RANDOM)
        numbers = int(np.prod(shape))
        return [
            np.frombuffer(mapped, self.manifest.dtype, numbers, place).reshape(shape)
            for place in places
        ]

    def require(self, layers: Sequence[int]) -> None:
        """Raises StoreError where the store lacks one of `layers`."""
        missing = [layer for layer in layers if layer not in self.layers]
        if missing:
            raise StoreError(
                f"hidden states {', '.join(map(str, layers))} expected in {self.path}, it holds "
                f"{', '.join(map(str, self.layers))}; extract with --layers all, or with these"
            )

    def verify(self) -> list[str]:
        """Compares every block with its checksum; what is damaged, a line each ([] = intact)."""
        m, damage = self.manifest, []
        named = re.search(r"--[0-9a-f]{8}\.h5$", self.path.name)
        if named and not m.file_name.endswith(named[0]):
            damage.append(f"name {self.path.name}, content of {m.file_name}")
        n_bytes = m.words * len(self.layers) * m.hidden_size * np.dtype(m.dtype).itemsize
        with self._open() as file, stage("comparing checksums", "bytes", n_bytes) as tell:
            for split in self.splits:
                blocks, sums = self._blocks(file, split), self._sums(file, split)
                for at, layer in enumerate(self.layers):
                    dataset = self._dataset(file, layer_path(split, layer))
                    for k, (start, stop) in enumerate(pairwise(blocks)):
                        rows = dataset[start:stop]
                        tell(rows.nbytes)
                        if checksum(rows) != sums[at, k]:
                            damage.append(f"{split}, layer {layer}, words {start} to {stop - 1}")
        return damage

    @contextmanager
    def _open(self) -> Iterator[h5py.File]:
        try:
            with h5py.File(self.path, "r") as file:
                yield file
        except FeatbertError:
            raise
        except DAMAGE as error:
            raise StoreError(self._damaged(str(error).split("\n")[0])) from None

    def _dataset(self, file: h5py.File, name: str) -> h5py.Dataset:
        found = file.get(name)
        if not isinstance(found, h5py.Dataset):
            raise StoreError(self._damaged(f"dataset {name} is missing"))
        return found

    def _numbers(self, file: h5py.File, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
        """A small dataset; its size is compared before room is made for it."""
        dataset = self._dataset(file, name)
        if dataset.shape != shape:
            raise StoreError(self._damaged(f"{dataset.name} is {dataset.shape}, not {shape}"))
        found: NDArray[Any] = dataset[:]
        return found

    def _blocks(self, file: h5py.File, split: str) -> NDArray[np.int64]:
        """(K + 1,) words before each block; every word is in a block, or it would be unchecked."""
        words, name = self.manifest.splits[split].words, f"{split}/blocks"
        shape = self._dataset(file, name).shape
        if len(shape) == 1 and 1 <= shape[0] <= words + 1:
            blocks = self._numbers(file, name, shape)
            if blocks[0] == 0 and blocks[-1] == words and (blocks[1:] > blocks[:-1]).all():
                return blocks
        raise StoreError(self._damaged(f"blocks of {split} do not cover its words"))

    def _sums(self, file: h5py.File, split: str) -> NDArray[np.uint32]:
        """(layers, K) CRC-32 of each block of a layer."""
        n_blocks = self._dataset(file, f"{split}/blocks").size - 1
        return self._numbers(file, f"{split}/checksums", (len(self.layers), n_blocks))

    def _check_shapes(self, file: h5py.File) -> None:
        """Datasets as the manifest says, and all their bytes within the file."""
        size = self.path.stat().st_size
        for name, split in self.manifest.splits.items():
            self._blocks(file, name)
            for layer in self.layers:
                dataset = self._dataset(file, layer_path(name, layer))
                shape = (split.words, self.manifest.hidden_size)
                if dataset.shape != shape or dataset.dtype != np.dtype(self.manifest.dtype):
                    raise StoreError(
                        self._damaged(f"{dataset.name} is {dataset.shape}, not {shape}")
                    )
                place = dataset.id.get_offset()
                if split.words and (place is None or place + dataset.nbytes > size):
                    raise StoreError(self._damaged(f"{dataset.name} reaches beyond the file's end"))

    def _check_sample(
        self,
        row: NDArray[Any],
        blocks: NDArray[np.int64],
        sums: NDArray[np.uint32],
        where: tuple[str, int, int],
    ) -> None:
        """Compares the first, the last and a middle one of the blocks read whole."""
        split, layer, start = where
        inside = np.flatnonzero((blocks[:-1] >= start) & (blocks[1:] <= start + len(row)))
        for k in inside[_sampled(len(inside))] if len(inside) else ():
            first, stop = blocks[k] - start, blocks[k + 1] - start
            if checksum(row[first:stop]) != sums[k]:
                raise StoreError(
                    self._damaged(f"{split}, layer {layer}: block {k} does not match its checksum")
                )

    def _known(self, split: str) -> str:
        if split not in self.manifest.splits:
            raise StoreError(
                f"split {' or '.join(self.splits)} expected, {self.path} holds no {split!r}"
            )
        return split

    def _damaged(self, reason: str) -> str:
        return (
            f"an intact feature store of format {FORMAT_VERSION} expected, {self.path} is damaged: "
            f"{reason}; delete it and extract again"
        )


def _sampled(n: int) -> NDArray[np.int64]:
    """The first, the last and those between of n blocks that are compared when they are read."""
    return np.unique(np.linspace(0, n - 1, SAMPLED_BLOCKS).astype(np.int64))

"""The feature store: one HDF5 file of a text's states (`docs/reference/store-format.md`)."""

from __future__ import annotations

import math
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

from featbert.data.corpus import Corpus
from featbert.encoders.batching import Ints
from featbert.encoders.layers import check_layers, parse_layers, split_specs
from featbert.errors import (
    FeatbertError,
    InputError,
    MissingError,
    check_known,
    nearest_path,
    out_of_memory,
    spelling,
)
from featbert.features.index import (
    SplitIndex,
    checksum,
    dataset_name,
    frame_checksum,
    shards_folder,
)
from featbert.features.manifest import FORMAT_VERSION, KINDS, Manifest
from featbert.io import cannot_write, regular_file, system_error
from featbert.progress import stage, track

# Blocks of each layer that are compared with their checksums when vectors are read.
SAMPLED_BLOCKS = 3
# Errors of h5py and numpy for damaged bytes, depending on the byte. Refusals of the system and a
# lack of memory raise them, too: see `is_damage`.
DAMAGE = (OSError, RuntimeError, LookupError, ValueError, TypeError, OverflowError, MemoryError)


class FeatureStore:
    """A finished store on disk. It keeps a path, not an open file, so it may cross processes.

    A set of shards is a store, too: its virtual datasets show the vectors of `shards`. `corpus` is
    the argument of `extract`, which may have other targets than the store's source.
    """

    def __init__(self, path: str | Path) -> None:
        """Opens the store, checks manifest, index and sizes, and closes it again."""
        self.path = Path(path)
        self.corpus: Corpus | None = None
        self.shards: tuple[FeatureStore, ...] = ()
        if self.path.is_dir() or not self.path.exists():
            near = nearest_path(self.path, "*.h5")
            problem = "is a folder" if self.path.is_dir() else f"does not exist{near}"
            raise MissingError(f"{self.path} {problem}; name a .h5 file that featbert extract made")
        with self._open() as file:
            attributes = file.attrs
            if not attributes.get("complete", False) or "manifest" not in attributes:
                raise InputError(
                    f"{self.path} is no finished feature store; run featbert extract again"
                )
            version = attributes.get("format_version")
            if version != FORMAT_VERSION:
                raise InputError(
                    f"{self.path} has store format {version}, this featbert reads "
                    f"{FORMAT_VERSION}; extract it again"
                )
            text = bytes(attributes["manifest"]).decode()
            self.manifest = Manifest.from_json(text)
            self._indexes = {name: self._read_index(file, name) for name in self.manifest.splits}
            if int(attributes.get("checksum", -1)) != frame_checksum(text, self._indexes):
                raise self._damaged("manifest or offsets do not match their checksum")
            self.shards = tuple(map(self._shard, self.manifest.shards))
            self._check_shapes(file)

    def __repr__(self) -> str:
        m = self.manifest
        return (
            f"<FeatureStore: {m.corpus} · {m.model} · {len(m.layers)} layers · {m.words:,} words>"
        )

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self.manifest.splits)

    @property
    def layers(self) -> tuple[int, ...]:
        """Stored hidden states, in rising order. 0 is the embeddings."""
        return self.manifest.layers

    @property
    def file_bytes(self) -> int:
        shards = {shard.path: shard.file_bytes for shard in self.shards}
        return self.path.stat().st_size + sum(shards.values())

    def offsets(self, split: str) -> Ints:
        """(S + 1,) words before each sentence of a split."""
        return self.index(split).offsets

    def index(self, split: str) -> SplitIndex:
        """Where the parts of a split begin. InputError for a split that the store lacks."""
        if split not in self._indexes:
            raise InputError(f"{self.path} holds no split {split!r}, only {', '.join(self.splits)}")
        return self._indexes[split]

    def read(
        self,
        split: str,
        layers: Sequence[int] | int | str | None = None,
        *,
        words: slice | None = None,
        kind: str = "words",
    ) -> NDArray[Any]:
        """(k, N, H) hidden states in the stored precision. Only the named layers are read.

        Args:
            layers: (k,) hidden states in the order wanted, a single one, or the name of a
                combination (its states, uncombined). By default all that the store holds.
            words: a contiguous run of N words, or of units, by default all.
            kind: "words", or one vector per unit: "cls", "mean", "max", as the store keeps them.
        """
        if isinstance(layers, str | int):
            specs = [parse_layers(s, self.manifest.num_layers) for s in split_specs(layers)]
            layers = list(dict.fromkeys(index for spec in specs for index in spec.indices))
        numbers = self.layers if layers is None else tuple(layers)
        self.require(numbers, kind)
        blocks = self.index(split).edges(kind)
        start, stop, step = (words or slice(None)).indices(self.manifest.rows(split, kind))
        if step != 1:
            raise InputError(f"words are read as a contiguous run, not in steps of {step}")
        stop = max(start, stop)
        # The first, the last and a middle one of the blocks that are read whole
        inside = np.flatnonzero((blocks[:-1] >= start) & (blocks[1:] <= stop))
        sample = inside[_sampled(len(inside))] if len(inside) else ()
        out = np.empty((len(numbers), stop - start, self.manifest.hidden_size), self.manifest.dtype)
        for shard in self.shards:  # HDF5 reads zeros for a shard that is gone
            if not shard.path.is_file():
                self._shard(shard.path.name)
        with self._open() as file:
            sums = self._sums(file, split)
            layers_read = track(numbers, f"reading vectors of {split}", "layers")
            for rows, layer in zip(out, layers_read, strict=True):
                if not len(rows):
                    continue
                dataset = self._dataset(file, dataset_name(split, layer, kind))
                dataset.read_direct(rows, np.s_[start:stop])
                for k in sample:
                    block_sum = checksum(rows[blocks[k] - start : blocks[k + 1] - start])
                    if block_sum != sums[self.manifest.datasets.index((kind, layer)), k]:
                        block = f"{split}, layer {layer}: block {k}"
                        block += self._holder(split, kind, int(blocks[k]))
                        raise self._damaged(f"{block} has another checksum")
        return out

    def mapped(
        self, split: str, layers: Sequence[int], kind: str = "words"
    ) -> list[list[NDArray[Any]]]:
        """The same states as k arrays (N, H) on disk, for vectors that are larger than memory.

        The list has one element, or one per shard. The blocks that `read` compares are compared
        here, too.
        """
        self.require(layers, kind)
        blocks = self.index(split).edges(kind)
        shape = (self.manifest.rows(split, kind), self.manifest.hidden_size)
        if not shape[0]:
            return [[np.empty(shape, self.manifest.dtype) for _ in layers]]
        for k in _sampled(len(blocks) - 1):
            self.read(split, layers, words=slice(int(blocks[k]), int(blocks[k + 1])), kind=kind)
        if self.shards:
            parts = (shard for shard in self.shards if split in shard.splits)
            return [arrays for part in parts for arrays in part.mapped(split, layers, kind)]
        with self._open() as file:
            names = (dataset_name(split, layer, kind) for layer in layers)
            places = [self._dataset(file, name).id.get_offset() for name in names]
        with self.path.open("rb") as file:
            # torch requires writable arrays. Writes would stay in memory, and there are none.
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        # Sentences are drawn at random: reading ahead would read many times as much.
        mapped.madvise(mmap.MADV_RANDOM)
        return [[np.ndarray(shape, self.manifest.dtype, mapped, place) for place in places]]

    def require(self, layers: Sequence[int], kind: str | None = None) -> None:
        """Raises InputError if the store lacks one of `layers`, or vectors of this kind."""
        if kind is not None and kind not in self.manifest.kinds:
            check_known("kind of vectors", [kind], KINDS)
            options = spelling("keep", "words" if kind == "words" else "pooled")
            if kind != "words" and self.manifest.context == "document":
                options += f" {spelling('context', 'sentence')}"
            raise InputError(
                f"{self.path} keeps {', '.join(self.manifest.kinds)} and no {kind}; extract with "
                f"{options}"
            )
        check_layers(layers, self.manifest.num_layers)
        if absent := [layer for layer in layers if layer not in self.layers]:
            raise InputError(
                f"{self.path} lacks hidden states {', '.join(map(str, absent))}: it holds "
                f"{', '.join(map(str, self.layers))} of 0 to {self.manifest.num_layers}; extract "
                f"with {spelling('layers', 'all')}, or with these"
            )

    def verify(self) -> list[str]:
        """Compares every block with its checksum. A line per damaged block ([] = intact)."""
        damage = []
        ending = re.search(r"--[0-9a-f]{8}\.h5$", self.path.name)
        if ending and not self.manifest.file_name.endswith(ending[0]):
            damage.append(f"name {self.path.name}, content of {self.manifest.file_name}")
        n_bytes = self.manifest.data_bytes
        with self._open() as file, stage("comparing checksums", "bytes", n_bytes) as advance:
            for split, index in self._indexes.items():
                sums = self._sums(file, split)
                for number, (kind, layer) in enumerate(self.manifest.datasets):
                    dataset = self._dataset(file, dataset_name(split, layer, kind))
                    for k, (start, stop) in enumerate(pairwise(index.edges(kind))):
                        rows = dataset[start:stop]
                        advance(rows.nbytes)
                        if checksum(rows) != sums[number, k]:
                            rows_name = f"{split}, layer {layer}, {kind} {start} to {stop - 1}"
                            damage.append(f"{rows_name}{self._holder(split, kind, start)}")
        return damage

    def checksums(self, split: str) -> NDArray[np.uint32]:
        """(datasets, K) CRC-32 of each block of each of `Manifest.datasets`."""
        with self._open() as file:
            return self._sums(file, split)

    def _shard(self, name: str) -> FeatureStore:
        try:
            return FeatureStore(shards_folder(self.path) / Path(name).name)
        except MissingError as error:
            n = len(self.manifest.shards)
            raise MissingError(
                f"{self.path} lacks one of its {n} shards: {str(error).split(';')[0]}; featbert "
                f"extract --shards {n} with the same options makes it again"
            ) from None

    def _holder(self, split: str, kind: str, row: int) -> str:
        """` in FILE`, the shard that has this vector. Empty for a store in one piece."""
        for shard in self.shards:
            row -= shard.manifest.rows(split, kind) if split in shard.splits else 0
            if row < 0:
                return f" in {shard.path}"
        return ""

    @contextmanager
    def _open(self) -> Iterator[h5py.File]:
        try:
            if not h5py.is_hdf5(regular_file(self.path)):
                raise InputError(
                    f"{self.path} is no HDF5 file; name one that featbert extract made"
                )
            with h5py.File(self.path, "r") as file:
                yield file
        except FeatbertError:
            raise
        except DAMAGE as error:
            if is_damage(error):
                raise self._damaged(str(error).split("\n")[0]) from None
            if (refusal := system_error(error)) is None:
                raise
            raise FeatbertError(cannot_write(self.path, refusal, "read")) from None

    def _dataset(
        self, file: h5py.File, name: str, shape: tuple[int, ...] | None = None
    ) -> h5py.Dataset:
        """A dataset with numbers here or in the shards. Its shape is compared before it is read."""
        item: Any = file
        for part in name.split("/"):
            link = item.get(part, getlink=True) if isinstance(item, h5py.Group) else None
            item = item[part] if isinstance(link, h5py.HardLink) else None
        if not isinstance(item, h5py.Dataset):
            raise self._damaged(f"dataset {name} is missing, or a link to another place")
        if shape is not None and item.shape != shape:
            raise self._damaged(f"{item.name} is {item.shape}, not {shape}")
        folder = shards_folder(self.path).name
        shards = {f"{folder}/{shard}" for shard in self.manifest.shards}
        sources = {part.file_name for part in item.virtual_sources()} if item.is_virtual else ()
        if item.external or item.chunks or not shards.issuperset(sources):
            raise self._damaged(f"the numbers of {item.name} are in another place")
        return item

    def _read_index(self, file: h5py.File, split: str) -> SplitIndex:
        """The index of a split. Every unit is in a block, or its vectors would be unchecked."""
        stored = self.manifest.splits[split]

        def numbers(name: str, *shape: int) -> Any:
            return self._dataset(file, f"{split}/{name}", shape)[:]

        n_edges = min(self._dataset(file, f"{split}/blocks").size, stored.units + 1)
        index = SplitIndex(
            numbers("offsets", stored.sentences + 1),
            numbers("units", stored.units + 1),
            numbers("blocks", n_edges),
            numbers("texts", stored.sentences, 2) if self.manifest.packing == "apart" else None,
        )
        for edges, end in ((index.units, stored.words), (index.blocks, stored.units)):
            if edges[0] != 0 or edges[-1] != end or not (edges[1:] > edges[:-1]).all():
                raise self._damaged(f"blocks of {split} do not cover its words")
        return index

    def _sums(self, file: h5py.File, split: str) -> NDArray[np.uint32]:
        """(datasets, K) CRC-32 of each block of each dataset."""
        shape = (len(self.manifest.datasets), self._indexes[split].n_blocks)
        sums: NDArray[np.uint32] = self._dataset(file, f"{split}/checksums", shape)[:]
        return sums

    def _check_shapes(self, file: h5py.File) -> None:
        """Compares the datasets with the manifest, and their bytes with the size of the file."""
        size = self.path.stat().st_size
        for name in self.splits:
            for kind, layer in self.manifest.datasets:
                shape = (self.manifest.rows(name, kind), self.manifest.hidden_size)
                dataset = self._dataset(file, dataset_name(name, layer, kind), shape)
                if dataset.dtype != np.dtype(self.manifest.dtype):
                    raise self._damaged(f"{dataset.name} is of {dataset.dtype}")
                if self.shards:
                    parts = [s for s in self.shards if name in s.splits and layer in s.layers]
                    if shape[0] != sum(part.manifest.rows(name, kind) for part in parts):
                        raise self._damaged(f"its shards are not those of {dataset.name}")
                    continue
                place = dataset.id.get_offset()
                if shape[0] and (place is None or place + dataset.nbytes > size):
                    raise self._damaged(f"{dataset.name} reaches beyond the file's end")

    def _damaged(self, reason: str) -> InputError:
        again, n = "delete it and extract again", len(self.shards)
        if n:
            again = f"delete what featbert verify names; extract --shards {n} makes it again"
        return InputError(f"{self.path} is damaged: {reason}; {again}")


def is_damage(error: BaseException) -> bool:
    """Whether an error of `DAMAGE` comes from bytes of the file, not from the system.

    A damaged size makes numpy request more memory than any machine has.
    """
    shape, dtype = (getattr(error, name, None) for name in ("shape", "dtype"))
    n_bytes = 0 if shape is None else math.prod(shape) * np.dtype(dtype).itemsize
    return system_error(error) is None and (not out_of_memory(error) or n_bytes > 1 << 40)


def _sampled(n: int) -> Ints:
    """The blocks among n that are compared when they are read: the first, the last, and others."""
    return np.unique(np.linspace(0, n - 1, SAMPLED_BLOCKS).astype(np.int64))

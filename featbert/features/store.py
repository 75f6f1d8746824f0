"""The feature store: one HDF5 file with the hidden states of a text.

Its groups, datasets and attributes are listed in `docs/reference/store-format.md`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import mmap
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from featbert.data.corpus import Corpus
from featbert.encoders.device import Precision
from featbert.encoders.encoding import Casing, Context, Packing, Pooling
from featbert.encoders.layers import check_layers, parse_layers, split_specs
from featbert.encoders.source import EncoderSource
from featbert.errors import (
    FeatbertError,
    InputError,
    MissingError,
    check_known,
    nearest_path,
    out_of_memory,
)
from featbert.io import cannot_write, json_hash, regular_file, slug, system_error
from featbert.progress import stage, track

FORMAT_VERSION = 3
# What vectors may be of: words, or one a unit.
KINDS = ("words", "cls", "mean", "max")
# Blocks of each layer whose checksum ordinary reading compares.
SAMPLED_BLOCKS = 3
# What h5py and numpy raise on damaged bytes: any of these, depending on the byte.
# So may the system, and a lack of memory: see `is_damage`.
DAMAGE = (OSError, RuntimeError, LookupError, ValueError, TypeError, OverflowError, MemoryError)


@dataclass(frozen=True)
class StoredSplit:
    """Text identity and size of one split in a store.

    Attributes:
        words, units: words that are stored, and texts that are encoded by themselves: sentences,
            documents, or each text of pairs once.
    """

    text: str
    sentences: int
    words: int
    units: int
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """What a store is.

    Attributes:
        source: where the corpus was read ("sample" or a path).
        reading: options the corpus was read with, so that `train` reads it the same way.
        model: encoder as the user named it.
        model_source: folder or name to load it from again.
        encoder_weights, encoder_files: SHA-256 over weights, and over config and tokenizer.
        num_layers, hidden_size: L, H of the encoder.
        layers: hidden states the store holds, rising; 0 is the embeddings.
        token_budget, block_words: how batches were formed; they follow from these.
        seconds: wall time of the extraction without interruptions.
        peak_memory_bytes: highest memory of the extracting process (GPU: of the device).
        flops: of the extraction, estimated from shapes.
        created: UTC, ISO 8601.
        of_texts: whether words were cut from texts, of which one vector each is kept, too.
        adapted_epochs: epochs of language-model training that the encoder had on a task's text.
        shards: of a set, the names of its stores in `<name>.shards`, in the order of the text.
    """

    corpus: str
    source: str
    language: str | None
    reading: dict[str, Any]
    splits: dict[str, StoredSplit]
    model: str
    model_source: str
    encoder_weights: str
    encoder_files: str
    uncased: bool
    num_layers: int
    hidden_size: int
    layers: tuple[int, ...]
    context: Context
    pooling: Pooling
    precision: Precision
    dtype: str
    token_budget: int
    block_words: int
    device: str
    device_name: str
    threads: int
    versions: dict[str, str]
    seconds: float = 0.0
    peak_memory_bytes: int = 0
    encoder_parameters: int = 0
    flops: float = 0.0
    created: str = ""
    casing: Casing = "original"
    adapted_epochs: int = 0
    packing: Packing | None = None
    keep: str = "words"
    of_texts: bool = False
    shards: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """What vectors are of: words, or one a unit.

        `cls` is its first special piece, mean and max are over all of its pieces.
        """
        if self.context == "document":
            return ("words",)
        pooled = ("cls", "mean", "max") if self.of_texts or self.keep == "pooled" else ("cls",)
        return pooled if self.keep == "pooled" else ("words", *pooled)

    @property
    def datasets(self) -> list[tuple[str, int]]:
        """Kind and layer of each dataset of a split."""
        return [(kind, layer) for kind in self.kinds for layer in self.layers]

    @property
    def texts(self) -> int:
        """Texts of each sequence: both of pairs that are apart."""
        return 2 if self.packing == "apart" else 1

    def rows(self, split: str, kind: str) -> int:
        """Vectors in each dataset of a kind."""
        return self.splits[split].words if kind == "words" else self.splits[split].units

    @property
    def identity(self) -> dict[str, Any]:
        """What two stores must share to hold the same vectors."""
        usual = {"casing": "original", "packing": None, "keep": "words"}
        own = {k: getattr(self, k) for k, value in usual.items() if getattr(self, k) != value}
        same = ("encoder_weights", "encoder_files", "context", "pooling", "precision", "dtype")
        return own | {
            "format_version": FORMAT_VERSION,
            "text": {name: split.text for name, split in self.splits.items()},
            **{name: getattr(self, name) for name in same},
        }

    @property
    def plan(self) -> dict[str, Any]:
        """What an interrupted extraction must share to resume to the same bits."""
        same = ("num_layers", "hidden_size", "layers", "token_budget", "block_words")
        where = ("device", "device_name", "threads", "versions")
        return self.identity | {name: getattr(self, name) for name in (*same, *where)}

    @property
    def file_name(self) -> str:
        """<corpus>--<encoder>--<8 hex of the identity>.h5"""
        return f"{slug(self.corpus)}--{slug(self.model)}--{json_hash(self.identity)[:8]}.h5"

    @property
    def words(self) -> int:
        return sum(split.words for split in self.splits.values())

    @property
    def data_bytes(self) -> int:
        """Bytes that the hidden states take on disk."""
        rows = sum(self.rows(split, kind) for split in self.splits for kind in self.kinds)
        return rows * len(self.layers) * self.hidden_size * np.dtype(self.dtype).itemsize

    def to_json(self) -> str:
        return json.dumps({"format_version": FORMAT_VERSION, **dataclasses.asdict(self)})

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Raises ValueError where the text is no manifest."""
        # Not validate_json, which refuses paths that are no UTF-8: json keeps their bytes.
        return TypeAdapter(cls).validate_python(json.loads(text))


@dataclass(frozen=True)
class Layout:
    """Where the parts of a split begin.

    Attributes:
        offsets: (S + 1,) words before each sentence.
        units: (U + 1,) words before each unit.
        blocks: (K + 1,) units before each block.
        texts: (S, 2) units of both texts of each pair, where they are apart.
    """

    offsets: NDArray[np.int64]
    units: NDArray[np.int64]
    blocks: NDArray[np.int64]
    texts: NDArray[np.int64] | None = None

    def places(self, kind: str = "words") -> NDArray[np.int64]:
        """(S, T, 2) first and end vector of each sentence, or of both texts where they are apart.

        Of vectors of units, sentence context alone.
        """
        texts = np.arange(len(self.offsets) - 1)[:, None] if self.texts is None else self.texts
        begins = self.offsets if self.texts is None else self.units
        begins = begins if kind == "words" else np.arange(len(self.units))
        return np.stack([begins[texts], begins[texts + 1]], axis=2)

    def edges(self, kind: str) -> NDArray[np.int64]:
        """(K + 1,) vectors of a kind before each block."""
        return self.units[self.blocks] if kind == "words" else self.blocks


class FeatureStore:
    """A finished store on disk. It keeps a path, not an open file, so it may cross processes.

    A set of shards is one, too: `shards` are the stores whose vectors its virtual datasets show.
    `corpus` is the one that `extract` was asked for, which may have other targets than its source.
    """

    def __init__(self, path: str | Path) -> None:
        """Opens the store, checks manifest, offsets and sizes, and closes it again."""
        self.path = Path(path)
        self.corpus: Corpus | None = None
        self.shards: tuple[FeatureStore, ...] = ()
        if self.path.is_dir() or not self.path.exists():
            near = nearest_path(self.path, "*.h5")
            what = "is a folder" if self.path.is_dir() else f"does not exist{near}"
            raise MissingError(f"{self.path} {what}; name a .h5 file that featbert extract made")
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
            self._layouts = {name: self._layout(file, name) for name in self.manifest.splits}
            if int(attributes.get("checksum", -1)) != frame_checksum(text, self._layouts):
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
        """Hidden states it holds, rising; 0 is the embeddings."""
        return self.manifest.layers

    @property
    def file_bytes(self) -> int:
        """Size on disk."""
        shards = {shard.path: shard.file_bytes for shard in self.shards}
        return self.path.stat().st_size + sum(shards.values())

    def offsets(self, split: str) -> NDArray[np.int64]:
        """(S + 1,) words before each sentence of a split."""
        return self.layout(split).offsets

    def layout(self, split: str) -> Layout:
        """Where the parts of a split begin; InputError for one that it does not hold."""
        if split not in self._layouts:
            raise InputError(f"{self.path} holds no split {split!r}, only {', '.join(self.splits)}")
        return self._layouts[split]

    def read(
        self,
        split: str,
        layers: Sequence[int] | int | str | None = None,
        *,
        words: slice | None = None,
        kind: str = "words",
    ) -> NDArray[Any]:
        """(k, N, H) hidden states in the stored precision; reads the named layers alone.

        Args:
            layers: (k,) hidden states in the order wanted, a single one, or the name of a
                combination (its states, uncombined); all that the store holds by default.
            words: a contiguous run of N words, or of units; all by default.
            kind: "words", or one vector a unit: "cls", "mean", "max", as the store keeps them.
        """
        if isinstance(layers, str | int):
            specs = [parse_layers(s, self.manifest.num_layers) for s in split_specs(layers)]
            layers = list(dict.fromkeys(index for one in specs for index in one.indices))
        wanted = self.layers if layers is None else tuple(layers)
        self.require(wanted, kind)
        blocks = self.layout(split).edges(kind)
        start, stop, step = (words or slice(None)).indices(self.manifest.rows(split, kind))
        if step != 1:
            raise InputError(f"words are read as a contiguous run, not in steps of {step}")
        stop = max(start, stop)
        out = np.empty((len(wanted), stop - start, self.manifest.hidden_size), self.manifest.dtype)
        for shard in self.shards:  # HDF5 reads zeros where one is gone
            if not shard.path.is_file():
                self._shard(shard.path.name)
        with self._open() as file:
            sums = self._sums(file, split)
            layers_read = track(wanted, f"reading vectors of {split}", "layers")
            for row, layer in zip(out, layers_read, strict=True):
                if not len(row):
                    continue
                dataset = self._dataset(file, layer_path(split, layer, kind))
                dataset.read_direct(row, np.s_[start:stop])
                # The first, the last and a middle one of the blocks that are read whole
                inside = np.flatnonzero((blocks[:-1] >= start) & (blocks[1:] <= stop))
                for k in inside[_sampled(len(inside))] if len(inside) else ():
                    of_block = checksum(row[blocks[k] - start : blocks[k + 1] - start])
                    if of_block != sums[self.manifest.datasets.index((kind, layer)), k]:
                        where = f"{split}, layer {layer}: block {k}"
                        where += self._holder(split, kind, int(blocks[k]))
                        raise self._damaged(f"{where} has another checksum")
        return out

    def mapped(
        self, split: str, layers: Sequence[int], kind: str = "words"
    ) -> list[list[NDArray[Any]]]:
        """The same states as k arrays (N, H) on disk, read where they are touched.

        For what is larger than memory. Damage is found in the blocks that `read` compares, too.
        The arrays are those of one part of the text, or of each shard in turn.
        """
        self.require(layers, kind)
        blocks = self.layout(split).edges(kind)
        shape = (self.manifest.rows(split, kind), self.manifest.hidden_size)
        if not shape[0]:
            return [[np.empty(shape, self.manifest.dtype) for _ in layers]]
        for k in _sampled(len(blocks) - 1):
            self.read(split, layers, words=slice(int(blocks[k]), int(blocks[k + 1])), kind=kind)
        if self.shards:
            parts = (shard for shard in self.shards if split in shard.splits)
            return [arrays for part in parts for arrays in part.mapped(split, layers, kind)]
        with self._open() as file:
            places = [
                self._dataset(file, layer_path(split, k, kind)).id.get_offset() for k in layers
            ]
        with self.path.open("rb") as file:
            # torch wants writable arrays; writes would stay in memory, and there are none.
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        # Sentences are drawn at random: reading ahead would read many times as much.
        mapped.madvise(mmap.MADV_RANDOM)
        return [[np.ndarray(shape, self.manifest.dtype, mapped, place) for place in places]]

    def require(self, layers: Sequence[int], kind: str | None = None) -> None:
        """Raises InputError where the store lacks one of `layers`, or vectors of this kind."""
        if kind is not None and kind not in self.manifest.kinds:
            check_known("kind of vectors", [kind], KINDS)
            how = "--keep words" if kind == "words" else "--keep pooled"
            if kind != "words" and self.manifest.context == "document":
                how += " --context sentence"
            raise InputError(
                f"{self.path} keeps {', '.join(self.manifest.kinds)} and no {kind}; extract with "
                f"{how}"
            )
        check_layers(layers, self.manifest.num_layers)
        missing = [layer for layer in layers if layer not in self.layers]
        if missing:
            raise InputError(
                f"{self.path} lacks hidden states {', '.join(map(str, missing))}: it holds "
                f"{', '.join(map(str, self.layers))} of 0 to {self.manifest.num_layers}; extract "
                "with --layers all, or with these"
            )

    def verify(self) -> list[str]:
        """Compares every block with its checksum; what is damaged, a line each ([] = intact)."""
        damage = []
        named = re.search(r"--[0-9a-f]{8}\.h5$", self.path.name)
        if named and not self.manifest.file_name.endswith(named[0]):
            damage.append(f"name {self.path.name}, content of {self.manifest.file_name}")
        n_bytes = self.manifest.data_bytes
        with self._open() as file, stage("comparing checksums", "bytes", n_bytes) as advance:
            for split in self.splits:
                sums = self._sums(file, split)
                for at, (kind, layer) in enumerate(self.manifest.datasets):
                    dataset = self._dataset(file, layer_path(split, layer, kind))
                    blocks = self._layouts[split].edges(kind)
                    for k, (start, stop) in enumerate(pairwise(blocks)):
                        rows = dataset[start:stop]
                        advance(rows.nbytes)
                        if checksum(rows) != sums[at, k]:
                            where = self._holder(split, kind, start)
                            what = f"{split}, layer {layer}, {kind} {start} to {stop - 1}"
                            damage.append(f"{what}{where}")
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
        """` in FILE`, the shard that has this vector; empty where there are no shards."""
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
        """A dataset; its shape is compared, if given, before memory is taken for it.

        Its numbers are in this file in one piece, or in the store's shards.
        """
        found, where = file, ""
        for part in name.split("/"):
            where = f"{where}/{part}"
            if not isinstance(found, h5py.Group) or found.get(part, getlink=True) is None:
                raise self._damaged(f"dataset {name} is missing")
            if not isinstance(found.get(part, getlink=True), h5py.HardLink):
                raise self._damaged(f"{where} is a link to another place")
            found = found[part]
        if not isinstance(found, h5py.Dataset):
            raise self._damaged(f"dataset {name} is missing")
        if shape is not None and found.shape != shape:
            raise self._damaged(f"{found.name} is {found.shape}, not {shape}")
        folder = shards_folder(self.path).name
        known = {f"{folder}/{shard}" for shard in self.manifest.shards}
        sources = {part.file_name for part in found.virtual_sources()} if found.is_virtual else ()
        if found.external or found.chunks or not known.issuperset(sources):
            raise self._damaged(f"the numbers of {found.name} are in another place")
        return found

    def _layout(self, file: h5py.File, split: str) -> Layout:
        """Every unit is in a block, or its vectors would be unchecked."""
        stored = self.manifest.splits[split]
        n_blocks = self._dataset(file, f"{split}/blocks").size
        shape = (min(n_blocks, stored.units + 1),)
        found = Layout(
            self._dataset(file, f"{split}/offsets", (stored.sentences + 1,))[:],
            self._dataset(file, f"{split}/units", (stored.units + 1,))[:],
            self._dataset(file, f"{split}/blocks", shape)[:],
            self._dataset(file, f"{split}/texts", (stored.sentences, 2))[:]
            if self.manifest.packing == "apart"
            else None,
        )
        for edges, end in ((found.units, stored.words), (found.blocks, stored.units)):
            if edges[0] != 0 or edges[-1] != end or not (edges[1:] > edges[:-1]).all():
                raise self._damaged(f"blocks of {split} do not cover its words")
        return found

    def _sums(self, file: h5py.File, split: str) -> NDArray[np.uint32]:
        """(datasets, K) CRC-32 of each block of each dataset."""
        shape = (len(self.manifest.datasets), len(self._layouts[split].blocks) - 1)
        sums: NDArray[np.uint32] = self._dataset(file, f"{split}/checksums", shape)[:]
        return sums

    def _check_shapes(self, file: h5py.File) -> None:
        """Datasets as the manifest says, and all their bytes within the file."""
        size = self.path.stat().st_size
        for name in self.splits:
            for kind, layer in self.manifest.datasets:
                shape = (self.manifest.rows(name, kind), self.manifest.hidden_size)
                dataset = self._dataset(file, layer_path(name, layer, kind), shape)
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
    """Whether an error of `DAMAGE` is of the file's bytes: neither a refusal nor too little memory.

    Of numpy a damaged size asks for more memory than any machine has.
    """
    shape, dtype = (getattr(error, name, None) for name in ("shape", "dtype"))
    asked = 0 if shape is None else math.prod(shape) * np.dtype(dtype).itemsize
    return system_error(error) is None and (not out_of_memory(error) or asked > 1 << 40)


def layer_path(split: str, layer: int, kind: str = "words") -> str:
    """The dataset of one layer of a split."""
    return f"{split}/{'layers' if kind == 'words' else kind}/{layer:02d}"


# What it may hold.
SHARD_FILES = ("*.h5", "*.h5.partial", "*.h5.journal")


def shards_folder(path: Path) -> Path:
    """Where the shards of the set `path` are."""
    return path.with_suffix(".shards")


def checksum(rows: NDArray[Any], start: int = 0) -> int:
    """CRC-32 of an array's bytes."""
    buffer: Any = np.ascontiguousarray(rows)  # numpy states no buffer type before Python 3.12
    return zlib.crc32(buffer, start)


def frame_checksum(manifest: str, layouts: dict[str, Layout]) -> int:
    """CRC-32 over the manifest's text, and offsets, units and texts of all splits."""
    value = zlib.crc32(manifest.encode())
    for name in sorted(layouts):
        for numbers in (layouts[name].offsets, layouts[name].units, layouts[name].texts):
            value = value if numbers is None else checksum(numbers.astype("<i8"), value)
    return value


def encoder_differences(model: str, weights: str, files: str, source: EncoderSource) -> list[str]:
    """How the encoder `model` of a store or run differs from `source`, by their hashes."""
    found = []
    for what, here, there in (
        ("weights", weights, source.weights_hash),
        ("config and tokenizer", files, source.files_hash),
    ):
        if here != there:
            hashes = f"SHA-256 {here[:8]} here, {there[:8]} there"
            found.append(f"{what} are of {model}, not those of {source.name} ({hashes})")
    return found


def _sampled(n: int) -> NDArray[np.int64]:
    """The first, the last and those between of n blocks that are compared when they are read."""
    return np.unique(np.linspace(0, n - 1, SAMPLED_BLOCKS).astype(np.int64))

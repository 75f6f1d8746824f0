"""The manifest of a feature store: its text, its encoder, and how it was computed."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from pydantic import TypeAdapter

from featbert.encoders.device import Precision
from featbert.encoders.encoding import Casing, Context, Packing, SubwordPooling
from featbert.io import json_hash, slug

FORMAT_VERSION = 3
# A store has a vector per word, or a pooled vector per unit.
KINDS = ("words", "cls", "mean", "max")


@dataclass(frozen=True)
class StoredSplit:
    """Text identity and size of one split in a store.

    Attributes:
        words: words that are stored.
        units: texts that are encoded separately: sentences, documents, or each distinct text of
            pairs.
    """

    text: str
    sentences: int
    words: int
    units: int
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """Description of a store.

    Attributes:
        source: where the corpus was read ("sample" or a path).
        reading: options of `load_corpus`, so that `train` reads the corpus the same way.
        model: encoder as the user named it.
        model_source: folder or name to load it from again.
        encoder_weights, encoder_files: SHA-256 over weights, and over config and tokenizer.
        num_layers, hidden_size: L, H of the encoder.
        layers: stored hidden states, in rising order. 0 is the embeddings.
        token_budget, block_words: sizes that determine the batches.
        seconds: wall time of the extraction without interruptions.
        peak_memory_bytes: highest memory of the extracting process (GPU: of the device).
        flops: of the extraction, estimated from shapes.
        created: UTC, ISO 8601.
        of_texts: whether words were cut from texts, which then have a vector each, too.
        adapted_epochs: epochs of language-model training on the text of a task.
        shards: names of the stores in `<name>.shards`, in text order, if this is a set of shards.
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
    pooling: SubwordPooling
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
        """Stored kinds of vectors: per word, or per unit.

        `cls` is a unit's first special subword. `mean` and `max` are over all of its subwords.
        """
        if self.context == "document":
            return ("words",)
        pooled = ("cls", "mean", "max") if self.of_texts or self.keep == "pooled" else ("cls",)
        return pooled if self.keep == "pooled" else ("words", *pooled)

    @property
    def datasets(self) -> list[tuple[str, int]]:
        """Kind and layer of each dataset of a split."""
        return [(kind, layer) for kind in self.kinds for layer in self.layers]

    def rows(self, split: str, kind: str) -> int:
        """Vectors in each dataset of a kind."""
        return self.splits[split].words if kind == "words" else self.splits[split].units

    @property
    def identity(self) -> dict[str, Any]:
        """Values that are equal in two stores with the same vectors."""
        usual = {"casing": "original", "packing": None, "keep": "words"}
        unusual = {k: getattr(self, k) for k, v in usual.items() if getattr(self, k) != v}
        names = ("encoder_weights", "encoder_files", "context", "pooling", "precision", "dtype")
        return unusual | {
            "format_version": FORMAT_VERSION,
            "text": {name: split.text for name, split in self.splits.items()},
            **{name: getattr(self, name) for name in names},
        }

    @property
    def plan(self) -> dict[str, Any]:
        """Values that must be equal for an interrupted extraction to resume to the same bits."""
        batches = ("num_layers", "hidden_size", "layers", "token_budget", "block_words")
        machine = ("device", "device_name", "threads", "versions")
        return self.identity | {name: getattr(self, name) for name in (*batches, *machine)}

    @property
    def file_name(self) -> str:
        """<corpus>--<encoder>--<8 hex of the identity>.h5"""
        return f"{slug(self.corpus)}--{slug(self.model)}--{json_hash(self.identity)[:8]}.h5"

    @property
    def words(self) -> int:
        return sum(split.words for split in self.splits.values())

    @property
    def data_bytes(self) -> int:
        """Bytes of the hidden states on disk."""
        rows = sum(self.rows(split, kind) for split in self.splits for kind in self.kinds)
        return rows * len(self.layers) * self.hidden_size * np.dtype(self.dtype).itemsize

    def to_json(self) -> str:
        return json.dumps({"format_version": FORMAT_VERSION, **dataclasses.asdict(self)})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises ValueError if the text is no manifest."""
        # validate_json would refuse paths that are no UTF-8. json keeps their bytes.
        return TypeAdapter(cls).validate_python(json.loads(text))

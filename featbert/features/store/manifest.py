"""The manifest: what a store holds and everything its vectors depend on.

The identifying part (text, encoder, context, pooling, precision, dtype) names the file; the
rest describes it. A store with more layers than asked serves all the same, so layers do not
identify.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

from featbert.errors import InputError

FORMAT_VERSION = 1
DTYPE_BYTES = {"float16": 2, "float32": 4}


class ManifestError(InputError):
    """A manifest that is damaged or of another format version."""


@dataclass(frozen=True)
class StoredSplit:
    """Text identity and size of one split in a store."""

    text: str
    sentences: int
    words: int
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """What a store is.

    Attributes:
        corpus, source, language: the corpus and where it was read ("sample" or a path).
        reading: options the corpus was read with, so that `train` reads it the same way.
        splits: by split name, in the store's order.
        model: encoder as the user named it.
        model_source: folder or name to load it from again.
        encoder_weights, encoder_files: SHA-256 over weights, and over config and tokenizer.
        uncased: whether the tokenizer lowercases.
        num_layers, hidden_size: L, H of the encoder.
        layers: hidden states the store holds, rising; 0 is the embeddings.
        context, casing, pooling, precision, dtype: how the vectors were computed and are kept.
        token_budget, block_words: how batches were formed; they follow from these.
        device, device_name, threads, versions: where it was computed.
        seconds: wall time of the extraction, interruptions not counted.
        peak_memory_bytes: highest memory of the extracting process (GPU: of the device).
        encoder_parameters: parameters of the encoder.
        flops: of the extraction, estimated from shapes.
        created: UTC, ISO 8601.
        adapted_epochs: epochs of language-model training that the encoder had on a task's text.
        halved_to: padded tokens of a batch from where on one of `token_budget` did not fit in
            memory; 0 where all did.
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
    context: str
    pooling: str
    precision: str
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
    casing: str = "original"
    adapted_epochs: int = 0
    halved_to: int = 0

    @property
    def identity(self) -> dict[str, Any]:
        """What two stores must share to hold the same vectors."""
        casing = {} if self.casing == "original" else {"casing": self.casing}
        return casing | {
            "format_version": FORMAT_VERSION,
            "text": {name: split.text for name, split in self.splits.items()},
            "encoder_weights": self.encoder_weights,
            "encoder_files": self.encoder_files,
            "context": self.context,
            "pooling": self.pooling,
            "precision": self.precision,
            "dtype": self.dtype,
        }

    @property
    def plan(self) -> dict[str, Any]:
        """What an interrupted extraction must share to go on to the same bits."""
        same = ("num_layers", "hidden_size", "layers", "token_budget", "block_words")
        where = ("device", "device_name", "threads", "versions")
        return self.identity | {name: getattr(self, name) for name in (*same, *where)}

    @property
    def file_name(self) -> str:
        """<corpus>--<encoder>--<8 hex of the identity>.h5"""
        short = hash_of(self.identity)[:8]
        return f"{_safe(self.corpus)}--{_safe(self.model)}--{short}.h5"

    @property
    def words(self) -> int:
        """Words of all splits."""
        return sum(split.words for split in self.splits.values())

    @property
    def data_bytes(self) -> int:
        """Bytes that the hidden states take on disk."""
        return self.words * len(self.layers) * self.hidden_size * DTYPE_BYTES[self.dtype]


def hash_of(value: Any) -> str:
    """SHA-256 (hex) of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def manifest_to_json(manifest: Manifest) -> str:
    """The manifest as JSON text."""
    return json.dumps({"format_version": FORMAT_VERSION, **dataclasses.asdict(manifest)})


def manifest_from_json(text: str, *, where: str) -> Manifest:
    """The manifest in `text`.

    Raises:
        ManifestError: not JSON, another format version, or other fields.
    """
    try:
        data = json.loads(text)
        check_version(data.pop("format_version", None), where=where)
        data["splits"] = {k: StoredSplit(**v) for k, v in data["splits"].items()}
        data["layers"] = tuple(data["layers"])
        known = {f.name for f in dataclasses.fields(Manifest)}
        return Manifest(**{k: v for k, v in data.items() if k in known})
    except ManifestError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ManifestError(f"a store's manifest expected, {where} has none: {error}") from None


def check_version(version: Any, *, where: str) -> None:
    """Raises ManifestError for a store of another format."""
    if version != FORMAT_VERSION:
        raise ManifestError(
            f"a store of format version {FORMAT_VERSION} expected, {where} has {version}; "
            "extract it again"
        )


def _safe(name: str) -> str:
    """A name as a part of a file name: letters, digits, dot, dash and underscore."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._-")[:60] or "unnamed"

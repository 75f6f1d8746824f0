"""What an extraction will do, known and checked before any work."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from featbert.data.corpus import Corpus
from featbert.encoders.alignment import Context, check_context
from featbert.encoders.casing import Casing, check_casing_of
from featbert.encoders.device import DTYPES, Device, find_device, find_precision
from featbert.encoders.encoder import Pooling
from featbert.encoders.layers import LayerError
from featbert.encoders.source import DEFAULT_MODEL, EncoderSource, find_encoder
from featbert.errors import InputError
from featbert.features.block_states import TOKEN_BUDGET, block_words
from featbert.features.store.journal import forget_finished, partial_path
from featbert.features.store.manifest import DTYPE_BYTES, Manifest, StoredSplit
from featbert.features.store.reader import FeatureStore, StoreError
from featbert.io import cannot_write
from featbert.versions import library_versions

# Bytes of a store beside its vectors, a generous bound: groups, offsets, checksums, manifest.
FRAME_BYTES = 1 << 20


class ExtractionError(InputError):
    """An extraction that cannot start: not enough disk, or states that are not finite."""


@dataclass(frozen=True)
class ExtractionPlan:
    """What an extraction will do, known before any work.

    Attributes:
        path: where the store will be.
        manifest: the store's manifest without seconds and counts.
        hit: the finished store that already holds all of this, if there is one.
    """

    path: Path
    manifest: Manifest
    hit: FeatureStore | None

    @property
    def data_bytes(self) -> int:
        """Size on disk of the vectors."""
        return self.manifest.data_bytes

    def memory_bytes(self, parameters: int) -> int:
        """Memory that it takes at least: weights, and a block computed while one is written."""
        m = self.manifest
        words = min(m.block_words, max((s.words for s in m.splits.values()), default=0))
        block = len(m.layers) * words * m.hidden_size * DTYPE_BYTES[m.dtype]
        return parameters * DTYPES[m.precision].itemsize + 2 * block


def plan_extraction(
    corpus: Corpus,
    model: str | EncoderSource = DEFAULT_MODEL,
    *,
    cache_dir: str | Path = "cache",
    layers: Sequence[int] | None = None,
    context: Context = "sentence",
    casing: Casing = "original",
    pooling: Pooling = "first",
    precision: str = "auto",
    dtype: str = "float16",
    device: str | Device = "auto",
    token_budget: int | None = None,
    reading: Mapping[str, Any] | None = None,
) -> ExtractionPlan:
    """Plans a store; see `extract` for the arguments. Nothing is written.

    Beside a finished store, what a kill in its last moment left is taken away.
    """
    source = find_encoder(model) if isinstance(model, str) else model
    where = find_device(device) if isinstance(device, str) else device
    if dtype not in DTYPE_BYTES:
        raise ExtractionError(f"store dtype {', '.join(DTYPE_BYTES)} expected, found {dtype!r}")
    for split in corpus.splits.values():
        check_context(context, has_documents=split.has_documents)
    check_casing_of(source, casing, corpus)
    num_layers, hidden_size = source.num_layers, source.hidden_size
    if num_layers is None or hidden_size is None:
        raise ExtractionError(
            f"number of layers and hidden size expected in {source.folder}/config.json; "
            "featbert reads BERT-family encoders"
        )
    held = tuple(range(num_layers + 1)) if layers is None else tuple(sorted(set(layers)))
    wrong = [layer for layer in held if not 0 <= layer <= num_layers]
    if wrong or not held:
        found = ", ".join(map(str, wrong)) or "none"
        raise LayerError(f"layers 0 to {num_layers} expected, found {found}")
    manifest = Manifest(
        corpus=corpus.name,
        source=corpus.source,
        language=corpus.language,
        reading=dict(reading or {}),
        splits={
            name: StoredSplit(split.text_fingerprint, len(split), split.n_words)
            for name, split in corpus.splits.items()
        },
        model=source.name,
        model_source=source.reference,
        encoder_weights=source.weights_hash,
        encoder_files=source.files_hash,
        uncased=False,
        num_layers=num_layers,
        hidden_size=hidden_size,
        layers=held,
        context=context,
        casing=casing,
        pooling=pooling,
        precision=find_precision(precision, where),
        dtype=dtype,
        token_budget=token_budget or TOKEN_BUDGET[where.kind],
        block_words=block_words(num_layers, hidden_size, dtype),
        device=where.kind,
        device_name=where.name,
        threads=where.threads,
        versions=library_versions(),
        adapted_epochs=source.adapted_epochs,
    )
    path = Path(cache_dir) / manifest.file_name
    hit = None
    if path.is_file():
        store = FeatureStore(path)
        theirs = store.manifest.identity
        differ = [key for key, value in manifest.identity.items() if theirs.get(key) != value]
        if differ:
            raise StoreError(
                f"a store with the same {', '.join(differ)} expected, {path} is of another "
                "extraction; move it out of the way and extract again"
            )
        if set(held) <= set(store.layers):
            hit = store
            forget_finished(path)
        else:  # one store a text and encoder: keep what the old one held
            union = tuple(sorted({*held, *store.layers}))
            manifest = dataclasses.replace(manifest, layers=union)
    return ExtractionPlan(path, manifest, hit)


def check_disk(plan: ExtractionPlan) -> None:
    """Refuses to start where the disk cannot hold the store."""
    folder = plan.path.parent
    partial = partial_path(plan.path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        kept = partial.stat().st_blocks * 512 if partial.exists() else 0
        have = shutil.disk_usage(folder).free + kept
    except OSError as error:
        raise ExtractionError(cannot_write(folder, error)) from None
    need = plan.data_bytes + FRAME_BYTES
    if have < need:
        raise ExtractionError(
            f"{need / 1e9:.2f} GB of disk expected in {folder}, {have / 1e9:.2f} GB are free; "
            "store fewer layers (--layers), float16, or use another --cache-dir"
        )

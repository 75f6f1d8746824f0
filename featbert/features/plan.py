"""The plan of an extraction, which is checked before any work and before torch is loaded."""

import resource
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from featbert.data.corpus import Corpus, Sentence
from featbert.encoders.device import Device, find_device, find_precision, has_amx, load_torch
from featbert.encoders.encoding import EncodingOptions, WordCasing
from featbert.encoders.layers import stored_layers
from featbert.encoders.source import EncoderSource
from featbert.errors import InputError, MissingError, spelling
from featbert.features.index import SplitIndex, index_of
from featbert.features.manifest import Manifest, StoredSplit
from featbert.features.store import FeatureStore
from featbert.features.writer import partial_path
from featbert.io import explaining, slug
from featbert.text import counted, scaled

# Padded tokens per batch. On a processor small batches pad least, and reach its full matrix rate.
TOKEN_BUDGET = {"cpu": 512, "cuda": 32768, "mps": 4096}
# The same in bf16 on a processor with AMX, which needs larger products for its full rate.
AMX_TOKEN_BUDGET = 1024
BLOCK_WORDS = 8192
# Two blocks are in memory at a time: one is computed, one is written.
BLOCK_BYTES = 160 << 20
# Bytes of a store besides its vectors, a generous bound: groups, offsets, checksums, manifest.
FRAME_BYTES = 1 << 20


@dataclass(frozen=True)
class ExtractionPlan:
    """A store to extract, or to use if it exists.

    Attributes:
        manifest: of the store, without seconds and counts.
        source: the encoder.
        texts: sentences by split, with words cased as the encoder reads them.
        indexes: where the parts of each split begin.
        finished: the store that already holds all of this, if there is one.
    """

    path: Path
    manifest: Manifest
    source: EncoderSource
    texts: Mapping[str, Sequence[Sentence]] = field(repr=False)
    indexes: Mapping[str, SplitIndex] = field(repr=False)
    finished: FeatureStore | None = None


def default_token_budget(device: Device, precision: str) -> int:
    """Padded tokens per batch of a frozen encoder (benchmarks/README.md)."""
    if device.kind == "cpu" and precision == "bf16" and has_amx():
        return AMX_TOKEN_BUDGET
    return TOKEN_BUDGET[device.kind]


def block_words(num_layers: int, hidden_size: int, dtype: str) -> int:
    """Words per block: enough to keep padding low, fewer if an encoder's vectors are large.

    The stored layers do not matter, so that a layer has the same bits in every store.
    """
    word = (num_layers + 1) * hidden_size * np.dtype(dtype).itemsize
    return max(1, min(BLOCK_WORDS, BLOCK_BYTES // word))


def plan_extraction(
    corpus: Corpus,
    source: EncoderSource,
    options: EncodingOptions,
    *,
    cache_dir: str | Path = "cache",
    shards: int = 1,
) -> ExtractionPlan:
    """Plans a store under `cache_dir`. See `extract` for the arguments. Nothing is computed.

    The options fit the text and the encoder (`EncodingOptions.check`).
    A set that lacks shards is refused, unless it is to be made in `shards`. Only a device or
    precision that this machine lacks is refused after torch is loaded.
    """
    num_layers, hidden_size = source.num_layers, source.hidden_size
    assert num_layers is not None
    assert hidden_size is not None
    device = find_device(options.device)
    word_casing = WordCasing(corpus, options.casing)
    packing = options.packing if corpus.has_pairs else None
    n_block = block_words(num_layers, hidden_size, options.dtype)
    precision = find_precision(options.precision, device)
    texts = {name: word_casing(split.sentences) for name, split in corpus.splits.items()}
    indexes = {n: index_of(text, options.context, packing, n_block) for n, text in texts.items()}
    manifest = Manifest(
        corpus=corpus.name,
        source=corpus.source,
        language=corpus.language,
        reading=dict(corpus.reading),
        splits={
            name: stored_split(split.text_fingerprint, indexes[name])
            for name, split in corpus.splits.items()
        },
        model=source.name,
        model_source=source.reference,
        encoder_weights=source.weights_hash,
        encoder_files=source.files_hash,
        uncased=False,
        num_layers=num_layers,
        hidden_size=hidden_size,
        layers=stored_layers(options.layers, num_layers),
        context=options.context,
        casing=options.casing,
        pooling=options.pooling_of(source),
        precision=precision,
        dtype=options.dtype,
        token_budget=options.token_budget or default_token_budget(device, precision),
        block_words=n_block,
        **device.facts,
        adapted_epochs=source.adapted_epochs,
        packing=packing,
        keep=options.keep,
        of_texts=corpus.has_texts,
    )
    plan = ExtractionPlan(Path(), manifest, source, texts, indexes)
    return with_store(plan, Path(cache_dir), incomplete=shards > 1)


def plan_whole_store(
    corpus: Corpus,
    source: EncoderSource,
    options: EncodingOptions,
    cache_dir: Path,
    *,
    threads: int | None,
) -> ExtractionPlan:
    """The plan of a store of all layers. A store that exists needs only the options' layers.

    Reports how the encoder reads the text, and loads torch with its `threads`.
    """
    options.announce(source, corpus)
    load_torch(threads)
    plan = plan_extraction(corpus, source, options, cache_dir=cache_dir)
    if plan.finished is not None:
        return plan
    every_layer = tuple(range(plan.manifest.num_layers + 1))
    return replace(plan, manifest=replace(plan.manifest, layers=every_layer))


def stored_split(fingerprint: str, index: SplitIndex) -> StoredSplit:
    """The entry of a split in the manifest."""
    return StoredSplit(
        fingerprint, len(index.offsets) - 1, int(index.units[-1]), len(index.units) - 1
    )


def with_store(plan: ExtractionPlan, folder: Path, *, incomplete: bool = False) -> ExtractionPlan:
    """The plan with its path in a folder, and the store in it, if that has all of the plan.

    A store with fewer layers is replaced by one with the layers of both. A set that lacks shards
    counts as absent if it may be `incomplete`, and else raises MissingError.
    """
    manifest = plan.manifest
    path, store = _existing(manifest, folder, incomplete=incomplete)
    if store is not None:
        if {*manifest.layers} <= {*store.layers}:
            return replace(plan, path=path, finished=store)
        union = tuple(sorted({*manifest.layers, *store.layers}))
        manifest = replace(manifest, layers=union)
    if manifest.keep == "pooled":  # a store of words may have all of it
        words = replace(plan.manifest, keep="words")
        words_path, whole = _existing(words, folder)
        if (
            whole is not None
            and {*words.layers} <= {*whole.layers}
            and {*manifest.kinds} <= {*whole.manifest.kinds}
        ):
            return replace(plan, path=words_path, manifest=words, finished=whole)
    return replace(plan, path=path, manifest=manifest)


def _existing(
    manifest: Manifest, folder: Path, *, incomplete: bool = False
) -> tuple[Path, FeatureStore | None]:
    """The path of a store in a folder, and the store, if there is one."""
    path, store = folder / manifest.file_name, None
    if not path.is_file():  # the same text under another name
        ending = path.name.removeprefix(slug(manifest.corpus))
        path = min(folder.glob(f"*{ending}"), default=path)
    if path.is_file():
        try:
            store = FeatureStore(path)
        except MissingError:
            if not incomplete:
                raise
    if store is not None:
        identity = store.manifest.identity
        if differences := [k for k, value in manifest.identity.items() if identity.get(k) != value]:
            raise InputError(
                f"{path} was extracted with another {', '.join(differences)} than its name says; "
                "move it away and extract again"
            )
    return path, store


def stored_size(m: Manifest) -> str:
    """Size of a store: vectors, layers, width, and bytes."""
    rows = (f"{sum(m.rows(split, kind) for split in m.splits):,} {kind}" for kind in m.kinds)
    sizes = f"({' + '.join(rows)}) x {counted(len(m.layers), 'layer')} x {m.hidden_size}"
    return f"{sizes}, {m.dtype}: {scaled(m.data_bytes, 'B')}"


def start_line(plan: ExtractionPlan) -> str:
    """One line about an extraction that begins."""
    m = plan.manifest
    machine = f"{m.precision}, {m.device_name}"
    return f"extracting {m.corpus} with {m.model} ({machine}): {stored_size(m)}"


def free_bytes(folder: Path) -> int:
    """Bytes of disk that are left for a folder, which need not exist yet."""
    path = folder.absolute()
    return shutil.disk_usage(next(p for p in (path, *path.parents) if p.exists())).free


def check_disk(folder: Path, *plans: ExtractionPlan) -> None:
    """Makes the folder. Raises FeatbertError if it cannot hold the stores.

    HDF5 may crash if a write fails, so the largest file that a process may write counts too.
    """
    sizes = [plan.manifest.data_bytes + FRAME_BYTES for plan in plans]
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit != resource.RLIM_INFINITY and limit < max(sizes, default=0):
        raise InputError(
            f"a limit (ulimit -f) allows files of {scaled(limit, 'B')}, a store in {folder} takes "
            f"{scaled(max(sizes), 'B')}; raise it, or keep fewer {spelling('layers')}"
        )
    partials = [partial_path(plan.path) for plan in plans]
    with explaining(folder):
        folder.mkdir(parents=True, exist_ok=True)
        reserved = sum(p.stat().st_blocks * 512 for p in partials if p.exists())
        free = free_bytes(folder) + reserved
    if free < sum(sizes):
        raise InputError(
            f"{folder} has {free / 1e9:.2f} GB of disk left, the extraction takes "
            f"{sum(sizes) / 1e9:.2f} GB; keep fewer {spelling('layers')}, store float16, or "
            f"use another {spelling('cache_dir')}"
        )

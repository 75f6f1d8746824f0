"""What an extraction will do, known and checked before any work and before torch is loaded."""

import dataclasses
import resource
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from featbert.data.corpus import Corpus
from featbert.encoders.device import find_device, find_precision
from featbert.encoders.encoding import Encoding, Reading, texts_of
from featbert.encoders.source import EncoderSource
from featbert.errors import InputError, MissingError
from featbert.features.store import FeatureStore, Manifest, StoredSplit
from featbert.features.writer import partial_path
from featbert.io import explaining, slug
from featbert.text import counted, scaled

# Padded tokens of a batch. On a processor small ones pad least, and are large enough for its full
# matrix rate.
TOKEN_BUDGET = {"cpu": 512, "cuda": 32768, "mps": 4096}
BLOCK_WORDS = 8192
# Two blocks are in memory at a time: one is computed, one is written.
BLOCK_BYTES = 160 << 20
# Bytes of a store besides its vectors, a generous bound: groups, offsets, checksums, manifest.
FRAME_BYTES = 1 << 20


@dataclass(frozen=True)
class ExtractionPlan:
    """What an extraction will do; the `manifest` lacks seconds and counts.

    `hit` is the finished store that already holds all of this, if there is one.
    """

    path: Path
    manifest: Manifest
    hit: FeatureStore | None


def block_words(num_layers: int, hidden_size: int, dtype: str) -> int:
    """Words of a block: as many as keep padding low, fewer where an encoder's vectors are large.

    Which layers are kept plays no part, so that the same layer has the same bits in every store.
    """
    word = (num_layers + 1) * hidden_size * np.dtype(dtype).itemsize
    return max(1, min(BLOCK_WORDS, BLOCK_BYTES // word))


def plan_extraction(
    corpus: Corpus,
    source: EncoderSource,
    encoding: Encoding | None = None,
    *,
    cache_dir: str | Path = "cache",
    shards: int = 1,
) -> ExtractionPlan:
    """Plans a store under `cache_dir`; see `extract` for the arguments. Nothing is computed.

    A set that lacks shards is refused, unless it is to be made in `shards`. Only a device or
    precision that this machine lacks is refused after torch is loaded.
    """
    encoding = encoding or Encoding()
    encoding.check(source, corpus)
    num_layers, hidden_size = source.num_layers, source.hidden_size
    assert num_layers is not None
    assert hidden_size is not None
    device = find_device(encoding.device)
    # Which texts are distinct depends on their casing; how many words they have does not.
    read = Reading(corpus, encoding.casing if encoding.packing == "apart" else "original")
    packing = encoding.packing if corpus.has_pairs else None
    manifest = Manifest(
        corpus=corpus.name,
        source=corpus.source,
        language=corpus.language,
        reading=dict(corpus.reading),
        splits={
            name: StoredSplit(split.text_fingerprint, len(split), int(units[-1]), len(units) - 1)
            for name, split in corpus.splits.items()
            for units in [texts_of(read(split.sentences), encoding.context, packing)[2]]
        },
        model=source.name,
        model_source=source.reference,
        encoder_weights=source.weights_hash,
        encoder_files=source.files_hash,
        uncased=False,
        num_layers=num_layers,
        hidden_size=hidden_size,
        layers=encoding.stored_layers(num_layers),
        context=encoding.context,
        casing=encoding.casing,
        pooling=encoding.pooling_of(source),
        precision=find_precision(encoding.precision, device),
        dtype=encoding.dtype,
        token_budget=encoding.token_budget or TOKEN_BUDGET[device.kind],
        block_words=block_words(num_layers, hidden_size, encoding.dtype),
        **device.facts,
        adapted_epochs=source.adapted_epochs,
        packing=packing,
        keep=encoding.keep,
        of_texts=corpus.has_texts,
    )
    path = Path(cache_dir) / manifest.file_name
    if not path.is_file():  # the same text under another name
        ending = path.name.removeprefix(slug(corpus.name))
        path = min(path.parent.glob(f"*{ending}"), default=path)
    hit = store = None
    if path.is_file():
        try:
            store = FeatureStore(path)
        except MissingError:
            if shards == 1:
                raise
    if store is not None:
        theirs = store.manifest.identity
        differ = [key for key, value in manifest.identity.items() if theirs.get(key) != value]
        if differ:
            raise InputError(
                f"{path} was extracted with another {', '.join(differ)} than its name says; move "
                "it away and extract again"
            )
        if set(manifest.layers) <= set(store.layers):
            hit = store
        else:  # one store per text and encoder: the layers of the old one are kept
            union = tuple(sorted({*manifest.layers, *store.layers}))
            manifest = dataclasses.replace(manifest, layers=union)
    if hit is None and encoding.keep == "pooled":  # a store of words may have all of it
        words = dataclasses.replace(encoding, keep="words")
        whole = plan_extraction(corpus, source, words, cache_dir=cache_dir)
        if whole.hit is not None and {*manifest.kinds} <= {*whole.hit.manifest.kinds}:
            return whole
    return ExtractionPlan(path, manifest, hit)


def stored_size(plan: ExtractionPlan) -> str:
    """What a store holds: vectors, layers, numbers, and bytes."""
    m = plan.manifest
    rows = (f"{sum(m.rows(split, kind) for split in m.splits):,} {kind}" for kind in m.kinds)
    sizes = f"({' + '.join(rows)}) x {counted(len(m.layers), 'layer')} x {m.hidden_size}"
    return f"{sizes}, {m.dtype}: {scaled(m.data_bytes, 'B')}"


def under_way(plan: ExtractionPlan) -> str:
    """What is extracted, how, and how large it will be."""
    m = plan.manifest
    where = f"{m.precision}, {m.device_name}"
    return f"extracting {m.corpus} with {m.model} ({where}): {stored_size(plan)}"


def check_disk(folder: Path, *plans: ExtractionPlan) -> None:
    """Makes the folder; raises FeatbertError where it cannot hold the stores.

    HDF5 may crash where a write fails, so the largest file that a process may write counts too.
    """
    largest = max((plan.manifest.data_bytes + FRAME_BYTES for plan in plans), default=0)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit != resource.RLIM_INFINITY and limit < largest:
        raise InputError(
            f"a limit (ulimit -f) allows files of {scaled(limit, 'B')}, a store in {folder} takes "
            f"{scaled(largest, 'B')}; raise it, or keep fewer layers (--layers)"
        )
    partials = [partial_path(plan.path) for plan in plans]
    with explaining(folder):
        folder.mkdir(parents=True, exist_ok=True)
        kept = sum(p.stat().st_blocks * 512 for p in partials if p.exists())
        have = shutil.disk_usage(folder).free + kept
    need = sum(plan.manifest.data_bytes + FRAME_BYTES for plan in plans)
    if have < need:
        raise InputError(
            f"{folder} has {have / 1e9:.2f} GB of disk left, what is to be extracted takes "
            f"{need / 1e9:.2f} GB; "
            "keep fewer layers (--layers), store float16, or use another --cache-dir"
        )

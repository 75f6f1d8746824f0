"""A store of random vectors for a text: reading and training cost the same whatever they hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from featbert.data.corpus import Corpus
from featbert.features.store.manifest import Manifest, StoredSplit
from featbert.features.store.reader import FeatureStore
from featbert.features.store.writer import StoreWriter

BLOCK_WORDS = 4096
MODEL = "random"


def write_random_store(
    corpus: Corpus, folder: Path, *, num_layers: int, hidden_size: int
) -> FeatureStore:
    """All L + 1 layers in float16; a block of normal numbers, again and again."""
    manifest = Manifest(
        corpus=corpus.name,
        source=corpus.source,
        language=corpus.language,
        reading={},
        splits={
            name: StoredSplit(split.text_fingerprint, len(split), split.n_words)
            for name, split in corpus.splits.items()
        },
        model=MODEL,
        model_source=MODEL,
        encoder_weights="0" * 64,
        encoder_files="0" * 64,
        uncased=False,
        num_layers=num_layers,
        hidden_size=hidden_size,
        layers=tuple(range(num_layers + 1)),
        context="sentence",
        pooling="first",
        precision="fp32",
        dtype="float16",
        token_budget=BLOCK_WORDS,
        block_words=BLOCK_WORDS,
        device="cpu",
        device_name="",
        threads=1,
        versions={},
    )
    offsets = {
        name: np.cumsum([0, *map(len, split)], dtype=np.int64)
        for name, split in corpus.splits.items()
    }
    blocks = {
        name: np.append(np.arange(0, words[-1], BLOCK_WORDS), words[-1])
        for name, words in offsets.items()
    }
    shape = (num_layers + 1, BLOCK_WORDS, hidden_size)
    states = np.random.default_rng(1).standard_normal(shape, np.float32).astype(np.float16)
    path = folder / manifest.file_name
    path.unlink(missing_ok=True)  # the same text may have been written before
    writer = StoreWriter(path, manifest, offsets, blocks)
    for name, edges in blocks.items():
        for block, words in enumerate(np.diff(edges)):
            writer.write(name, block, states[:, :words])
    return writer.finish(manifest)

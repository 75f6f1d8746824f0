"""The forward pass alone over the very batches of an extraction: what writing has to hide behind.

No store, no pooling of layers below the top, which are computed all the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np
import torch

from benchmarks.machine import synchronize
from featbert.data.corpus import Corpus
from featbert.encoders.alignment import Alignment, align
from featbert.encoders.batching import length_batches
from featbert.encoders.device import DTYPES, Device, Precision
from featbert.encoders.encoder import Encoder, PieceBatch, load_encoder
from featbert.encoders.memory import freed_memory_kept, reset_peak_memory
from featbert.encoders.source import find_encoder
from featbert.features.block_states import block_edges
from featbert.features.store.manifest import Manifest


@dataclass(frozen=True)
class Forward:
    """Seconds before the first batch (encoder loaded, words aligned), and of all batches."""

    loading: float
    computing: float
    pieces: int


@freed_memory_kept()
def forward_alone(corpus: Corpus, model: str, manifest: Manifest, device: Device) -> Forward:
    """The batches that an extraction with this manifest computes, without their states kept."""
    started = time.perf_counter()
    source = find_encoder(model)
    # An extraction asks for it before it begins, and collects garbage.
    _ = source.weights_hash
    reset_peak_memory(device)
    encoder = load_encoder(source, dtype=DTYPES[cast(Precision, manifest.precision)])
    encoder = encoder.to(device.torch)
    alignments = [
        align(split.sentences, encoder.wordpieces, positions=encoder.positions)
        for split in corpus.splits.values()
    ]
    loaded = time.perf_counter()
    with torch.inference_mode():
        for alignment in alignments:
            for batch in batches_of(encoder, alignment, manifest):
                encoder.hidden_states(batch.to(device.torch), [encoder.num_layers])
        synchronize(device)
    computing = time.perf_counter() - loaded
    return Forward(loaded - started, computing, sum(len(a.pieces) for a in alignments))


def batches_of(encoder: Encoder, alignment: Alignment, manifest: Manifest) -> Iterator[PieceBatch]:
    """Length buckets within blocks, as `block_states` makes them."""
    edges, _ = block_edges(alignment, manifest.block_words)
    for first, stop in pairwise(edges):
        windows = np.arange(first, stop)
        for rows in length_batches(alignment.window_lengths[windows], manifest.token_budget):
            yield encoder.batch(alignment, windows[rows])

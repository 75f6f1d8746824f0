"""Extraction: a corpus through a frozen encoder into a feature store, once.

The text is cut into blocks of whole context units (sentences or documents), the unit of writing,
checksum and journal. Within a block, windows are sorted by length and batched under a token
budget, so that the batches, and with them the last bits of the vectors, follow from the block
alone. A block is written by a thread while the next one is computed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.encoders.alignment import Alignment, align
from featbert.encoders.batching import TokenBudget
from featbert.encoders.device import HostCopy, to_device, torch_dtype
from featbert.encoders.encoder import Encoder, encoder_flops, load_encoder
from featbert.encoders.encoding import Casing, Context, Encoding, Pooling, Reading
from featbert.encoders.memory import (
    check_memory,
    freed_memory_kept,
    peak_memory,
    reset_peak_memory,
)
from featbert.encoders.source import DEFAULT_MODEL, EncoderSource, find_encoder
from featbert.errors import InputError
from featbert.features.plan import ExtractionPlan, check_disk, plan_extraction
from featbert.features.store import FeatureStore, Manifest
from featbert.features.writer import StoreWriter
from featbert.progress import notice, stage
from featbert.text import counted, named_sentence

Ints = NDArray[np.int64]
FLOAT16_MAX = 65504


def extract(
    corpus: Corpus | str,
    model: str | EncoderSource = DEFAULT_MODEL,
    *,
    cache_dir: str | Path = "cache",
    layers: Sequence[int] | None = None,
    context: Context = "sentence",
    casing: Casing = "original",
    pooling: Pooling = "first",
    precision: str = "auto",
    dtype: str = "float16",
    device: str = "auto",
    token_budget: int | None = None,
    reading: Mapping[str, Any] | None = None,
) -> FeatureStore:
    """Hidden states of every word of a corpus, to a store under `cache_dir`.

    An existing store that holds all of it is returned as it is; an interrupted extraction of the
    same plan resumes after its last finished block.

    Args:
        corpus: as loaded, or its folder; "sample" is the embedded one.
        model: folder, packaged encoder or Hub id.
        layers, context, casing, pooling, precision, dtype, device, token_budget: see `Encoding`.
        reading: options the corpus was read with, kept for reading it again.

    Raises:
        FeatbertError: every refusal, before or during the work; a partial store is kept.
    """
    corpus = load_corpus(corpus, targets=None) if isinstance(corpus, str) else corpus
    source = find_encoder(model) if isinstance(model, str) else model
    encoding = Encoding(
        context=context,
        casing=casing,
        pooling=pooling,
        precision=precision,
        dtype=dtype,
        layers=None if layers is None else tuple(layers),
        token_budget=token_budget,
        device=device,
    )
    plan = plan_extraction(corpus, source, encoding, cache_dir=cache_dir, reading=reading)
    return plan.hit or run_extraction(plan, corpus, source)


@freed_memory_kept()
def run_extraction(plan: ExtractionPlan, corpus: Corpus, source: EncoderSource) -> FeatureStore:
    """Carries out a plan that is no hit; see `extract`."""
    manifest, device = plan.manifest, plan.device
    check_disk(plan)
    check_memory(
        plan.memory_bytes(source.parameters or 0),
        device,
        what=f"extracting with {source.name}",
        less="use --precision bf16, or a smaller encoder",
    )
    reset_peak_memory(device)
    encoder = load_encoder(
        source, dtype=torch_dtype(manifest.precision), pooling=cast(Pooling, manifest.pooling)
    ).to(device.torch)
    if (encoder.num_layers, encoder.hidden_size) != (manifest.num_layers, manifest.hidden_size):
        raise InputError(f"the encoder {source.name} does not have the shape of its config")
    read = Reading(corpus, manifest.casing)
    alignments = {
        name: align(
            read(split.sentences),
            encoder.wordpieces,
            positions=encoder.positions,
            context=cast(Context, manifest.context),
        )
        for name, split in corpus.splits.items()
    }
    edges = {name: block_edges(a, manifest.block_words) for name, a in alignments.items()}
    writer = StoreWriter(
        plan.path,
        manifest,
        {name: a.sentences for name, a in alignments.items()},
        {name: words for name, (_, words) in edges.items()},
    )
    try:
        done = sum(int(np.diff(edges[split][1])[k]) for split, k in writer.finished)
        if writer.finished:
            notice(
                f"resuming an interrupted extraction: {counted(len(writer.finished), 'block')} "
                f"kept, {done:,} of {counted(manifest.words, 'word')}"
            )

        with (
            stage("extracting", "words", manifest.words, done=done) as advance,
            ThreadPoolExecutor(max_workers=1) as thread,
            torch.inference_mode(),
        ):
            writing: Future[None] | None = None
            budget = TokenBudget(manifest.token_budget)
            for name, k, windows in _missing_blocks(edges, writer):
                states = block_states(
                    encoder,
                    alignments[name],
                    windows,
                    manifest.layers,
                    dtype=getattr(torch, manifest.dtype),
                    budget=budget,
                    device=device.torch,
                    advance=advance,
                )
                if writing is not None:
                    writing.result()
                writing = thread.submit(_write, writer, name, k, HostCopy(states), corpus)
            if writing is not None:
                writing.result()
        return writer.finish(
            dataclasses.replace(
                manifest,
                uncased=encoder.wordpieces.lowercases,
                encoder_parameters=sum(p.numel() for p in encoder.parameters()),
                flops=sum(
                    encoder_flops(encoder, a.window_lengths, highest=max(manifest.layers))
                    for a in alignments.values()
                ),
                splits={
                    name: dataclasses.replace(stored, counts=alignments[name].counts)
                    for name, stored in manifest.splits.items()
                },
                seconds=writer.seconds,
                peak_memory_bytes=peak_memory(device),
                created=datetime.now(UTC).isoformat(timespec="seconds"),
            )
        )
    except BaseException:
        writer.close()
        raise


def block_edges(alignment: Alignment, block_words: int) -> tuple[Ints, Ints]:
    """Edges of blocks of whole context units: in windows (K + 1,), and in words (K + 1,)."""
    unit_words = alignment.owned[alignment.units]
    edges = [0]
    for unit in range(1, len(unit_words)):
        if unit_words[unit] - unit_words[edges[-1]] >= block_words or unit == len(unit_words) - 1:
            edges.append(unit)
    return alignment.units[edges], unit_words[edges]


def block_states(
    encoder: Encoder,
    alignment: Alignment,
    windows: Ints,
    layers: Sequence[int],
    *,
    dtype: torch.dtype,
    budget: TokenBudget,
    device: torch.device,
    advance: Callable[[int], None] | None = None,
) -> Tensor:
    """(layers, words, H) of the words that a block's windows own, on the device.

    Stores and predictions from frozen states both use it, so they are equal.

    Args:
        windows: consecutive window numbers.
        dtype: that the states are rounded to.
        advance: gets the number of words of each batch.
    """
    first, stop = alignment.owned[windows[0]], alignment.owned[windows[-1] + 1]
    shape = (len(layers), int(stop - first), encoder.hidden_size)
    states = torch.empty(shape, dtype=dtype, device=device)

    def compute(rows: Ints) -> None:
        found = encoder.hidden_states(encoder.batch(alignment, windows[rows]).to(device), layers)
        places = torch.from_numpy(alignment.owned_words(windows[rows]) - first)
        there = to_device(places, device)
        for held, layer in zip(states, found, strict=True):
            held.index_copy_(0, there, layer.to(dtype))
        if advance is not None:
            advance(len(places))

    budget.compute_buckets(alignment.window_lengths[windows], compute)
    return states


def _missing_blocks(
    edges: Mapping[str, tuple[Ints, Ints]], writer: StoreWriter
) -> Iterator[tuple[str, int, Ints]]:
    """(split, block, its window numbers) of each block that the store still lacks."""
    for name, (windows, _) in edges.items():
        for k in range(len(windows) - 1):
            if (name, k) not in writer.finished:
                yield name, k, np.arange(windows[k], windows[k + 1])


def _write(writer: StoreWriter, split: str, k: int, copy: HostCopy, corpus: Corpus) -> None:
    """Runs in the writing thread, while the device computes the next block."""
    if not copy.is_finite():
        start = int(writer.blocks[split][k])
        raise _not_finite(copy.on_host(), writer.manifest, corpus, split, start)
    writer.write(split, k, copy.on_host().numpy())


def _not_finite(
    states: Tensor, manifest: Manifest, corpus: Corpus, split: str, start: int
) -> InputError:
    """The error for states (layers, words, H) of the block that begins with word `start`."""
    wrong: NDArray[np.bool_] = (~states.isfinite()).any(dim=2).numpy()  # (layers, words)
    words = np.flatnonzero(wrong.any(axis=0))
    layers = np.asarray(manifest.layers)
    first_layer = layers[wrong[:, words[0]]][0]
    lengths = [len(s) for s in corpus[split].sentences]
    sentence = int(np.searchsorted(np.cumsum(lengths), start + words[0], side="right"))
    where = named_sentence(sentence, split, corpus[split].sentences[sentence].words)
    precise = manifest.precision == "fp32"
    what = "NaN" if bool(states.isnan().any()) else "infinite values"
    todo = "the encoder computes them: check its weights" if precise else "try --precision fp32"
    if what != "NaN" and manifest.dtype == "float16":
        what = f"values beyond {FLOAT16_MAX:,}, the largest float16"
        todo = "try --store-dtype float32" + ("" if precise else " or --precision fp32")
    named = ", ".join(str(layer) for layer in layers[wrong.any(axis=1)])
    return InputError(
        f"hidden states are not finite: {what} in {counted(len(words), 'word')} of a block of "
        f"{wrong.shape[1]:,}, in layer{'s' if ',' in named else ''} {named}; first in layer "
        f"{first_layer} of {where}; nothing of the block is stored; {todo}"
    )

"""Extraction: a corpus through a frozen encoder into a feature store, once.

The text is cut into blocks of whole context units (sentences or documents), the unit of writing,
checksum and journal. Within a block, windows are sorted by length and batched under a token
budget; a block is written by a thread while the next one is computed.
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
from featbert.encoders.alignment import Alignment, Context, align
from featbert.encoders.casing import Casing, Reading
from featbert.encoders.copies import Leaving
from featbert.encoders.device import DTYPES, Device, find_device
from featbert.encoders.encoder import Encoder, Pooling, load_encoder
from featbert.encoders.fitting import TokenBudget
from featbert.encoders.flops import encoder_flops
from featbert.encoders.memory import (
    check_memory,
    freed_memory_kept,
    peak_memory,
    reset_peak_memory,
)
from featbert.encoders.source import DEFAULT_MODEL, EncoderSource, find_encoder
from featbert.features.block_states import block_edges, block_states
from featbert.features.extraction_plan import (
    ExtractionError,
    ExtractionPlan,
    check_disk,
    plan_extraction,
)
from featbert.features.finiteness import find_not_finite, told
from featbert.features.store.reader import FeatureStore
from featbert.features.store.writer import StoreWriter
from featbert.progress import notice
from featbert.text import counted, named_sentence

Ints = NDArray[np.int64]
Progress = Callable[[int, int], None]


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
    device: str | Device = "auto",
    token_budget: int | None = None,
    reading: Mapping[str, Any] | None = None,
    on_progress: Progress | None = None,
) -> FeatureStore:
    """Hidden states of every word of a corpus, to a store under `cache_dir`.

    An existing store that holds all of it is returned as it is; an interrupted extraction of the
    same plan goes on from its last finished block.

    Args:
        corpus: as loaded, or its folder; "sample" is the embedded one.
        model: folder, packaged encoder or Hub id.
        layers: hidden states to keep, 0 being the embeddings; all by default. A layer costs
            words x H x 2 bytes (float16) on disk.
        context: what a word sees: its sentence or its document.
        casing: "truecased" gives sentences in capitals the casing of the training split.
        pooling: the piece that stands for a word: "first", "last", or the "mean" of all.
        precision: "fp32", "bf16", "fp16", or "auto" (bf16 where the hardware has it).
        dtype: "float16" or "float32", how vectors are kept.
        token_budget: padded wordpieces of a batch.
        reading: options the corpus was read with, kept for reading it again.
        on_progress: called with words done and words in all.

    Raises:
        FeatbertError: every refusal, before or during the work; a partial store is kept.
    """
    corpus = load_corpus(corpus) if isinstance(corpus, str) else corpus
    source = find_encoder(model) if isinstance(model, str) else model
    where = find_device(device) if isinstance(device, str) else device
    plan = plan_extraction(
        corpus,
        source,
        cache_dir=cache_dir,
        layers=layers,
        context=context,
        casing=casing,
        pooling=pooling,
        precision=precision,
        dtype=dtype,
        device=where,
        token_budget=token_budget,
        reading=reading,
    )
    if plan.hit is not None:
        return plan.hit
    return run_extraction(plan, corpus, source, where, on_progress=on_progress)


@freed_memory_kept()
def run_extraction(
    plan: ExtractionPlan,
    corpus: Corpus,
    source: EncoderSource,
    device: Device,
    *,
    on_progress: Progress | None = None,
) -> FeatureStore:
    """Carries out a plan that is no hit; see `extract`.

    A notice says what is kept, where an interrupted extraction goes on.
    """
    manifest = plan.manifest
    check_disk(plan)
    check_memory(
        plan.memory_bytes(source.parameters or 0),
        device,
        what=f"extracting with {source.name}",
        less="use --precision bf16, or a smaller encoder",
    )
    reset_peak_memory(device)
    encoder = load_encoder(
        source, dtype=DTYPES[manifest.precision], pooling=cast(Pooling, manifest.pooling)
    ).to(device.torch)
    if (encoder.num_layers, encoder.hidden_size) != (manifest.num_layers, manifest.hidden_size):
        raise ExtractionError(f"the encoder {source.name} does not have the shape of its config")
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
    work = {name: block_edges(a, manifest.block_words) for name, a in alignments.items()}
    budget = TokenBudget(manifest.token_budget)
    writer = StoreWriter(
        plan.path,
        manifest,
        {name: a.sentences for name, a in alignments.items()},
        {name: edges for name, (_, edges) in work.items()},
    )
    if writer.halved_to:
        budget.halve_to(writer.halved_to)
    try:
        done = sum(int(np.diff(work[s][1])[k]) for s, k in writer.finished)
        if writer.finished:
            notice(
                "going on with an interrupted extraction: "
                f"{counted(len(writer.finished), 'block')} kept, {done:,} of "
                f"{counted(manifest.words, 'word')}"
            )

        def tell(words: int) -> None:
            nonlocal done
            done += words
            if on_progress is not None:
                on_progress(done, manifest.words)

        with ThreadPoolExecutor(max_workers=1) as thread, torch.inference_mode():
            writing: Future[None] | None = None
            blocks = _computed(encoder, alignments, work, writer, budget, device, tell)
            for name, k, states in blocks:
                if writing is not None:
                    writing.result()
                # What comes next may halve the budget while this is written.
                halved = budget.halved_to
                writing = thread.submit(_write, writer, name, k, Leaving(states), corpus, halved)
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
                halved_to=budget.halved_to,
                seconds=writer.seconds,
                peak_memory_bytes=peak_memory(device),
                created=datetime.now(UTC).isoformat(timespec="seconds"),
            )
        )
    except BaseException:
        writer.close()
        raise


def _computed(
    encoder: Encoder,
    alignments: Mapping[str, Alignment],
    work: Mapping[str, tuple[Ints, Ints]],
    writer: StoreWriter,
    budget: TokenBudget,
    device: Device,
    tell: Callable[[int], None],
) -> Iterator[tuple[str, int, Tensor]]:
    """(split, block, (layers, words, H) on the device) for each block that the store still lacks.

    `tell` hears the words of each batch.
    """
    for name, alignment in alignments.items():
        windows, _ = work[name]
        for k in range(len(windows) - 1):
            if (name, k) in writer.finished:
                continue
            states = block_states(
                encoder,
                alignment,
                np.arange(windows[k], windows[k + 1]),
                writer.manifest.layers,
                dtype=getattr(torch, writer.manifest.dtype),
                budget=budget,
                device=device.torch,
                tell=tell,
            )
            yield name, k, states


def _write(
    writer: StoreWriter,
    name: str,
    k: int,
    leaving: Leaving,
    corpus: Corpus,
    halved_to: int,
) -> None:
    """Runs in the writing thread, while the device computes the next block."""
    if not leaving.is_finite():
        found = find_not_finite(leaving.on_host(), writer.manifest.layers)
        place = int(writer.blocks[name][k]) + found.first_word
        sentence = int(np.searchsorted(writer.offsets[name], place, side="right")) - 1
        raise ExtractionError(
            told(
                found,
                dtype=writer.manifest.dtype,
                precision=writer.manifest.precision,
                sentence=named_sentence(sentence, name, corpus[name].sentences[sentence].words),
            )
        )
    writer.write(name, k, leaving.on_host().numpy(), halved_to)

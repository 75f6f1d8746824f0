"""Extraction: a corpus through a frozen encoder into a feature store, once.

The text is cut into blocks of whole context units (sentences or documents), the unit of writing,
checksum and journal. Within a block, windows are sorted by length and batched under a token
budget; a block is written by a thread while the next one is computed.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from featbert.data.corpus import Corpus
from featbert.errors import InputError
from featbert.features.alignment import Alignment, Context, align, check_context
from featbert.features.batching import length_batches
from featbert.features.device import (
    DTYPES,
    Device,
    find_device,
    find_precision,
    peak_memory,
    reset_peak_memory,
)
from featbert.features.encoder import Encoder, Pooling, load_encoder
from featbert.features.flops import encoder_flops
from featbert.features.layers import LayerError
from featbert.features.source import DEFAULT_MODEL, EncoderSource, find_encoder
from featbert.features.store import (
    FeatureStore,
    Manifest,
    StoredSplit,
    StoreError,
    StoreWriter,
)
from featbert.features.store.manifest import DTYPE_BYTES
from featbert.versions import library_versions

Ints = NDArray[np.int64]
Progress = Callable[[int, int], None]
STORE_DTYPES = tuple(DTYPE_BYTES)
# Padded tokens of a batch: large enough for full matrix speed on two cores, small in memory.
TOKEN_BUDGET = {"cpu": 2048, "cuda": 32768}
BLOCK_WORDS = 4096
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


def plan_extraction(
    corpus: Corpus,
    model: str | EncoderSource = DEFAULT_MODEL,
    *,
    cache_dir: str | Path = "cache",
    layers: Sequence[int] | None = None,
    context: Context = "sentence",
    pooling: Pooling = "first",
    precision: str = "auto",
    dtype: str = "float16",
    device: str | Device = "auto",
    token_budget: int | None = None,
    reading: Mapping[str, Any] | None = None,
) -> ExtractionPlan:
    """Plans a store; see `extract` for the arguments. Nothing is written."""
    source = find_encoder(model) if isinstance(model, str) else model
    where = find_device(device) if isinstance(device, str) else device
    if dtype not in DTYPE_BYTES:
        raise ExtractionError(f"store dtype {', '.join(DTYPE_BYTES)} expected, found {dtype!r}")
    for split in corpus.splits.values():
        check_context(context, has_documents=split.has_documents)
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
        pooling=pooling,
        precision=find_precision(precision, where),
        dtype=dtype,
        token_budget=token_budget or TOKEN_BUDGET[where.kind],
        block_words=BLOCK_WORDS,
        device=where.kind,
        device_name=where.name,
        threads=where.threads,
        versions=library_versions(),
    )
    path = Path(cache_dir) / manifest.file_name
    hit = None
    if path.is_file():
        store = FeatureStore(path)
        theirs = store.manifest.identity
        differ = [key for key, value in manifest.identity.items() if theirs[key] != value]
        if differ:
            raise StoreError(
                f"a store with the same {', '.join(differ)} expected, {path} is of another "
                "extraction; move it out of the way and extract again"
            )
        if set(held) <= set(store.layers):
            hit = store
        else:  # one store a text and encoder: keep what the old one held
            union = tuple(sorted({*held, *store.layers}))
            manifest = dataclasses.replace(manifest, layers=union)
    return ExtractionPlan(path, manifest, hit)


def extract(
    corpus: Corpus,
    model: str | EncoderSource = DEFAULT_MODEL,
    *,
    cache_dir: str | Path = "cache",
    layers: Sequence[int] | None = None,
    context: Context = "sentence",
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
        model: folder, packaged encoder or Hub id.
        layers: hidden states to keep, 0 being the embeddings; all by default. A layer costs
            words x H x 2 bytes (float16) on disk.
        context: what a word sees: its sentence or its document.
        pooling: the piece that stands for a word: "first", "last", or the "mean" of all.
        precision: "fp32", "bf16", "fp16", or "auto" (bf16 where the hardware has it).
        dtype: "float16" or "float32", how vectors are kept.
        token_budget: padded wordpieces of a batch.
        reading: options the corpus was read with, kept for reading it again.
        on_progress: called with words done and words in all.

    Raises:
        FeatbertError: every refusal, before or during the work; a partial store is kept.
    """
    source = find_encoder(model) if isinstance(model, str) else model
    where = find_device(device) if isinstance(device, str) else device
    plan = plan_extraction(
        corpus,
        source,
        cache_dir=cache_dir,
        layers=layers,
        context=context,
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


def run_extraction(
    plan: ExtractionPlan,
    corpus: Corpus,
    source: EncoderSource,
    device: Device,
    *,
    on_progress: Progress | None = None,
) -> FeatureStore:
    """Carries out a plan that is no hit; see `extract`."""
    manifest = plan.manifest
    _check_disk(plan)
    reset_peak_memory(device)
    encoder = load_encoder(
        source, dtype=DTYPES[manifest.precision], pooling=cast(Pooling, manifest.pooling)
    ).to(device.torch)
    if (encoder.num_layers, encoder.hidden_size) != (manifest.num_layers, manifest.hidden_size):
        raise ExtractionError(f"the encoder {source.name} does not have the shape of its config")
    alignments = {
        name: align(
            split.sentences,
            encoder.wordpieces,
            positions=encoder.positions,
            context=cast(Context, manifest.context),
        )
        for name, split in corpus.splits.items()
    }
    work = {name: _blocks(a, manifest.block_words) for name, a in alignments.items()}
    writer = StoreWriter(
        plan.path,
        manifest,
        {name: a.sentences for name, a in alignments.items()},
        {name: edges for name, (_, edges) in work.items()},
    )
    try:
        done = sum(int(np.diff(work[s][1])[k]) for s, k in writer.finished)

        def tell(words: int) -> None:
            nonlocal done
            done += words
            if on_progress is not None:
                on_progress(done, manifest.words)

        with ThreadPoolExecutor(max_workers=1) as thread, torch.inference_mode():
            writing: Future[None] | None = None
            blocks = _computed(encoder, alignments, work, writer, manifest, device, tell)
            for name, k, states in blocks:
                if writing is not None:
                    writing.result()
                writing = thread.submit(_write, writer, name, k, states, corpus)
            if writing is not None:
                writing.result()
        return writer.finish(
            dataclasses.replace(
                manifest,
                uncased=encoder.wordpieces.lowercases,
                encoder_parameters=sum(p.numel() for p in encoder.parameters()),
                flops=sum(
                    encoder_flops(
                        encoder,
                        alignment.window_lengths,
                        num_layers=encoder.num_layers,
                        hidden_size=encoder.hidden_size,
                    )
                    for alignment in alignments.values()
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


def _computed(
    encoder: Encoder,
    alignments: Mapping[str, Alignment],
    work: Mapping[str, tuple[Ints, Ints]],
    writer: StoreWriter,
    manifest: Manifest,
    device: Device,
    tell: Callable[[int], None],
) -> Iterator[tuple[str, int, Tensor]]:
    """(split, block, (layers, words, H)) for each block that the store still lacks.

    `tell` hears the words of each batch.
    """
    dtype = getattr(torch, manifest.dtype)
    for name, alignment in alignments.items():
        windows, words = work[name]
        for k in range(len(windows) - 1):
            if (name, k) in writer.finished:
                continue
            shape = (len(manifest.layers), int(words[k + 1] - words[k]), encoder.hidden_size)
            states = torch.empty(shape, dtype=dtype)
            inside = np.arange(windows[k], windows[k + 1])
            lengths = alignment.window_lengths[inside]
            for rows in length_batches(lengths, manifest.token_budget):
                batch = encoder.batch(alignment, inside[rows]).to(device.torch)
                found = encoder.hidden_states(batch)
                places = torch.from_numpy(alignment.owned_words(inside[rows]) - int(words[k]))
                for at, layer in enumerate(manifest.layers):
                    states[at].index_copy_(0, places, found[layer].to(dtype).cpu())
                tell(len(places))
            yield name, k, states


def _write(writer: StoreWriter, name: str, k: int, states: Tensor, corpus: Corpus) -> None:
    finite = states.isfinite().all(dim=2)  # (layers, words)
    if not finite.all():
        at, word = (int(i) for i in (~finite).nonzero()[0])
        place = int(writer.blocks[name][k]) + word
        sentence = int(np.searchsorted(writer.offsets[name], place, side="right")) - 1
        raise ExtractionError(
            f"finite hidden states expected, layer {writer.manifest.layers[at]} is not in "
            f"sentence {sentence + 1} of {name} "
            f"({' '.join(corpus[name].sentences[sentence].words)[:60]!r}); "
            "try --store-dtype float32 or --precision fp32"
        )
    writer.write(name, k, states.numpy())


def _blocks(alignment: Alignment, block_words: int) -> tuple[Ints, Ints]:
    """Edges of blocks of whole context units: in windows (K + 1,), and in words (K + 1,)."""
    unit_words = alignment.owned[alignment.units]
    edges = [0]
    for unit in range(1, len(unit_words)):
        if unit_words[unit] - unit_words[edges[-1]] >= block_words or unit == len(unit_words) - 1:
            edges.append(unit)
    return alignment.units[edges], unit_words[edges]


def _check_disk(plan: ExtractionPlan) -> None:
    """Refuses to start where the disk cannot hold the store."""
    folder = plan.path.parent
    folder.mkdir(parents=True, exist_ok=True)
    partial = plan.path.with_name(plan.path.name + ".partial")
    have = shutil.disk_usage(folder).free + (partial.stat().st_size if partial.exists() else 0)
    need = plan.data_bytes + FRAME_BYTES
    if have < need:
        raise ExtractionError(
            f"{need / 1e9:.2f} GB of disk expected in {folder}, {have / 1e9:.2f} GB are free; "
            "store fewer layers (--layers), float16, or use another --cache-dir"
        )

"""Extraction: a corpus through a frozen encoder into a feature store, once.

Blocks of whole context units are the unit of writing, checksum and journal. Batches, and with them
the last bits of the vectors, follow from the block alone.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from featbert.data.corpus import Corpus, Sentence
from featbert.data.load import load_corpus
from featbert.encoders.alignment import Alignment
from featbert.encoders.batching import Ints, TokenBudget, length_batches, padded_tokens
from featbert.encoders.device import computing_threads, find_device, to_device, torch_dtype
from featbert.encoders.encoder import Encoder, load_encoder, pooled_by_layer, segment_pool
from featbert.encoders.encoding import Encoding, Reading, texts_of
from featbert.encoders.memory import check_memory, freed_memory_kept, peak_memory, reset_peak_memory
from featbert.encoders.source import DEFAULT_MODEL, EncoderSource, find_encoder
from featbert.errors import InputError
from featbert.features.plan import ExtractionPlan, check_disk, plan_extraction
from featbert.features.store import FeatureStore, Layout, Manifest
from featbert.features.writer import StoreWriter
from featbert.progress import notice, shown, stage
from featbert.text import counted, named_sentence

# Batches at a time: more wait for Python's lock; with more threads each is computed on several.
MOST_WORKERS = 8
# What of the vectors of its windows is that of a unit. Those of a mean are sums of pieces.
OF_WINDOWS = {"cls": "mean", "mean": "sum", "max": "max"}


def extract(
    corpus: Corpus | str,
    model: str | EncoderSource = DEFAULT_MODEL,
    *,
    cache_dir: str | Path = "cache",
    progress: bool = True,
    **options: Any,
) -> FeatureStore:
    """Hidden states of every word of a corpus, to a store under `cache_dir`.

    `train` reads the targets of this corpus by default. An existing store that holds all of it is
    returned; an interrupted extraction of the same plan resumes after its last finished block.

    Args:
        corpus: as loaded, or its folder; "sample" is the embedded one.
        model: folder, packaged encoder or Hub id.
        progress: whether a bar is shown, in a notebook or a terminal.
        options: layers, context, casing, precision and the others of `Encoding`.
    """
    with shown(progress):
        corpus = load_corpus(corpus, targets=None) if isinstance(corpus, str) else corpus
        source = find_encoder(model) if isinstance(model, str) else model
        encoding = Encoding(**options)
        plan = plan_extraction(corpus, source, encoding, cache_dir=cache_dir)
        store = plan.hit or run_extraction(plan, corpus, source)
    store.corpus = corpus
    return store


@freed_memory_kept()
def run_extraction(
    plan: ExtractionPlan,
    corpus: Corpus,
    source: EncoderSource,
    loaded: dict[Any, Encoder] | None = None,
) -> FeatureStore:
    """Carries out a plan that is no hit, on this machine's device of the planned kind.

    The encoder is taken from `loaded`, or left there, if that is given.
    """
    device = find_device(plan.manifest.device)
    manifest = dataclasses.replace(plan.manifest, **device.facts)
    check_disk(plan.path.parent, plan)
    words = min(manifest.block_words, max((s.words for s in manifest.splits.values()), default=0))
    block = len(manifest.layers) * words * manifest.hidden_size * np.dtype(manifest.dtype).itemsize
    key, loaded = (source, manifest.precision, manifest.pooling), {} if loaded is None else loaded
    weights = (source.parameters or 0) * torch_dtype(manifest.precision).itemsize
    check_memory(  # weights, and a block computed while one is written
        (0 if key in loaded else weights) + 2 * block,
        device,
        what=f"extracting with {source.name}",
        less="use --precision bf16, or a smaller encoder",
    )
    reset_peak_memory(device)
    if key not in loaded:
        loaded[key] = load_encoder(
            source, dtype=torch_dtype(manifest.precision), pooling=manifest.pooling
        ).to(device.torch)
    encoder = loaded[key]
    if (encoder.num_layers, encoder.hidden_size) != (manifest.num_layers, manifest.hidden_size):
        raise InputError(f"the encoder {source.name} does not have the shape of its config")
    read = Reading(corpus, manifest.casing)
    texts = {name: read(split.sentences) for name, split in corpus.splits.items()}
    alignments = {
        name: encoder.align(sentences, manifest.context, manifest.packing)
        for name, sentences in texts.items()
    }
    layouts = {name: layout_of(sentences, manifest) for name, sentences in texts.items()}
    with closing(StoreWriter(plan.path, manifest, layouts)) as writer:
        done = sum(int(np.diff(layouts[split].edges("words"))[k]) for split, k in writer.finished)
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
            writing = thread.submit(lambda: None)
            budget = TokenBudget(manifest.token_budget)
            missing = (
                (name, k, edges)
                for name, layout in layouts.items()
                for k, edges in enumerate(pairwise(layout.blocks))
                if (name, k) not in writer.finished
            )
            for name, k, (first, stop) in missing:
                states = block_states(
                    encoder,
                    alignments[name],
                    np.arange(first, stop),
                    manifest.layers,
                    manifest.kinds,
                    dtype=getattr(torch, manifest.dtype),
                    budget=budget,
                    device=device.torch,
                    advance=advance,
                )
                copies = {kind: HostCopy(held) for kind, held in states.items()}
                writing.result()
                writing = thread.submit(_write, writer, name, k, copies, corpus)
            writing.result()
        return writer.finish(
            dataclasses.replace(
                manifest,
                uncased=encoder.wordpieces.lowercases,
                encoder_parameters=sum(p.numel() for p in encoder.parameters()),
                flops=sum(
                    encoder.flops(a.window_lengths, highest=max(manifest.layers))
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


def layout_of(sentences: Sequence[Sentence], manifest: Manifest) -> Layout:
    """Where the parts of a split begin, which words and documents alone decide."""
    offsets = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
    _, numbers, units = texts_of(sentences, manifest.context, manifest.packing)
    blocks = block_edges(units, manifest.block_words)
    return Layout(offsets, units, blocks, numbers if manifest.packing == "apart" else None)


def block_edges(unit_words: Ints, block_words: int) -> Ints:
    """(K + 1,) units before each block of at least `block_words` words, but the last.

    `unit_words` are (U + 1,) words before each unit. Batches begin anew with each block.
    """
    edges = [0]
    for unit in range(1, len(unit_words)):
        if unit_words[unit] - unit_words[edges[-1]] >= block_words or unit == len(unit_words) - 1:
            edges.append(unit)
    return np.array(edges)


def block_states(
    encoder: Encoder,
    alignment: Alignment,
    units: Ints,
    layers: Sequence[int],
    kinds: Sequence[str] = ("words",),
    *,
    dtype: torch.dtype,
    budget: TokenBudget,
    device: torch.device,
    advance: Callable[[int], None] = lambda n: None,
) -> dict[str, Tensor]:
    """(layers, vectors, H) of a block for each of `kinds` (`Manifest.kinds`), on the device.

    Stores and predictions from frozen states both use it, so they are equal. `units` are
    consecutive numbers of context units; `advance` gets the number of words of each batch.
    """
    windows = np.arange(alignment.units[units[0]], alignment.units[units[-1] + 1])
    edges = alignment.owned[windows[[0, -1]] + [0, 1]]
    of_unit = np.diff(alignment.units)[units]
    whole = alignment.whole_lengths[windows]

    def room(rows: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.empty((len(layers), rows, encoder.hidden_size), dtype=dtype, device=device)

    # Parts of words in the store's precision; what is of windows in float32, until units are pooled
    table = {kind: room(len(windows)) for kind in kinds if kind != "words"}
    if "words" in kinds:
        table["words"] = room(int(edges[1] - edges[0]), dtype)
    firsts, pieces = "cls" in kinds, not {"mean", "max"}.isdisjoint(kinds)

    def compute(rows: Ints) -> None:
        parts = alignment.owned_parts(windows[rows] if "words" in kinds else windows[:0])
        batch = encoder.batch(alignment, windows[rows], parts, firsts=firsts, pieces=pieces)
        places = to_device(torch.from_numpy(parts - edges[0]), device)
        windows_there = to_device(torch.from_numpy(rows), device)
        n_first = len(parts) + len(rows) * firsts
        for k, layer in enumerate(encoder.hidden_states(batch.to(device), layers)):
            # Through float32, which bfloat16 is converted from at less than half of the time
            if "words" in kinds:
                put_rows(table["words"][k], places, layer[: len(parts)].float().to(dtype))
            if firsts:
                put_rows(table["cls"][k], windows_there, layer[len(parts) : n_first].float())
            for kind in {"mean", "max"}.intersection(kinds):
                pooled = segment_pool(layer[n_first:], whole[rows], OF_WINDOWS[kind])
                put_rows(table[kind][k], windows_there, pooled)

    lengths = alignment.window_lengths[windows]

    def cut(rows: Ints, tokens: int) -> Iterator[Ints]:
        return (rows[part] for part in length_batches(lengths[rows], tokens))

    def compute_bucket(rows: Ints) -> int:
        budget.compute_parts(rows, compute, size=lambda r: padded_tokens(lengths[r]), cut=cut)
        return int(alignment.begun_words[windows[rows]].sum())

    for n in map_batches(compute_bucket, cut(np.arange(len(windows)), budget.tokens), device):
        advance(n)
    found = {}
    for kind, states in table.items():
        if kind == "words":
            first, end = alignment.unit_words[units[[0, -1]] + [0, 1]]
            counts = np.diff(alignment.word_parts[first : end + 1])
            sizes = np.diff(alignment.parts[edges[0] : edges[1]])[:, 0]
            found[kind] = _whole_words(states, counts, sizes, encoder.pooling)
            continue
        pooled = pooled_by_layer(states, of_unit, OF_WINDOWS[kind])
        if kind == "mean":
            n_pieces = np.add.reduceat(whole, np.cumsum(of_unit) - of_unit)
            pooled /= to_device(torch.from_numpy(n_pieces), device)[:, None]
        found[kind] = pooled.to(dtype)
    return found


def _whole_words(parts: Tensor, counts: Ints, sizes: Ints, pooling: str) -> Tensor:
    """(layers, M, H) vectors of parts -> (layers, N, H) of words.

    `counts` (N,) are parts of each word, `sizes` (M,) pieces of each part.
    """
    if len(sizes) == len(counts):
        return parts
    ends = np.cumsum(counts)
    if pooling != "mean":
        chosen = ends - counts if pooling == "first" else ends - 1
        return parts[:, to_device(torch.from_numpy(chosen), parts.device)]
    shares = sizes / np.repeat(np.add.reduceat(sizes, ends - counts), counts)
    weights = to_device(torch.from_numpy(shares), parts.device).float()
    return pooled_by_layer(parts * weights[:, None], counts, "sum").to(parts.dtype)


def map_batches(
    compute: Callable[[Any], Any], batches: Iterable[Any], device: torch.device
) -> Iterator[Any]:
    """`compute` of each batch, without gradients, several at a time on a processor; in order.

    Threads that share a batch meet after every operation: each waits for the slowest, which beside
    another busy process takes many times as long. Threads with a batch each meet once a block. A
    batch has the same number of threads however many there are, which its last digits depend on.
    """

    def work(batch: Any) -> Any:
        with torch.inference_mode():
            return compute(batch)

    threads = torch.get_num_threads()
    most = min(threads, MOST_WORKERS) if device.type == "cpu" else 1
    if most == 1:
        yield from map(work, batches)
        return
    each = threads // most
    with (
        computing_threads(each),
        ThreadPoolExecutor(most, initializer=torch.set_num_threads, initargs=(each,)) as pool,
    ):
        yield from pool.map(work, batches)


def put_rows(table: Tensor, rows: Tensor, values: Tensor) -> None:
    """Row `rows[i]` of the table becomes `values[i]`; each is named once."""
    if table.device.type == "cpu":  # numpy copies whole rows, torch number by number
        table.numpy()[rows.numpy()] = values.numpy()
    else:
        table.index_copy_(0, rows, values)


class HostCopy:
    """A tensor that was just computed, to be copied to the host by another thread."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor if tensor.is_cuda else tensor.cpu()
        self.stream: torch.cuda.Stream | None = None
        if tensor.is_cuda:
            self.stream = torch.cuda.Stream(tensor.device)  # type: ignore[no-untyped-call]
            # It waits for what was computed until now, and for nothing that comes after.
            self.stream.wait_stream(torch.cuda.current_stream(tensor.device))
            tensor.record_stream(self.stream)

    def fetched(self) -> tuple[Tensor, bool]:
        """The tensor in the host's memory, and whether all of it is finite; the device goes on."""
        if self.stream is None:
            return self.tensor, _finite(self.tensor)
        with torch.cuda.stream(self.stream):
            finite = _finite(self.tensor)
            host = torch.empty(self.tensor.shape, dtype=self.tensor.dtype, pin_memory=True)
            host.copy_(self.tensor, non_blocking=True)
        self.stream.synchronize()
        return host, finite


def _finite(tensor: Tensor) -> bool:
    """Lowest and highest are found much faster than each value that is not finite; NaN is both."""
    return not tensor.numel() or all(bool(end.isfinite()) for end in tensor.aminmax())


def _write(
    writer: StoreWriter, split: str, k: int, copies: Mapping[str, HostCopy], corpus: Corpus
) -> None:
    """Runs in the writing thread, while the device computes the next block."""
    found = {kind: copy.fetched() for kind, copy in copies.items()}
    states = {kind: held for kind, (held, _) in found.items()}
    if not all(finite for _, finite in found.values()):
        raise _not_finite(states, writer, corpus, split, k)
    writer.write(split, k, {kind: held.numpy() for kind, held in states.items()})


def _not_finite(
    states: Mapping[str, Tensor], writer: StoreWriter, corpus: Corpus, split: str, k: int
) -> InputError:
    """The error for states (layers, vectors, H) by kind of block `k`."""
    manifest, layout = writer.manifest, writer.layouts[split]
    words, layers = set[int](), set[int]()
    for kind, held in states.items():
        at, vectors = (~held.isfinite()).any(dim=2).numpy().nonzero()
        vectors = vectors + layout.edges(kind)[k]
        # A unit's vector counts as its first word's.
        words.update(vectors if kind == "words" else layout.units[vectors])
        layers.update(at)
    inside = (layout.places() <= min(words)) == [True, False]  # from the first word to the end
    sentence = int(inside.all(axis=2).any(axis=1).argmax())
    where = named_sentence(sentence, split, corpus[split].sentences[sentence].words)
    what = "NaN" if any(held.isnan().any() for held in states.values()) else "infinite values"
    named = ", ".join(str(manifest.layers[i]) for i in sorted(layers))
    return InputError(
        f"hidden states are not finite: {what} in {counted(len(words), 'word')} of a block, in "
        f"layer{'s' if ',' in named else ''} {named}; first in {where}; nothing of the block is "
        "stored; try --store-dtype float32 and --precision fp32, else check the encoder's weights"
    )

"""Extraction: a corpus goes through a frozen encoder into a feature store, once.

Blocks of whole context units are the unit of writing, checksum and journal.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from featbert.encoders.batching import TokenBudget
from featbert.encoders.device import Device, find_device, torch_dtype
from featbert.encoders.encoder import Encoder
from featbert.encoders.flops import forward_flops
from featbert.encoders.loading import load_frozen
from featbert.encoders.memory import check_memory, freed_memory_kept, peak_memory, reset_peak_memory
from featbert.errors import BusyError, InputError, spelling
from featbert.features.blocks import BlockReader
from featbert.features.plan import ExtractionPlan, check_disk, start_line
from featbert.features.store import FeatureStore
from featbert.features.writer import StoreWriter
from featbert.io import owning
from featbert.progress import notice, report, stage
from featbert.text import counted, named_sentence


def make_store(plan: ExtractionPlan) -> FeatureStore:
    """The store of a plan, which is extracted if it does not exist."""
    if plan.finished is not None:
        return plan.finished
    report(start_line(plan))
    return run_extraction(plan)


@freed_memory_kept()
def run_extraction(
    plan: ExtractionPlan, encoders: dict[str, Encoder] | None = None
) -> FeatureStore:
    """Extracts the store of an unfinished plan, on this machine's device of the planned kind.

    `encoders` keeps the encoder, by `plan.source.reference`, for further plans with it. BusyError
    if another process writes the store, or has finished it since it was planned.
    """
    device = find_device(plan.manifest.device)
    manifest = replace(plan.manifest, **device.facts)
    check_disk(plan.path.parent, plan)
    encoder = _load_encoder(plan, device, {} if encoders is None else encoders)
    alignments = {
        name: encoder.align(sentences, manifest.context, manifest.packing)
        for name, sentences in plan.texts.items()
    }
    with owning(plan.path):
        if plan.path.is_file() and not {*FeatureStore(plan.path).layers} < {*manifest.layers}:
            raise BusyError(
                f"another process has finished {plan.path} meanwhile; run the command again to use "
                "it"
            )
        with closing(StoreWriter(plan.path, manifest, plan.indexes)) as writer:
            words = {name: np.diff(index.edges("words")) for name, index in plan.indexes.items()}
            done = sum(int(words[split][k]) for split, k in writer.finished)
            if writer.finished:
                notice(
                    "resuming an interrupted extraction: "
                    f"{counted(len(writer.finished), 'block')} kept, {done:,} of "
                    f"{counted(manifest.words, 'word')}"
                )
            reader = BlockReader(
                encoder=encoder,
                layers=manifest.layers,
                kinds=manifest.kinds,
                dtype=getattr(torch, manifest.dtype),
                budget=TokenBudget(manifest.token_budget),
                device=device.torch,
            )
            blocks = [
                (name, k, np.arange(first, stop))
                for name, index in plan.indexes.items()
                for k, (first, stop) in enumerate(pairwise(index.blocks))
                if (name, k) not in writer.finished
            ]
            with (
                stage("extracting", "words", manifest.words, done=done) as advance,
                ThreadPoolExecutor(max_workers=1) as thread,
                torch.inference_mode(),
            ):
                writing = thread.submit(lambda: None)
                for name, k, units in blocks:
                    states = reader.states(alignments[name], units, advance)
                    copies = {kind: HostCopy(tensor) for kind, tensor in states.items()}
                    writing.result()
                    writing = thread.submit(_write, writer, plan, name, k, copies)
                writing.result()
            splits = {
                name: replace(stored, counts=alignments[name].counts)
                for name, stored in manifest.splits.items()
            }
            lengths = (alignment.window_lengths for alignment in alignments.values())
            finished = replace(
                manifest,
                uncased=encoder.wordpieces.lowercases,
                encoder_parameters=encoder.n_parameters,
                flops=sum(forward_flops(encoder, n, highest=max(manifest.layers)) for n in lengths),
                splits=splits,
                seconds=writer.seconds,
                peak_memory_bytes=peak_memory(device),
                created=datetime.now(UTC).isoformat(timespec="seconds"),
            )
            writer.finish(finished)
    return FeatureStore(plan.path)


def _load_encoder(plan: ExtractionPlan, device: Device, encoders: dict[str, Encoder]) -> Encoder:
    """The plan's encoder, from or for `encoders`. The measurement of peak memory starts."""
    m, name = plan.manifest, plan.source.reference
    dtype = torch_dtype(m.precision)
    words = min(m.block_words, max((split.words for split in m.splits.values()), default=0))
    block = len(m.layers) * words * m.hidden_size * np.dtype(m.dtype).itemsize
    weights = 0 if name in encoders else (plan.source.parameters or 0) * dtype.itemsize
    check_memory(
        weights + 2 * block,  # one is computed while the other one is written
        device,
        what=f"extracting with {plan.source.name}",
        less=f"use {spelling('precision', 'bf16')}, or a smaller encoder",
    )
    reset_peak_memory(device)
    if name not in encoders:
        encoders[name] = load_frozen(plan.source, device.torch, dtype=dtype, pooling=m.pooling)
    encoder = encoders[name]
    if (encoder.num_layers, encoder.hidden_size) != (m.num_layers, m.hidden_size):
        raise InputError(f"the encoder {name} does not have the shape of its config")
    return encoder


class HostCopy:
    """A tensor that was just computed, to be copied to the host by another thread."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor if tensor.is_cuda else tensor.cpu()
        self.stream: torch.cuda.Stream | None = None
        if tensor.is_cuda:
            self.stream = torch.cuda.Stream(tensor.device)  # type: ignore[no-untyped-call]
            # The copy waits for everything computed until now, and for nothing after it.
            self.stream.wait_stream(torch.cuda.current_stream(tensor.device))
            tensor.record_stream(self.stream)

    def fetched(self) -> tuple[Tensor, bool]:
        """The tensor in the host's memory, and whether all of it is finite."""
        if self.stream is None:
            return self.tensor, _is_finite(self.tensor)
        with torch.cuda.stream(self.stream):
            finite = _is_finite(self.tensor)
            host = torch.empty(self.tensor.shape, dtype=self.tensor.dtype, pin_memory=True)
            host.copy_(self.tensor, non_blocking=True)
        self.stream.synchronize()
        return host, finite


def _is_finite(tensor: Tensor) -> bool:
    """Whether all values are, by the extremes: both are NaN if one value is."""
    return not tensor.numel() or all(bool(end.isfinite()) for end in tensor.aminmax())


def _write(
    writer: StoreWriter, plan: ExtractionPlan, split: str, k: int, copies: Mapping[str, HostCopy]
) -> None:
    """Runs in the writing thread, while the device computes the next block."""
    fetched = {kind: copy.fetched() for kind, copy in copies.items()}
    states = {kind: tensor for kind, (tensor, _) in fetched.items()}
    if not all(finite for _, finite in fetched.values()):
        raise _not_finite(states, plan, split, k)
    writer.write(split, k, {kind: tensor.numpy() for kind, tensor in states.items()})


def _not_finite(
    states: Mapping[str, Tensor], plan: ExtractionPlan, split: str, k: int
) -> InputError:
    """The error for states (layers, vectors, H) by kind of block `k`."""
    index, words, layers = plan.indexes[split], set[int](), set[int]()
    for kind, tensor in states.items():
        layer, vectors = (~tensor.isfinite()).any(dim=2).numpy().nonzero()
        vectors = vectors + index.edges(kind)[k]
        # A unit's vector counts as its first word's.
        words.update(vectors if kind == "words" else index.units[vectors])
        layers.update(layer)
    places = index.places()
    inside = (places[..., 0] <= min(words)) & (min(words) < places[..., 1])
    number = int(inside.any(axis=1).argmax())
    sentence = named_sentence(number, split, plan.texts[split][number].words)
    nan = any(tensor.isnan().any() for tensor in states.values())
    names = ", ".join(str(plan.manifest.layers[i]) for i in sorted(layers))
    return InputError(
        f"hidden states are not finite: {'NaN' if nan else 'infinite values'} in "
        f"{counted(len(words), 'word')} of a block, in layer{'s' if ',' in names else ''} {names}; "
        f"first in {sentence}; nothing of the block is stored; try "
        f"{spelling('store_dtype', 'float32')} and {spelling('precision', 'fp32')}, else "
        "check the encoder's weights"
    )

"""Extraction to a finished store, against a transformers loop and the forward pass alone.

    python -m benchmarks.extract --rounds 5 --threads 2
    python -m benchmarks.extract --data wikigold
    python -m benchmarks.extract --data squad2-half --task spans

Contestants, in turn: the transformers loop (float32; for single texts), featbert in fp32, featbert
with `--precision auto` where that is another precision, and the forward pass over featbert's own
batches, which shows what writing costs. Each goes from words in memory to a closed file, hashing
and loading of the encoder included; all layers, float16 on disk.
"""

import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from benchmarks.baselines import extract_plainly
from benchmarks.contestants import extract
from benchmarks.harness import (
    Options,
    Record,
    Spread,
    Work,
    add_text_options,
    in_turn,
    parser_of,
    ratio,
    run,
    spread,
    work_folder,
)
from benchmarks.machine import facts, feed_forward, matmul_rate, precisions, synchronize
from benchmarks.text import WARM_UP, corpus_of, described, head
from featbert import Corpus
from featbert.encoders.alignment import Alignment, align
from featbert.encoders.batches import PieceBatch
from featbert.encoders.batching import length_batches
from featbert.encoders.device import Device, find_device, torch_dtype
from featbert.encoders.encoder import Encoder
from featbert.encoders.loading import load_frozen
from featbert.encoders.memory import freed_memory_kept
from featbert.encoders.source import find_encoder
from featbert.features.index import block_edges
from featbert.features.manifest import Manifest
from featbert.tasks.base import get_task

BASELINE = "transformers loop fp32"


class Forward(NamedTuple):
    """Seconds before the first batch (encoder loaded, words aligned), and of all batches."""

    loading: float
    computing: float
    pieces: int


@freed_memory_kept()
def forward_alone(corpus: Corpus, model: str, manifest: Manifest, device: Device) -> Forward:
    """The batches that an extraction with this manifest computes: no pooling, no store."""
    started = time.perf_counter()
    source = find_encoder(model)
    _ = source.weights_hash  # an extraction asks for it before it begins
    encoder = load_frozen(source, device.torch, dtype=torch_dtype(manifest.precision))
    alignments = [
        align(
            split.sentences,
            encoder.wordpieces,
            positions=encoder.positions,
            packing=manifest.packing,
        )
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
    """Batches of like length within blocks, as an extraction makes them."""
    edges = alignment.units[block_edges(alignment.unit_words, manifest.block_words)]
    for first, stop in pairwise(edges):
        windows = np.arange(first, stop)
        for rows in length_batches(alignment.window_lengths[windows], manifest.token_budget):
            yield encoder.batcher.windows(alignment, windows[rows])


class Contest:
    """One text and encoder, and what each round gave by precision."""

    def __init__(self, corpus: Corpus, model: str, folder: Path, device: Device) -> None:
        self.corpus, self.model, self.folder, self.device = corpus, model, folder, device
        self.manifests: dict[str, Manifest] = {}
        self.forwards: dict[str, list[Forward]] = {}
        self.kept_words = 0

    def works(self) -> dict[str, Work]:
        """All contestants; the first round of the forward pass comes after an extraction."""
        works: dict[str, Work] = {} if self.corpus.has_pairs else {BASELINE: self._plain}
        for p in precisions(self.device):
            works[f"featbert {p}"] = partial(self._extraction, p)
            works[f"forward alone {p}"] = partial(self._forward, p)
        return works

    def _plain(self, _: int) -> float:
        path = self.folder / "plain.h5"
        started = time.perf_counter()
        self.kept_words = extract_plainly(self.corpus, find_encoder(self.model).folder, path)
        return time.perf_counter() - started

    def _extraction(self, precision: str, _: int) -> float:
        done = extract(self.corpus, self.model, self.folder, device="cpu", precision=precision)
        self.manifests[precision] = done.store.manifest
        shutil.rmtree(done.store.path.parent)
        return done.seconds

    def _forward(self, precision: str, _: int) -> float:
        found = forward_alone(self.corpus, self.model, self.manifests[precision], self.device)
        self.forwards.setdefault(precision, []).append(found)
        return found.loading + found.computing


def measure(options: Options) -> Record:
    """All contestants in turn."""
    device = find_device("cpu")
    targets = None if options.task is None else get_task(options.task).targets
    corpus = corpus_of(options, ["train"], targets=targets)
    with work_folder(options) as folder:
        in_turn(Contest(head(corpus, WARM_UP), options.model, folder, device).works(), 1)
        contest = Contest(corpus, options.model, folder, device)
        seconds = in_turn(contest.works(), options.rounds)
    words = corpus["train"].n_words
    products = {
        p: feed_forward(m.token_budget, m.hidden_size) for p, m in contest.manifests.items()
    }
    rates = {p: matmul_rate(product, p, device) for p, product in products.items()}
    measured = {}
    for name, times in seconds.items():
        precision, median = name.rsplit(" ", 1)[1], statistics.median(times)
        flops = contest.manifests[precision].flops
        measured[name] = {
            "seconds": times,
            "words_per_second": words / median,
            "flops_per_second": flops / median,
            "share_of_matmul_rate": flops / median / rates[precision],
        }
    ratios: dict[str, Spread] = {}
    for p, forwards in contest.forwards.items():
        ours = seconds[f"featbert {p}"]
        if BASELINE in seconds:
            ratios[f"featbert {p} over {BASELINE}"] = ratio(seconds[BASELINE], ours)
        ratios[f"featbert {p} over forward alone {p}, loading not counted"] = spread(
            [f.computing / (s - f.loading) for s, f in zip(ours, forwards, strict=True)]
        )
    notes = []
    if len(products) == 1:
        notes.append("--precision auto is fp32 here: bfloat16 is not native")
    if BASELINE in seconds and contest.kept_words != words:
        notes.append(f"the transformers loop lost {words - contest.kept_words} of {words} words")
    about = {
        **described(corpus),
        "wordpieces": contest.forwards["fp32"][0].pieces,
        "model": Path(options.model).name,
        "matmul": {f"{products[p]} {p}": rate for p, rate in rates.items()},
    }
    return Record("extract", options.command, facts(device), about, measured, ratios, tuple(notes))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("extract", __doc__)
    add_text_options(parser, sentences=2000)
    parser.add_argument("--task", help="reads the corpus for this task, such as spans")
    run(parser, measure, arguments)


if __name__ == "__main__":
    main()

"""What else in a batch, the order of sentences and threads change in the vectors of a word.

    python -m benchmarks.tolerance --data wikigold --sentences 500

The same text is extracted in fp32 with each thing changed by itself. Stored as float32, the error
of a word's vector is its distance from the plain extraction's over that one's length; stored as
float16, the numbers that differ at all are counted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.command import Options, add_text_options, carry_out, parser_of, work_folder
from benchmarks.corpora import corpus_of, described
from benchmarks.machine import facts
from benchmarks.ours import extract_once
from benchmarks.precision import relative_errors
from benchmarks.record import Record
from featbert.data.corpus import Corpus, Split
from featbert.encoders.device import find_device
from featbert.encoders.ranges import ranges
from featbert.features.store.reader import FeatureStore

Ints = NDArray[np.int64]
PLAIN = "the same again"
BUDGETS = (64, 4096)  # padded tokens of a batch; 512 is the default on a processor
SEED = 11


def measure(options: Options) -> Record:
    """Each change against the plain extraction."""
    device = find_device("cpu")
    corpus = corpus_of(options, ["train"])
    order = np.random.default_rng(SEED).permutation(len(corpus["train"]))
    half = np.sort(order[: len(order) // 2])
    threads = torch.get_num_threads()
    # By name: the sentences, in their order, the budget of a batch, threads.
    everything: Ints = np.arange(len(order))
    changed: Mapping[str, tuple[Ints, int | None, int]] = {
        PLAIN: (everything, None, threads),
        **{f"batches of {budget:,} tokens": (everything, budget, threads) for budget in BUDGETS},
        "sentences in another order": (order, None, threads),
        "half of the sentences": (half, None, threads),
        "one thread" if threads > 1 else "two threads": (everything, None, 1 if threads > 1 else 2),
    }
    measured = {}
    with work_folder(options) as folder:

        def stored(chosen: Ints, budget: int | None, dtype: str) -> FeatureStore:
            return extract_once(
                with_sentences(corpus, chosen),
                options.model,
                folder,
                device,
                precision="fp32",
                dtype=dtype,
                token_budget=budget,
            ).store

        exact = {dtype: stored(everything, None, dtype) for dtype in ("float32", "float16")}
        for name, (chosen, budget, used) in changed.items():
            torch.set_num_threads(used)
            stores = {dtype: stored(chosen, budget, dtype) for dtype in exact}
            torch.set_num_threads(threads)
            measured[name] = compared(exact, stores, chosen)
    about = {**described(corpus), "model": Path(options.model).name, "threads": threads}
    return Record("tolerance", options.command, facts(device), about, measured)


def with_sentences(corpus: Corpus, chosen: Ints) -> Corpus:
    """The corpus with numbered sentences of train, in this order."""
    sentences = tuple(corpus["train"].sentences[i] for i in chosen)
    return dataclasses.replace(corpus, splits={"train": Split("train", sentences)})


def compared(
    exact: Mapping[str, FeatureStore], found: Mapping[str, FeatureStore], chosen: Ints
) -> dict[str, float]:
    """Errors over all layers, of the words of the chosen sentences."""
    offsets = exact["float32"].offsets("train")
    words = ranges(offsets[chosen], np.diff(offsets)[chosen])
    errors: list[NDArray[Any]] = []
    differing = total = 0
    for layer in exact["float32"].layers:

        def read(stores: Mapping[str, FeatureStore], dtype: str, layer: int = layer) -> Any:
            return stores[dtype].read("train", [layer])[0]

        expected = read(exact, "float32")[words]
        errors.append(relative_errors(read(found, "float32"), expected))
        rounded = read(exact, "float16")[words]
        differing += int((read(found, "float16").view("u2") != rounded.view("u2")).sum())
        total += rounded.size
    every = np.concatenate(errors)
    return {
        "mean": float(every.mean()),
        "highest": float(every.max()),
        "float16 numbers that differ": differing / total,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("tolerance", __doc__, rounds=1)
    add_text_options(parser, sentences=500)
    carry_out(parser, measure, arguments)


if __name__ == "__main__":
    main()

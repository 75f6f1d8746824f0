"""What precision, batches, the order of sentences and threads change in the hidden states.

    python -m benchmarks.precision --data wikigold --sentences 300

The same text is extracted in fp32, stored as float32, and again with one thing changed. The error
of a word's vector is its distance from the first extraction's over that one's length, by layer for
precisions and over all layers otherwise. `precision/experiment.toml` asks what precision does to
F1. Where
bfloat16 is emulated, the numbers are those of native hardware but for the order of summation.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.contestants import extract
from benchmarks.harness import Options, Record, add_text_options, parser_of, run, work_folder
from benchmarks.machine import facts
from benchmarks.text import corpus_of, described
from featbert import Corpus, FeatureStore

Floats = NDArray[Any]
Ints = NDArray[np.int64]
SEED = 11


def measure(options: Options) -> Record:
    """Each change against the first extraction."""
    corpus = corpus_of(options, ["train"])
    order = np.random.default_rng(SEED).permutation(len(corpus["train"]))
    everything: Ints = np.arange(len(order))
    threads = torch.get_num_threads()
    other_threads = 1 if threads > 1 else 2
    precisions: dict[str, dict[str, Any]] = {
        "bf16, stored as float32": {"precision": "bf16"},
        "fp32, stored as float16": {"store_dtype": "float16"},
    }
    changes: dict[str, tuple[Ints, dict[str, Any], int]] = {
        "the same again": (everything, {}, threads),
        "batches of 64 tokens": (everything, {"token_budget": 64}, threads),
        "batches of 4,096 tokens": (everything, {"token_budget": 4096}, threads),
        "sentences in another order": (order, {}, threads),
        "half of the sentences": (np.sort(order[: len(order) // 2]), {}, threads),
        "one thread" if other_threads == 1 else "two threads": (everything, {}, other_threads),
    }
    measured: dict[str, dict[str, float]] = {}
    with work_folder(options) as folder:

        def stored(sentences: Ints, changed: dict[str, Any]) -> FeatureStore:
            encoding = {"device": "cpu", "precision": "fp32", "store_dtype": "float32", **changed}
            return extract(
                with_sentences(corpus, sentences), options.model, folder, **encoding
            ).store

        exact = stored(everything, {})
        for name, changed in precisions.items():
            store = stored(everything, changed)
            for layer in exact.layers:
                error = relative_errors(
                    store.read("train", [layer])[0], exact.read("train", [layer])[0]
                )
                row = measured.setdefault(f"layer {layer}", {})
                row |= {
                    f"{name}, mean": float(error.mean()),
                    f"{name}, highest": float(error.max()),
                }
        offsets = exact.offsets("train")
        for name, (sentences, changed, used) in changes.items():
            torch.set_num_threads(used)
            store = stored(sentences, changed)
            torch.set_num_threads(threads)
            words = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in sentences])
            errors = [
                relative_errors(store.read("train", [n])[0], exact.read("train", [n])[0][words])
                for n in exact.layers
            ]
            measured[name] = {"mean": float(np.mean(errors)), "highest": float(np.max(errors))}
    about = {**described(corpus), "model": Path(options.model).name, "threads": threads}
    return Record("precision", options.command, facts(), about, measured)


def with_sentences(corpus: Corpus, chosen: Ints) -> Corpus:
    """The corpus with numbered sentences of train, in this order."""
    train = corpus["train"]
    sentences = tuple(train.sentences[i] for i in chosen)
    return dataclasses.replace(
        corpus, splits={"train": dataclasses.replace(train, sentences=sentences)}
    )


def relative_errors(found: Floats, expected: Floats) -> Floats:
    """(N, H) and (N, H) -> (N,) distance over length of what is expected."""
    exact = expected.astype(np.float64)
    errors: Floats = np.linalg.norm(found - exact, axis=1) / np.linalg.norm(exact, axis=1)
    return errors


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("precision", __doc__, rounds=1)
    add_text_options(parser, sentences=500)
    run(parser, measure, arguments)


if __name__ == "__main__":
    main()

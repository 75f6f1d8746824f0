"""Time and peak memory of extraction and training, by the size of the text.

    python -m benchmarks.scaling --sentences 1000 --times 1,2,4,8

In each round every size is extracted (all layers, loading of the encoder included), and a BiLSTM is
trained on it for one epoch, with a dev split that grows along, in a process of its own, so that
memory can be told apart. The exponent is the slope of log seconds over log sentences: 1 is linear,
and fixed costs make it smaller. Memory is resident memory above the process that has read the text
and loaded its libraries: of extraction it should not grow with the text, of training it should be
the selected layers as stored, five times the weights, and what a batch takes.
"""

import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.contestants import LAYERS, extract, train
from benchmarks.harness import (
    MODEL,
    Options,
    Record,
    count,
    counts,
    in_turn,
    parser_of,
    run,
    spread,
    work_folder,
)
from benchmarks.machine import facts, in_own_process, peak_memory
from benchmarks.text import DEV_SHARE, WARM_UP, Size, described, generated_corpus, head
from featbert import Corpus
from featbert.encoders.layers import parse_layers


@dataclasses.dataclass(frozen=True)
class Measured:
    """Figures of one size in one round, seconds apart."""

    extraction: dict[str, float]
    training: dict[str, float]


def measure(options: Options) -> Record:
    """Every size in turn."""
    sizes = [times * options.sentences for times in options.times]
    results: dict[int, list[Measured]] = {n: [] for n in sizes}
    settings = {"precision": options.precision, "lstm_size": options.lstm_size}
    with work_folder(options) as folder:

        def work(n: int, seed: int) -> float:
            done = in_own_process(steps, n, options.model, folder, seed, options.threads, settings)
            results[n].append(done)
            return done.extraction["seconds"] + done.training["seconds"]

        in_turn({str(n): partial(work, n) for n in sizes}, options.rounds)
    rows, ratios = {}, {}
    for step in ("extraction", "training"):
        seconds = []
        for n in sizes:
            figures = [getattr(result, step) for result in results[n]]
            seconds.append([result["seconds"] for result in figures])
            rows[f"{step}, {n:,} sentences"] = {
                name: [result[name] for result in figures] for name in figures[0]
            }
        if len(sizes) > 1:
            ratios[f"exponent of {step}"] = spread(exponents(sizes, np.array(seconds)))
    about = {
        **described(text_of(max(sizes))),
        "model": Path(options.model).name,
        "layers": LAYERS,
        **settings,
    }
    return Record("scaling", options.command, facts(), about, rows, ratios)


def text_of(sentences: int) -> Corpus:
    """Train of this size and a fifth of it for dev."""
    return generated_corpus({"train": Size(sentences), "dev": Size(max(1, sentences // DEV_SHARE))})


def steps(
    sentences: int,
    model: str,
    folder: Path,
    seed: int,
    threads: int | None,
    how: dict[str, Any],
) -> Measured:
    """An extraction and a training, after both on a few sentences."""
    if threads:
        import torch

        torch.set_num_threads(threads)
    corpus = text_of(sentences)
    common = {"device": "cpu", "precision": how["precision"]}
    settings = {"seed": seed, "epochs": 1, "batch_size": 32, "lstm_size": how["lstm_size"]}
    small = head(corpus, WARM_UP)
    train(extract(small, model, folder, **common).store, small, folder, **common, **settings)

    made, before, highest = peak_memory(partial(extract, corpus, model, folder, **common))
    words = sum(split.n_words for split in corpus.splits.values())
    extraction = {
        "seconds": made.seconds,
        "words_per_second": words / made.seconds,
        "store_bytes": made.store.file_bytes,
        "above_bytes": highest - before,
    }
    learned, before, highest = peak_memory(
        partial(train, made.store, corpus, folder, **common, **settings)
    )
    manifest = made.store.manifest
    layers = words * len(parse_layers(LAYERS, manifest.num_layers).indices)
    weights = 4 * learned.run.record.cost.trained_parameters
    training = {
        "seconds": learned.seconds,
        "words_per_second": corpus["train"].n_words / learned.seconds,
        "layers_bytes": layers * manifest.hidden_size * 2,
        "weights_bytes": weights,
        "above_bytes": highest - before,
    }
    return Measured(extraction, training)


def exponents(sizes: Sequence[int], seconds: NDArray[Any]) -> list[float]:
    """(sizes, rounds) seconds -> slopes of log seconds over log sentences, one per round."""
    return [float(slope) for slope in np.polyfit(np.log(sizes), np.log(seconds), 1)[0]]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("scaling", __doc__)
    parser.add_argument("--sentences", type=count, default=500, help="of the smallest size")
    parser.add_argument("--times", type=counts, default=[1, 2, 4, 8], help="sizes, in multiples")
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--precision", default="auto", choices=("auto", "fp32", "bf16"))
    parser.add_argument("--lstm-size", type=count, help="units per direction")
    run(parser, measure, arguments)


if __name__ == "__main__":
    main()

"""Vectors of texts, against `SentenceTransformer.encode` on the same texts.

    python -m benchmarks.embed --rounds 5 --threads 2
    python -m benchmarks.embed --data polarity

Contestants, in turn: `encode` with its defaults (float32, batches of 32), featbert in fp32, and
featbert with `--precision auto` if that is another precision. Each goes from texts in memory to an
array, loading of the encoder included. `encode` runs twice: in this process, in which threads wait
as featbert sets it (`OMP_WAIT_POLICY`), and in one of its own with torch's settings, as its users
run it. CPU seconds, of all threads, say more than seconds on a machine with other work. Needs
sentence-transformers.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import featbert
from benchmarks.harness import (
    Options,
    Record,
    Work,
    add_text_options,
    in_turn,
    parser_of,
    ratio,
    run,
)
from benchmarks.machine import facts, precisions
from benchmarks.text import WARM_UP, corpus_of, described
from featbert.encoders.device import find_device
from featbert.encoders.source import find_encoder
from featbert.errors import MissingError

BASELINE, BY_ITSELF = "encode fp32", "encode fp32 in its own process"
Vectors = NDArray[np.float32]
# What `import featbert` sets for torch.
FEATBERT_VARIABLES = {
    *("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"),
    *("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"),
}
# Encodes the first texts before the clock starts, and prints seconds and CPU seconds of all.
SCRIPT = """
import json, sys, time
import torch
from sentence_transformers import SentenceTransformer
texts, folder, threads, first = json.load(sys.stdin)
torch.set_num_threads(threads)
SentenceTransformer(folder, device="cpu").encode(texts[:first], show_progress_bar=False)
started, cpu_started = time.perf_counter(), time.process_time()
SentenceTransformer(folder, device="cpu").encode(texts, show_progress_bar=False)
print(time.perf_counter() - started, time.process_time() - cpu_started)
"""


def encode(texts: Sequence[str], folder: Path) -> Vectors:
    """The vectors of sentence-transformers."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise MissingError("pip install sentence-transformers for the baseline") from None
    model = SentenceTransformer(str(folder), device="cpu")
    vectors: Vectors = model.encode(list(texts), show_progress_bar=False)
    return vectors


def encode_by_itself(texts: Sequence[str], folder: Path) -> tuple[float, float]:
    """Seconds and CPU seconds of sentence-transformers in a process that has no featbert."""
    variables = {n: v for n, v in os.environ.items() if n not in FEATBERT_VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps([list(texts), str(folder), torch.get_num_threads(), WARM_UP]),
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, cpu_seconds = map(float, done.stdout.split())
    return seconds, cpu_seconds


class Contest:
    """The contestants on one list of texts, and the vectors that each made last."""

    def __init__(self, texts: Sequence[str], model: str) -> None:
        self.texts, self.model = texts, model
        self.vectors: dict[str, Vectors] = {}
        self.cpu_seconds: dict[str, list[float]] = {}

    def works(self, names: Sequence[str]) -> dict[str, Work]:
        """Both baselines, and featbert in each precision."""
        folder = find_encoder(self.model).folder
        makers: dict[str, Callable[[], Vectors]] = {BASELINE: lambda: encode(self.texts, folder)}
        for precision in names:
            options: Any = {"device": "cpu", "precision": precision}
            makers[f"featbert {precision}"] = partial(
                featbert.embed, self.texts, self.model, **options
            )
        timed = {name: partial(self._timed, name, make) for name, make in makers.items()}
        return {BY_ITSELF: partial(self._by_itself, folder), **timed}

    def _by_itself(self, folder: Path, _: int) -> float:
        seconds, cpu_seconds = encode_by_itself(self.texts, folder)
        self.cpu_seconds.setdefault(BY_ITSELF, []).append(cpu_seconds)
        return seconds

    def _timed(self, name: str, make: Callable[[], Vectors], _: int) -> float:
        started, cpu_started = time.perf_counter(), time.process_time()
        self.vectors[name] = make()
        self.cpu_seconds.setdefault(name, []).append(time.process_time() - cpu_started)
        return time.perf_counter() - started

    def differences(self, name: str) -> NDArray[np.float64]:
        """(n,) of each text, the largest difference of a number from the baseline's."""
        differences: NDArray[np.float64] = np.abs(self.vectors[name] - self.vectors[BASELINE])
        largest: NDArray[np.float64] = differences.max(axis=1)
        return largest


def measure(options: Options) -> Record:
    """All contestants in turn."""
    device = find_device("cpu")
    corpus = corpus_of(options, ["train"], targets=None)
    sentences = corpus["train"].sentences
    texts = [s.texts[0] if s.texts else " ".join(s.words) for s in sentences]
    names = precisions(device)
    in_turn(Contest(texts[:WARM_UP], options.model).works(names), 1)
    contest = Contest(texts, options.model)
    seconds = in_turn(contest.works(names), options.rounds)
    measured: dict[str, dict[str, Any]] = {
        name: {
            "seconds": times,
            "texts_per_second": len(texts) / statistics.median(times),
            "cpu_seconds": contest.cpu_seconds[name],
        }
        for name, times in seconds.items()
    }
    for name, row in measured.items():
        if name in contest.vectors:
            differences = contest.differences(name)
            row["median_difference"] = float(np.median(differences))
            row["texts_within_0.001"] = float(np.mean(differences < 1e-3))
    ratios = {
        f"featbert {precision} over {baseline}{unit}": ratio(
            times[baseline], times[f"featbert {precision}"]
        )
        for baseline in (BASELINE, BY_ITSELF)
        for unit, times in (("", seconds), (", CPU seconds", contest.cpu_seconds))
        for precision in names
    }
    about = {**described(corpus), "model": Path(options.model).name}
    return Record("embed", options.command, facts(device), about, measured, ratios)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("embed", __doc__)
    add_text_options(parser, sentences=2000)
    run(parser, measure, arguments)


if __name__ == "__main__":
    main()

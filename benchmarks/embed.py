"""Vectors of texts, against `SentenceTransformer.encode` on the same texts.

    python -m benchmarks.embed --data polarity --sentences 2000 --rounds 5 --threads 2
    python -m benchmarks.embed --data polarity --sentences 600 --commands

Contestants, in turn, from texts in memory to an array, with loaded encoders: `encode` in fp32 and
featbert in each precision of the processor, and `encode` in that precision, too. `encode` sorts
texts by length, in batches of `--batch`. It runs in a process of its own, with torch's own way to
wait and not featbert's (`OMP_WAIT_POLICY`): its threads use CPU seconds while they wait.

With `--commands` the contestants are whole commands, from start to a file: `featbert embed`, and a
script of five lines. CPU seconds, of all threads, say more than seconds on a machine with other
work. Needs sentence-transformers.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.harness import (
    Options,
    Record,
    Work,
    add_text_options,
    count,
    in_turn,
    parser_of,
    ratio,
    run,
    work_folder,
)
from benchmarks.machine import facts, precisions
from benchmarks.text import WARM_UP, corpus_of, described
from featbert.data.examples import examples_of
from featbert.encoders.device import find_device, torch_dtype
from featbert.encoders.layers import fixed_layers
from featbert.encoders.sentence_modules import text_pooling
from featbert.encoders.source import EncoderSource, find_encoder
from featbert.errors import MissingError
from featbert.inference.embed import TextEncoder, combined

BASELINE = "encode fp32"
Vectors = NDArray[np.float32]
# Seconds and CPU seconds of a call.
Times = tuple[float, float]
# What `import featbert` sets for torch.
FEATBERT_VARIABLES = {
    *("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"),
    *("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"),
}
# Reads settings and texts, then numbers of texts. Prints seconds and CPU seconds.
SERVER = """
import json, sys, time
import numpy, torch
from sentence_transformers import SentenceTransformer
folder, dtype, batch, threads, out, texts = json.loads(sys.stdin.readline())
torch.set_num_threads(threads)
model = SentenceTransformer(folder, device="cpu", model_kwargs={"dtype": getattr(torch, dtype)})
for line in sys.stdin:
    number = json.loads(line)
    started, cpu_started = time.perf_counter(), time.process_time()
    vectors = model.encode(texts[:number], batch_size=batch, show_progress_bar=False)
    times = time.perf_counter() - started, time.process_time() - cpu_started
    numpy.save(out, vectors)
    print(json.dumps(times), flush=True)
"""
SCRIPT = """
import numpy, sys
from sentence_transformers import SentenceTransformer
texts = open(sys.argv[1], encoding="utf-8").read().splitlines()
model = SentenceTransformer(sys.argv[2], device="cpu")
numpy.save(sys.argv[3], model.encode(texts))
"""


class Encode:
    """`SentenceTransformer.encode` of texts, loaded, in a process that has no featbert."""

    def __init__(
        self, texts: Sequence[str], folder: Path, dtype: str, batch: int, out: Path
    ) -> None:
        self.out, self.number = out, len(texts)
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            env=plain_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._send([str(folder), dtype, batch, torch.get_num_threads(), str(out), list(texts)])
        self(WARM_UP)

    def __call__(self, number: int | None = None) -> tuple[Vectors, Times]:
        """The vectors of the first texts, by default of all, seconds and CPU seconds."""
        self._send(number or self.number)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise MissingError("pip install sentence-transformers for the baseline")
        seconds, cpu_seconds = json.loads(line)
        vectors: Vectors = np.load(self.out)
        return vectors, (seconds, cpu_seconds)

    def _send(self, content: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(content) + "\n")
        self.process.stdin.flush()


def plain_environment() -> dict[str, str]:
    """The variables of this process without featbert's."""
    return {n: v for n, v in os.environ.items() if n not in FEATBERT_VARIABLES}


@contextmanager
def encoding(*arguments: Any) -> Iterator[Encode]:
    """An `Encode`, of which the process ends with the block."""
    encode = Encode(*arguments)
    try:
        yield encode
    finally:
        encode.process.kill()
        encode.process.communicate()


def embed(texts: Sequence[str], source: EncoderSource, encoder: TextEncoder) -> Vectors:
    """Vectors as of `featbert.embed`, of an encoder that is loaded."""
    method, last = text_pooling(source), fixed_layers("last", source.num_layers)
    examples = examples_of(texts, prompt=method.prompt, lowercase=method.lowercase)
    states = encoder.pooled_states(examples, last.indices, method.pooling)
    return combined(states, last, normalize=method.normalize)


def clocked(make: Callable[[], Vectors]) -> tuple[Vectors, Times]:
    """What `make` returns, seconds and CPU seconds."""
    started, cpu_started = time.perf_counter(), time.process_time()
    vectors = make()
    return vectors, (time.perf_counter() - started, time.process_time() - cpu_started)


def command(words: Sequence[str | Path], out: Path) -> tuple[Vectors, Times]:
    """The vectors that a call of Python writes to `out`, its seconds and CPU seconds."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    variables = plain_environment() | {"OMP_NUM_THREADS": str(torch.get_num_threads())}
    subprocess.run([sys.executable, *words], env=variables, capture_output=True, check=True)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return np.load(out), (seconds, cpu_seconds)


class Contest:
    """Contestants, the vectors that each made last, and their CPU seconds by round."""

    def __init__(self, contestants: Mapping[str, Callable[[], tuple[Vectors, Times]]]) -> None:
        self.contestants = contestants
        self.vectors: dict[str, Vectors] = {}
        self.cpu_seconds: dict[str, list[float]] = {name: [] for name in contestants}

    def works(self) -> dict[str, Work]:
        """Each contestant, for `in_turn`."""
        return {name: partial(self._work, name) for name in self.contestants}

    def _work(self, name: str, _: int) -> float:
        self.vectors[name], (seconds, cpu_seconds) = self.contestants[name]()
        self.cpu_seconds[name].append(cpu_seconds)
        return seconds

    def differences(self, name: str) -> NDArray[np.float64]:
        """(n,) of each text, the largest difference of a number from the baseline's."""
        differences: NDArray[np.float64] = np.abs(self.vectors[name] - self.vectors[BASELINE])
        largest: NDArray[np.float64] = differences.max(axis=1)
        return largest


def measure(options: Options) -> Record:
    """All contestants in turn."""
    device = find_device("cpu")
    corpus = corpus_of(options, ["train"], targets=None)
    texts = [s.texts[0] if s.texts else " ".join(s.words) for s in corpus["train"].sentences]
    source, names = find_encoder(options.model), precisions(device)
    about = {**described(corpus), "model": Path(options.model).name}
    with work_folder(options) as folder:
        if options.commands:
            text_file, out = folder / "texts.txt", folder / "vectors.npy"
            text_file.write_text("\n".join(texts) + "\n", "utf-8")
            script: list[str | Path] = ["-c", SCRIPT, text_file, source.folder, out]
            words: list[str | Path] = ["-m", "featbert", "embed", text_file, "--out", out]
            words += ["--model", source.folder]
            contest = Contest(
                {BASELINE: partial(command, script, out)}
                | {
                    f"featbert {n}": partial(command, [*words, "--precision", n], out)
                    for n in names
                }
            )
            seconds = in_turn(contest.works(), options.rounds)
        else:
            with ExitStack() as stack:
                contestants: dict[str, Callable[[], tuple[Vectors, Times]]] = {}
                for name in names:
                    dtype = str(torch_dtype(name)).removeprefix("torch.")
                    out = folder / f"{name}.npy"
                    encode = encoding(texts, source.folder, dtype, options.batch, out)
                    contestants[f"encode {name}"] = stack.enter_context(encode)
                    encoder = TextEncoder(source, device="cpu", precision=name)
                    embed(texts[:WARM_UP], source, encoder)
                    make = partial(embed, texts, source, encoder)
                    contestants[f"featbert {name}"] = partial(clocked, make)
                contest = Contest(contestants)
                seconds = in_turn(contest.works(), options.rounds)
    measured: dict[str, dict[str, Any]] = {}
    for name, times in seconds.items():
        differences = contest.differences(name)
        measured[name] = {
            "seconds": times,
            "texts_per_second": len(texts) / statistics.median(times),
            "cpu_seconds": contest.cpu_seconds[name],
            "median_difference": float(np.median(differences)),
            "texts_within_0.001": float(np.mean(differences < 1e-3)),
        }
    ratios = {
        f"{name} over {baseline}{unit}": ratio(times[baseline], times[name])
        for baseline in seconds
        for unit, times in (("", seconds), (", CPU seconds", contest.cpu_seconds))
        for name in seconds
        if baseline.startswith("encode") and name.startswith("featbert")
    }
    return Record("embed", options.command, facts(device), about, measured, ratios)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("embed", __doc__)
    parser.add_argument("--commands", action="store_true", help="measures whole commands")
    parser.add_argument("--batch", type=count, default=32, help="texts in a batch of encode")
    add_text_options(parser, sentences=2000)
    run(parser, measure, arguments)


if __name__ == "__main__":
    main()

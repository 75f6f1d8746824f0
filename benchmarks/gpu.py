"""The whole set on one GPU in one call, without a network: one JSON at the end.

    python -m benchmarks.gpu > gpu.json
    python -m benchmarks.gpu --scale 0.01 --shape tiny --epochs 1 --seeds 1     # tried on a CPU

A BERT-base-shaped encoder of random weights and a generated corpus of CoNLL-2003's size are made on
the spot. Then: extraction of all layers, with the forward pass alone and the disk's rate for
comparison; seconds per epoch of the BiLSTM and of fine-tuning, scoring of dev included; and the
feature half of Table 7 (6 rows, 5 seeds) from text to table, ended when `--minutes` are over. A
part that fails is recorded and does not stop the others. Progress goes to standard error.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.contestants import Trained, extract, finetune, train
from benchmarks.extract import forward_alone
from benchmarks.harness import Options, Record, as_json, count, parser_of, run, work_folder
from benchmarks.machine import PIECES, WORDS, Product, facts, feed_forward, matmul_rate
from benchmarks.random_bert import SHAPES, write_random_bert
from benchmarks.text import CONLL2003, WARM_UP, Size, described, generated_corpus, head
from featbert import Corpus, FeatbertError, FeatureStore
from featbert.api import load_corpus
from featbert.data.conll import write_conll
from featbert.encoders.device import find_device
from featbert.runs.run import find_runs

CLOSING = 15.0  # seconds kept for removing files and printing
DISK_BYTES = 1 << 30
CHUNK = 16 << 20
# Devlin et al. 2019, table 7; weighted_all is the paper's "all 12 layers".
ROWS = ("embeddings", "second_to_last", "last", "weighted_last4", "concat_last4", "weighted_all")


@dataclass
class Bench:
    """What the parts share; `store` is of the whole corpus, once extraction has been measured."""

    options: Options
    corpus: Corpus
    data: Path
    model: Path
    folder: Path
    deadline: float
    store: FeatureStore | None = None

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.perf_counter()


def measure(options: Options) -> Record:
    """Every part in turn, as long as there is time."""
    deadline = time.perf_counter() + 60 * options.minutes - CLOSING
    with work_folder(options) as folder:
        data = write_corpus(folder / "conll", options.scale)
        corpus = load_corpus(data)
        model = write_random_bert(folder / "random-bert", corpus, SHAPES[options.shape])
        bench = Bench(options, corpus, data, model, folder, deadline)
        parts = (disk, extraction, bilstm, finetuning, table7)
        measured = {part.__name__: attempt(part, bench) for part in parts}
    return Record(
        "gpu",
        options.command,
        facts(find_device(options.device)),
        {**described(corpus), "shape": options.shape, "scale": options.scale},
        measured,
        notes=("random weights and generated text: speed depends on neither, scores mean nothing",),
    )


def write_corpus(folder: Path, scale: float) -> Path:
    """The generated corpus as CoNLL files."""
    sizes = {
        name: Size(max(8, round(size.sentences * scale)), max(100, round(size.words * scale)))
        for name, size in CONLL2003.items()
        if size.words
    }
    folder.mkdir()
    for name, split in generated_corpus(sizes).splits.items():
        write_conll(folder / f"{name}.conll", split.sentences)
    return folder


def attempt(part: Callable[[Bench], dict[str, Any]], bench: Bench) -> dict[str, Any]:
    """A part's figures, or why there are none."""
    if bench.left <= 0:
        return {"failed": "no time was left"}
    started = time.perf_counter()
    try:
        figures = part(bench)
    except Exception as error:
        figures = {"failed": f"{type(error).__name__}: {error}"}
    seconds = time.perf_counter() - started
    print(f"{part.__name__}: {seconds:.1f} s, {figures}", file=sys.stderr, flush=True)
    return figures


def disk(bench: Bench) -> dict[str, Any]:
    """Bytes per second that the disk takes: an upper bound for writing a store."""
    chunks = max(1, round(DISK_BYTES * bench.options.scale) // CHUNK)
    chunk = os.urandom(CHUNK)
    path = bench.folder / "disk"
    started = time.perf_counter()
    with path.open("wb", buffering=0) as file:
        for _ in range(chunks):
            file.write(chunk)
        os.fsync(file.fileno())
    seconds = time.perf_counter() - started
    path.unlink()
    return {"bytes": chunks * CHUNK, "bytes_per_second": chunks * CHUNK / seconds}


def extraction(bench: Bench) -> dict[str, Any]:
    """All layers to a finished store, which the training parts read."""
    model, name = str(bench.model), bench.options.device
    device = find_device(name)
    extract(head(bench.corpus, WARM_UP), model, bench.folder, device=name)
    done = extract(bench.corpus, model, bench.folder, device=name)
    bench.store, manifest = done.store, done.store.manifest
    alone = forward_alone(bench.corpus, model, manifest, device)
    product = feed_forward(manifest.token_budget, manifest.hidden_size)
    rate = matmul_rate(product, manifest.precision, device)
    net = done.seconds - alone.loading
    words = sum(split.n_words for split in bench.corpus.splits.values())
    return {
        "seconds": done.seconds,
        "words_per_second": words / done.seconds,
        "store_bytes": done.store.file_bytes,
        "bytes_per_second": done.store.file_bytes / net,
        "share_of_forward": alone.computing / net,
        "matmul": f"{product} {manifest.precision}",
        "matmul_rate": rate,
        "share_of_matmul_rate": manifest.flops / net / rate,
        "share_of_matmul_rate_forward": manifest.flops / alone.computing / rate,
        "peak_memory_bytes": manifest.peak_memory_bytes,
    }


def bilstm(bench: Bench) -> dict[str, Any]:
    """Seconds of the second epoch on the last four layers."""
    if bench.store is None:
        raise FeatbertError("the extraction failed")
    size = bench.options.lstm_size
    work = partial(train, bench.store, bench.corpus, bench.folder, lstm_size=size)
    width = 4 * bench.store.manifest.hidden_size
    return epoch_figures(
        bench, work, lambda s: Product(WORDS * s["batch_size"], width, 4 * s["lstm_size"])
    )


def finetuning(bench: Bench) -> dict[str, Any]:
    """Seconds of the second epoch."""
    work = partial(finetune, bench.corpus, str(bench.model), bench.folder)
    hidden = SHAPES[bench.options.shape].hidden
    return epoch_figures(bench, work, lambda s: feed_forward(PIECES * s["batch_size"], hidden))


def epoch_figures(
    bench: Bench, work: Callable[..., Trained], product: Callable[[Any], Product]
) -> dict[str, Any]:
    """Of the second of two epochs; the first one warms up."""
    record = work(epochs=2, seed=1, device=bench.options.device).run.record
    first, second = record.history
    like, precision = product(record.settings), str(record.signature.training_precision)
    rate = matmul_rate(like, precision, find_device(bench.options.device))
    return {
        "epoch_seconds": second.seconds,
        "first_epoch_seconds": first.seconds,
        "words_per_second": bench.corpus["train"].n_words / second.seconds,
        "batch_size": record.settings["batch_size"],
        "precision": precision,
        "matmul": f"{like} {precision}",
        "matmul_rate": rate,
        "share_of_matmul_rate": record.cost.training_flops / 2 / second.seconds / rate,
    }


def table7(bench: Bench) -> dict[str, Any]:
    """The feature half of the paper's Table 7 by `featbert run`, from text to table."""
    options = bench.options
    file, runs_dir = bench.folder / "table7.toml", bench.folder / "runs"
    runs_dir.mkdir()
    seeds = list(range(1, options.seeds + 1))
    settings = {"epochs": options.epochs, "lstm_size": options.lstm_size}
    lines = [
        'name = "table7"',
        f"data = {json.dumps(str(bench.data))}",
        f"model = {json.dumps(str(bench.model))}",
        f"seeds = {seeds}",
        f"device = {json.dumps(options.device)}",
        "[features]",
        f"layers = {json.dumps(ROWS)}",
        *(f"{name} = {value}" for name, value in settings.items() if value),
    ]
    file.write_text("\n".join(lines) + "\n", "utf-8")
    words = ["run", file, "--jobs", options.jobs, "--quiet", "--runs-dir", runs_dir]
    started = time.perf_counter()
    finished = call([*words, "--cache-dir", bench.folder / "cache"], bench.left)
    seconds = time.perf_counter() - started
    by_row: dict[str, list[float]] = {}
    for finished_run in find_runs(runs_dir).runs:
        record = finished_run.record
        by_row.setdefault(str(record.layers), []).append(record.cost.training_seconds)
    return {
        "seconds": seconds,
        "finished": finished,
        "runs": sum(map(len, by_row.values())),
        "jobs": options.jobs,
        "training_seconds": {
            row: statistics.median(times) for row, times in sorted(by_row.items())
        },
    }


def call(words: Sequence[object], limit: float) -> bool:
    """Whether a featbert command finishes within the limit; it is killed there.

    Raises:
        FeatbertError: it fails.
    """
    root = Path(__file__).parents[1]
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "featbert", *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": path}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode:
        raise FeatbertError(done.stderr.strip().rpartition("\n")[2])
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("gpu", __doc__, rounds=1)
    parser.add_argument("--scale", type=float, default=1.0, help="of the corpus, up to 1")
    parser.add_argument("--shape", choices=SHAPES, default="base", help="of the encoder")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--jobs", type=count, default=6, help="runs of Table 7 at a time")
    parser.add_argument("--seeds", type=count, default=5, help="of each row of Table 7")
    parser.add_argument("--epochs", type=count, help="of Table 7; by default those of features")
    parser.add_argument("--lstm-size", type=count, help="units per direction")
    parser.add_argument("--minutes", type=count, default=8, help="limit of the whole set")
    run(parser, measure, arguments, show=as_json)


if __name__ == "__main__":
    main()

"""The whole set on one GPU in one call, without a network: one JSON at the end.

    python -m benchmarks.gpu > gpu.json
    python -m benchmarks.gpu --scale 0.01 --shape tiny --epochs 1 --seeds 1     # tried on a CPU

A BERT-base-shaped encoder of random weights and a generated corpus of CoNLL-2003's size are made on
the spot. Then: extraction of all layers, words a second and share of the matrix rate, beside the
forward pass alone and the rate at which the disk takes bytes; seconds an epoch of the BiLSTM and of
fine-tuning; and the feature half of Table 7 (6 rows, 5 seeds) from text to table by `featbert run
--jobs`, interrupted where `--minutes` end. A part that fails is told and does not stop the others.
What is done is said on standard error meanwhile.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.command import Options, carry_out, count, parser_of, share, work_folder
from benchmarks.corpora import WARM_UP, described, head, words_of
from benchmarks.forward import forward_alone
from benchmarks.machine import Product, facts, matmul_rate
from benchmarks.ours import Learned, extract_once, finetune_encoder, train_bilstm
from benchmarks.products import of_extraction, of_finetuning, of_projection
from benchmarks.random_bert import SHAPES, write_random_bert
from benchmarks.record import Record, as_json
from benchmarks.table7 import run_table7
from benchmarks.text import CONLL2003, Size, generated_corpus
from featbert.data.conll import write_conll
from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.encoders.device import Device, find_device
from featbert.encoders.layers import parse_layers
from featbert.features.store.reader import FeatureStore
from featbert.runs.workers import failure_of
from featbert.training.settings import DEFAULTS, TrainingSettings

LAYERS = "concat_last4"
CLOSING = 15.0  # seconds kept for removing files and printing
DISK_BYTES = 1 << 30
CHUNK = 16 << 20


@dataclass
class Bench:
    """What the parts share.

    Attributes:
        store: of the whole corpus; there once extraction has been measured.
    """

    options: Options
    corpus: Corpus
    data: Path
    model: Path
    folder: Path
    device: Device
    deadline: float
    store: FeatureStore | None = None

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.perf_counter()

    def settings(self, approach: str) -> TrainingSettings:
        """Defaults for two epochs, of which the first warms up."""
        return DEFAULTS[approach].but(epochs=2, lstm_size=self.options.lstm_size)


def measure(options: Options) -> Record:
    """Every part in turn, as long as there is time."""
    deadline = time.perf_counter() + 60 * options.minutes - CLOSING
    device = find_device(options.device)
    parts: dict[str, Callable[[Bench], dict[str, Any]]] = {
        "disk": disk,
        "extraction": extraction,
        "bilstm": bilstm,
        "finetuning": finetuning,
        "table7": table7,
    }
    with work_folder(options) as folder:
        data = write_corpus(folder / "conll", options.scale)
        corpus = load_corpus(data)
        model = write_random_bert(folder / "random-bert", corpus, SHAPES[options.shape])
        bench = Bench(options, corpus, data, model, folder, device, deadline)
        measured = {name: told(name, part, bench) for name, part in parts.items()}
    return Record(
        "gpu",
        options.command,
        facts(device),
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


def told(name: str, part: Callable[[Bench], dict[str, Any]], bench: Bench) -> dict[str, Any]:
    """A part's figures, or why there are none: one part must not cost the others' results."""
    if bench.left <= 0:
        return {"failed": "no time was left"}
    started = time.perf_counter()
    try:
        found = part(bench)
    except Exception as error:
        found = {"failed": failure_of(error)}
    print(f"{name}: {time.perf_counter() - started:.1f} s, {found}", file=sys.stderr, flush=True)
    return found


def disk(bench: Bench) -> dict[str, Any]:
    """Bytes a second that the disk takes, as an upper bound for writing a store."""
    size = max(CHUNK, round(DISK_BYTES * bench.options.scale))
    chunk = os.urandom(CHUNK)
    path = bench.folder / "disk"
    started = time.perf_counter()
    with path.open("wb", buffering=0) as file:
        for _ in range(size // CHUNK):
            file.write(chunk)
        os.fsync(file.fileno())
    seconds = time.perf_counter() - started
    path.unlink()
    return {"bytes": size // CHUNK * CHUNK, "bytes_per_second": size // CHUNK * CHUNK / seconds}


def extraction(bench: Bench) -> dict[str, Any]:
    """All layers to a finished store; the store is kept for the training parts."""
    model, device = str(bench.model), bench.device
    extract_once(head(bench.corpus, WARM_UP), model, bench.folder, device, precision="auto")
    done = extract_once(bench.corpus, model, bench.folder, device, precision="auto")
    bench.store, manifest = done.store, done.store.manifest
    alone = forward_alone(bench.corpus, model, manifest, device)
    rate = matmul_rate(of_extraction(manifest), manifest.precision, device)
    net = done.seconds - alone.loading
    words = words_of(bench.corpus)
    return {
        "seconds": done.seconds,
        "loading_seconds": alone.loading,
        "forward_seconds": alone.computing,
        "words_per_second": words / done.seconds,
        "words_per_second_loading_not_counted": words / net,
        "wordpieces": alone.pieces,
        "precision": manifest.precision,
        "store_bytes": done.store.file_bytes,
        "bytes_per_second": done.store.file_bytes / net,
        "share_of_forward": alone.computing / net,
        "matmul": f"{of_extraction(manifest)} {manifest.precision}",
        "matmul_rate": rate,
        "share_of_matmul_rate": manifest.flops / net / rate,
        "share_of_matmul_rate_forward": manifest.flops / alone.computing / rate,
        "peak_memory_bytes": manifest.peak_memory_bytes,
    }


def bilstm(bench: Bench) -> dict[str, Any]:
    """Seconds of the second epoch on concat_last4, dev not scored."""
    assert bench.store is not None, "the extraction failed"
    settings, store = bench.settings("features"), bench.store
    found = train_bilstm(
        store,
        bench.corpus,
        LAYERS,
        settings,
        seed=1,
        device=bench.device,
        precision="auto",
        score_dev=False,
    )
    manifest = store.manifest
    width = parse_layers(LAYERS, manifest.num_layers).width(manifest.hidden_size)
    return epoch_figures(bench, found, settings, of_projection(width, settings))


def finetuning(bench: Bench) -> dict[str, Any]:
    """Seconds of the second epoch, dev not scored."""
    settings = bench.settings("finetune")
    found = finetune_encoder(
        bench.corpus,
        str(bench.model),
        settings,
        seed=1,
        device=bench.device,
        precision="auto",
        score_dev=False,
    )
    product = of_finetuning(SHAPES[bench.options.shape].hidden, settings)
    return epoch_figures(bench, found, settings, product)


def epoch_figures(
    bench: Bench, found: Learned, settings: TrainingSettings, like: Product
) -> dict[str, Any]:
    """Of the last epoch."""
    seconds = found.epoch_seconds[-1]
    rate = matmul_rate(like, found.precision, bench.device)
    return {
        "epoch_seconds": seconds,
        "first_epoch_seconds": found.epoch_seconds[0],
        "words_per_second": bench.corpus["train"].n_words / seconds,
        "batch_size": settings.batch_size,
        "precision": found.precision,
        "matmul": f"{like} {found.precision}",
        "matmul_rate": rate,
        "share_of_matmul_rate": found.flops / len(found.epoch_seconds) / seconds / rate,
    }


def table7(bench: Bench) -> dict[str, Any]:
    """From text to table, with a store of its own."""
    given = {"epochs": bench.options.epochs, "lstm_size": bench.options.lstm_size}
    folder = bench.folder / "table7"
    folder.mkdir()
    return run_table7(
        bench.data,
        bench.model,
        folder,
        seeds=range(1, bench.options.seeds + 1),
        jobs=bench.options.jobs,
        settings={name: value for name, value in given.items() if value},
        device=bench.options.device,
        limit=bench.left,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("gpu", __doc__, rounds=1)
    parser.add_argument("--scale", type=share, default=1.0, help="of the corpus, 0 to 1")
    parser.add_argument("--shape", choices=SHAPES, default="base", help="of the encoder")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--jobs", type=count, default=6, help="runs of Table 7 at a time")
    parser.add_argument("--seeds", type=count, default=5, help="of each row of Table 7")
    parser.add_argument("--epochs", type=count, help="of Table 7; by default those of features")
    parser.add_argument("--lstm-size", type=count, help="units per direction")
    parser.add_argument("--minutes", type=count, default=8, help="after which it has ended")
    carry_out(parser, measure, arguments, show=as_json)


if __name__ == "__main__":
    main()

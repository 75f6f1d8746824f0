"""Peak memory of extraction and training, by the size of the text.

    python -m benchmarks.memory --sizes 1000,10000,100000 --train-sizes 2000,8000

Each figure is taken in a process of its own. Extraction: resident memory above the process that has
read the text and loaded the encoder; it should not grow with the text. Training of the BiLSTM, one
epoch on random features: above the process that has trained on a few sentences, read the text and
opened the store; it should be the selected layers once, as stored, and five times the weights
(weights, gradients, two means of Adam, the best so far), and what a batch takes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.command import Options, carry_out, count, counts, parser_of, work_folder
from benchmarks.corpora import WARM_UP, head
from benchmarks.machine import facts
from benchmarks.ours import Learned, train_bilstm
from benchmarks.record import Record
from benchmarks.resident import in_own_process, peak_of
from benchmarks.stores import write_random_store
from benchmarks.text import Size, generated_corpus
from featbert.data.corpus import Corpus
from featbert.encoders.device import DTYPES, find_device, find_precision
from featbert.encoders.encoder import load_encoder
from featbert.encoders.layers import parse_layers
from featbert.encoders.source import DEFAULT_MODEL, find_encoder
from featbert.features.extraction import extract
from featbert.training.settings import DEFAULTS

LAYERS = "concat_last4"
COPIES = 5  # of the weights: see above
DEPTH, HIDDEN = 6, 384  # of the random features, as all-MiniLM-L6-v2 has them


def measure(options: Options) -> Record:
    """Every size of both, smallest first."""
    measured = {}
    with work_folder(options) as folder:
        for n in options.sizes:
            measured[f"extraction, {n:,} sentences"] = in_own_process(
                extraction, n, options.model, options.precision, folder, options.threads
            )
        for n in options.train_sizes:
            measured[f"training, {n:,} sentences"] = in_own_process(
                training, n, options.lstm_size, options.precision, folder, options.threads
            )
    return Record(
        "memory",
        options.command,
        facts(),
        {"model": Path(options.model).name, "precision": options.precision, "layers": LAYERS},
        measured,
    )


def extraction(
    sentences: int, model: str, precision: str, folder: Path, threads: int | None
) -> dict[str, Any]:
    """Bytes above the process with text and encoder; the store is removed."""
    _set_threads(threads)
    device = find_device("cpu")
    corpus = generated_corpus({"train": Size(sentences)})
    dtype = DTYPES[find_precision(precision, device)]
    source = find_encoder(model)
    # The extraction loads an encoder of its own, in the room that this one leaves.
    encoder = load_encoder(source, dtype=dtype)
    parameters = sum(p.numel() for p in encoder.parameters())
    loaded = peak_of(lambda: None, device).before
    del encoder
    with tempfile.TemporaryDirectory(dir=folder) as cache:

        def work() -> None:
            extract(corpus, source, cache_dir=cache, precision=precision, device=device)

        highest = peak_of(work, device).highest
        (store,) = Path(cache).glob("*.h5")
        store_bytes = store.stat().st_size
    return {
        "words": corpus["train"].n_words,
        "store_bytes": store_bytes,
        "encoder_bytes": parameters * dtype.itemsize,
        "process_bytes": loaded,
        "peak_bytes": highest,
        "above_bytes": highest - loaded,
    }


def training(
    sentences: int, lstm_size: int | None, precision: str, folder: Path, threads: int | None
) -> dict[str, Any]:
    """Bytes above the process with text and store, and what layers and weights account for."""
    _set_threads(threads)
    device = find_device("cpu")
    corpus = generated_corpus({"train": Size(sentences), "dev": Size(max(1, sentences // 5))})
    settings = DEFAULTS["features"].but(epochs=1, batch_size=32, lstm_size=lstm_size)
    with tempfile.TemporaryDirectory(dir=folder) as cache:

        def training_on(text: Corpus) -> Callable[[], Learned]:
            store = write_random_store(text, Path(cache), num_layers=DEPTH, hidden_size=HIDDEN)
            return lambda: train_bilstm(
                store, text, LAYERS, settings, seed=1, device=device, precision=precision
            )

        training_on(head(corpus, WARM_UP))()  # imports, kernels
        peak = peak_of(training_on(corpus), device)
    words = sum(split.n_words for split in corpus.splits.values())
    combination = parse_layers(LAYERS, DEPTH)
    layers = words * len(combination.indices) * HIDDEN * 2
    weights = 4 * parameters(combination.width(HIDDEN), settings.lstm_size, settings.lstm_layers)
    return {
        "words": words,
        "layers_bytes": layers,
        "weights_bytes": weights,
        "process_bytes": peak.before,
        "peak_bytes": peak.highest,
        "above_bytes": peak.above,
        "above_layers_and_weights": peak.above - layers - COPIES * weights,
    }


def parameters(width: int, units: int, layers: int) -> int:
    """Of a BiLSTM; the classifier is small beside it."""
    sizes = [width, *[2 * units] * (layers - 1)]
    return sum(2 * 4 * units * (size + units + 2) for size in sizes)


def _set_threads(threads: int | None) -> None:
    if threads:
        import torch

        torch.set_num_threads(threads)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("memory", __doc__, rounds=1)
    parser.add_argument("--sizes", type=counts, default=[1000, 10_000], help="sentences, extracted")
    parser.add_argument("--train-sizes", type=counts, default=[2000, 8000], help="trained on")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--precision", default="auto", choices=("auto", "fp32", "bf16"))
    parser.add_argument("--lstm-size", type=count, help="units per direction")
    carry_out(parser, measure, arguments)


if __name__ == "__main__":
    main()

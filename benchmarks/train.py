"""Training of the BiLSTM on frozen features, against `nn.LSTM` in a plain torch loop.

    python -m benchmarks.train --data wikigold --epochs 6 --rounds 3

One store (float16) is extracted first; both read its last four layers. Both take shuffled batches
of 32, the same optimiser settings and epochs, score dev after each epoch and keep the best weights.
Words per second are words trained on, over everything from opening the store.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.baselines import train_bilstm_plainly
from benchmarks.contestants import LAYERS, Ours, Plain, extract, train, training_contest
from benchmarks.harness import Options, Record, add_text_options, count, parser_of, run
from benchmarks.machine import WORDS, Product
from featbert import Corpus
from featbert.encoders.layers import parse_layers
from featbert.encoders.source import find_encoder


def measure(options: Options) -> Record:
    """Both sides in turn."""
    source = find_encoder(options.model)
    layers = parse_layers(LAYERS, source.num_layers)

    def sides(text: Corpus, folder: Path) -> tuple[Plain, Ours]:
        store = extract(text, options.model, folder, device="cpu", layers=layers.indices).store
        settings = {"batch_size": options.batch_size, "lstm_size": options.lstm_size}
        return (
            partial(train_bilstm_plainly, store, text, layers.indices),
            partial(train, store, text, folder, device="cpu", **settings),
        )

    def products(settings: Mapping[str, Any]) -> list[Product]:
        batch, units = settings["batch_size"], settings["lstm_size"]
        width = layers.width(source.hidden_size or 0)
        return [Product(WORDS * batch, width, 4 * units), Product(batch, units, 4 * units)]

    note = "the share is of the first product's rate, the input projection; the second is a step"
    return training_contest(options, "train", "nn.LSTM loop fp32", sides, products, [note])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("train", __doc__)
    add_text_options(parser, sentences=1000)
    parser.add_argument("--epochs", type=count, default=2)
    parser.add_argument("--batch-size", type=count, default=32)
    parser.add_argument("--lstm-size", type=count, help="units per direction")
    run(parser, measure, arguments)


if __name__ == "__main__":
    main()

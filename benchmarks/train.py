"""Training of the BiLSTM on frozen features, against `nn.LSTM` in a plain torch loop.

    python -m benchmarks.train --data wikigold --epochs 6 --rounds 3

One store (concat_last4, float16) is extracted first; both read it. Both take shuffled batches of
32, the same optimiser settings and epochs, score dev after each epoch and keep the best weights.
Round n trains with seed n, so that the rounds are also the seeds of dev F1. Words a second are
words trained on, over everything from opening the store.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from benchmarks.baselines.bilstm import train_bilstm_plainly
from benchmarks.command import Options, add_text_options, carry_out, count, parser_of, work_folder
from benchmarks.contest import TrainingContest
from benchmarks.corpora import WARM_UP, corpus_of, described, head
from benchmarks.machine import facts, matmul_rate, precisions
from benchmarks.ours import Learned, extract_once, train_bilstm
from benchmarks.products import of_projection, of_time_step
from benchmarks.record import Record
from featbert.data.corpus import Corpus
from featbert.encoders.device import find_device
from featbert.encoders.layers import parse_layers
from featbert.encoders.source import find_encoder
from featbert.training.settings import DEFAULTS, TrainingSettings, used_settings

LAYERS = "concat_last4"
BASELINE = "nn.LSTM loop fp32"


def measure(options: Options) -> Record:
    """Both sides in turn."""
    device = find_device("cpu")
    corpus = corpus_of(options, ["train", "dev"])
    compared = precisions(device)
    settings = DEFAULTS["features"].but(
        epochs=options.epochs, batch_size=options.batch_size, lstm_size=options.lstm_size
    )
    source = find_encoder(options.model)
    combination = parse_layers(LAYERS, source.num_layers)
    indices = combination.indices
    with work_folder(options) as folder:

        def contest(text: Corpus, how: TrainingSettings) -> TrainingContest:
            store = extract_once(
                text, options.model, folder, device, precision="auto", layers=indices
            ).store

            def plainly(seed: int) -> float:
                return train_bilstm_plainly(store, text, indices, how, seed=seed)

            def ours(seed: int, precision: str) -> Learned:
                return train_bilstm(
                    store, text, LAYERS, how, seed=seed, device=device, precision=precision
                )

            return TrainingContest(BASELINE, plainly, ours, compared)

        contest(head(corpus, WARM_UP), dataclasses.replace(settings, epochs=1)).run(1)
        real = contest(corpus, settings)
        seconds = real.run(options.rounds)
    projection = of_projection(combination.width(source.hidden_size or 0), settings)
    step = of_time_step(settings)
    rates = {
        shape: {p: matmul_rate(shape, p, device) for p in compared} for shape in (projection, step)
    }
    return Record(
        "train",
        options.command,
        facts(device),
        {
            **described(corpus),
            "model": Path(options.model).name,
            "layers": LAYERS,
            "settings": used_settings(settings, "features"),
            "matmul": {f"{s} {p}": rate for s, by in rates.items() for p, rate in by.items()},
        },
        real.rows(seconds, corpus["train"].n_words * settings.epochs, rates[projection]),
        real.ratios(seconds),
        (f"the share is of the input projection's rate ({projection}); a time step is {step}",),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("train", __doc__)
    add_text_options(parser, sentences=1000)
    parser.add_argument("--epochs", type=count, default=2)
    parser.add_argument("--batch-size", type=count, default=32)
    parser.add_argument("--lstm-size", type=count, help="units per direction")
    carry_out(parser, measure, arguments)


if __name__ == "__main__":
    main()

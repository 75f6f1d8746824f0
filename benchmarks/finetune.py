"""Fine-tuning, against a plain transformers loop.

    python -m benchmarks.finetune --data wikigold --epochs 3 --rounds 3

Both take shuffled batches of 32, the same optimiser settings and epochs, score dev after each epoch
and keep the best weights. Round n trains with seed n, so that the rounds are also the seeds of dev
F1. Words a second are words trained on, over everything from loading the encoder.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from benchmarks.baselines.finetuning import finetune_plainly
from benchmarks.command import Options, add_text_options, carry_out, count, parser_of
from benchmarks.contest import TrainingContest
from benchmarks.corpora import WARM_UP, corpus_of, described, head
from benchmarks.machine import facts, matmul_rate, precisions
from benchmarks.ours import Learned, finetune_encoder
from benchmarks.products import of_finetuning
from benchmarks.record import Record
from featbert.data.corpus import Corpus
from featbert.encoders.device import find_device
from featbert.encoders.source import find_encoder
from featbert.training.settings import DEFAULTS, TrainingSettings, used_settings

BASELINE = "transformers loop fp32"


def measure(options: Options) -> Record:
    """Both sides in turn."""
    device = find_device("cpu")
    corpus = corpus_of(options, ["train", "dev"])
    compared = precisions(device)
    settings = DEFAULTS["finetune"].but(epochs=options.epochs, batch_size=options.batch_size)
    source = find_encoder(options.model)

    def contest(text: Corpus, how: TrainingSettings) -> TrainingContest:
        def plainly(seed: int) -> float:
            return finetune_plainly(text, source.folder, how, seed=seed)

        def ours(seed: int, precision: str) -> Learned:
            return finetune_encoder(
                text, options.model, how, seed=seed, device=device, precision=precision
            )

        return TrainingContest(BASELINE, plainly, ours, compared)

    contest(head(corpus, WARM_UP), dataclasses.replace(settings, epochs=1)).run(1)
    real = contest(corpus, settings)
    seconds = real.run(options.rounds)
    product = of_finetuning(source.hidden_size or 0, settings)
    rates = {p: matmul_rate(product, p, device) for p in compared}
    return Record(
        "finetune",
        options.command,
        facts(device),
        {
            **described(corpus),
            "model": Path(options.model).name,
            "settings": used_settings(settings, "finetune"),
            "matmul": {f"{product} {p}": rate for p, rate in rates.items()},
        },
        real.rows(seconds, corpus["train"].n_words * settings.epochs, rates),
        real.ratios(seconds),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("finetune", __doc__)
    add_text_options(parser, sentences=500)
    parser.add_argument("--epochs", type=count, default=2)
    parser.add_argument("--batch-size", type=count, default=32)
    carry_out(parser, measure, arguments)


if __name__ == "__main__":
    main()

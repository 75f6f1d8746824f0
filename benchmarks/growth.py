"""Time of extraction and training against the size of the text: both should grow linearly.

    python -m benchmarks.growth --sentences 500

1x, 2x, 4x and 8x the sentences, in turn in each round: extraction of all layers to a finished
store, loading of the encoder included, and one epoch of the BiLSTM on concat_last4 with a dev split
that grows along. The exponent is the slope of log seconds over log sentences: 1 is linear, and what
is paid once lowers it. The figure goes to `benchmarks/growth.png`.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.command import (
    Options,
    carry_out,
    count,
    counts,
    file_to_write,
    parser_of,
    work_folder,
)
from benchmarks.corpora import DEV_SHARE, described
from benchmarks.growth_figure import growth_figure
from benchmarks.machine import facts
from benchmarks.ours import extract_once, train_bilstm
from benchmarks.record import Record, spread
from benchmarks.rounds import in_turn
from benchmarks.text import Size, generated_corpus
from featbert.data.corpus import Corpus
from featbert.encoders.device import find_device
from featbert.encoders.source import DEFAULT_MODEL
from featbert.report.figures.saving import save_figure
from featbert.training.settings import DEFAULTS

LAYERS = "concat_last4"
FIGURE = Path(__file__).with_suffix(".png")
STEPS = ("extraction", "training")

Seconds = dict[str, dict[int, list[float]]]  # by step and sentences, one a round


def measure(options: Options) -> Record:
    """Every size in turn, and the figure."""
    sizes = [times * options.sentences for times in options.times]
    corpora = {n: corpus_with(n) for n in sizes}
    with work_folder(options) as folder:
        warm_up(options, folder)
        found = grown(options, corpora, folder)
    save_figure(growth_figure(found), options.figure)
    rows = {
        f"{step}, {n:,} sentences": {
            "seconds": each,
            "words_per_second": corpora[n]["train"].n_words / statistics.median(each),
        }
        for step, by_size in found.items()
        for n, each in by_size.items()
    }
    return Record(
        "growth",
        options.command,
        facts(),
        {**described(corpora[max(sizes)]), "model": Path(options.model).name, "layers": LAYERS},
        rows,
        {f"exponent of {step}": spread(exponents(by)) for step, by in found.items()},
        ("an exponent of 1 is linear; below 1, because something is paid once",),
    )


def corpus_with(sentences: int) -> Corpus:
    """Train of this size and a fifth of it for dev."""
    return generated_corpus({"train": Size(sentences), "dev": Size(max(1, sentences // DEV_SHARE))})


def grown(options: Options, corpora: Mapping[int, Corpus], folder: Path) -> Seconds:
    """Seconds of both steps for each corpus, in turn in each round."""
    device = find_device()
    settings = DEFAULTS["features"].but(epochs=1, batch_size=32, lstm_size=options.lstm_size)
    found: Seconds = {step: {n: [] for n in corpora} for step in STEPS}

    def both(n: int, seed: int) -> float:
        made = extract_once(corpora[n], options.model, folder, device, precision=options.precision)
        found["extraction"][n].append(made.seconds)
        learned = train_bilstm(
            made.store,
            corpora[n],
            LAYERS,
            settings,
            seed=seed,
            device=device,
            precision=options.precision,
        )
        found["training"][n].append(learned.seconds)
        shutil.rmtree(made.store.path.parent)
        return made.seconds + learned.seconds

    in_turn({str(n): partial(both, n) for n in corpora}, options.rounds)
    return found


def warm_up(options: Options, folder: Path) -> None:
    """A tenth of the smallest size, not counted."""
    small = corpus_with(max(1, options.sentences // 10))
    grown(options, {len(small["train"]): small}, folder)


def exponents(by_size: Mapping[int, Sequence[float]]) -> list[float]:
    """Slopes of log seconds over log sentences, one a round; 0 where there is one size alone."""
    sizes = np.log(list(by_size))
    if len(sizes) < 2:
        return [0.0]
    rounds = np.log(np.array(list(by_size.values())))  # (sizes, rounds)
    return [float(slope) for slope in np.polyfit(sizes, rounds, 1)[0]]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("growth", __doc__)
    parser.add_argument("--sentences", type=count, default=500, help="of the smallest size")
    parser.add_argument("--times", type=counts, default=[1, 2, 4, 8], help="sizes, in multiples")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--precision", default="auto", choices=("auto", "fp32", "bf16"))
    parser.add_argument("--lstm-size", type=count, help="units per direction")
    parser.add_argument("--figure", type=file_to_write, default=FIGURE, metavar="FILE")
    carry_out(parser, measure, arguments)


if __name__ == "__main__":
    main()

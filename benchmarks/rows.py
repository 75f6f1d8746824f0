"""All feature rows over several seeds: one extraction for all, against an extraction for each row.

    python -m benchmarks.rows --data wikigold --epochs 2 --lstm-size 256

What differs is the extractions alone: with a store every run reads the same one; without, each row
would extract its layers again, as a script does that goes from text to scores. All of these
extractions are carried out, in turn with the runs of their row. Seconds of a run are from opening
the store to the weights that were best on dev.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.command import Options, add_text_options, carry_out, count, parser_of, work_folder
from benchmarks.corpora import WARM_UP, corpus_of, described, head
from benchmarks.machine import facts
from benchmarks.ours import Extracted, extract_once, train_bilstm
from benchmarks.record import Record, spread
from featbert.data.corpus import Corpus
from featbert.encoders.device import find_device
from featbert.encoders.layers import NAMES
from featbert.training.settings import DEFAULTS, used_settings


def measure(options: Options) -> Record:
    """The rows one after the other; each row's extraction before its runs."""
    device = find_device("cpu")
    corpus = corpus_of(options, ["train", "dev"])
    settings = DEFAULTS["features"].but(epochs=options.epochs, lstm_size=options.lstm_size)
    extractions: list[float] = []
    training: list[float] = []
    best: dict[str, list[float]] = {}
    with work_folder(options) as folder:

        def extracted(text: Corpus) -> Extracted:
            return extract_once(text, options.model, folder, device, precision="auto")

        extracted(head(corpus, WARM_UP))
        for layers in NAMES:
            done = extracted(corpus)
            extractions.append(done.seconds)
            for seed in range(1, options.seeds + 1):
                learned = train_bilstm(
                    done.store, corpus, layers, settings, seed=seed, device=device, precision="auto"
                )
                training.append(learned.seconds)
                best.setdefault(layers, []).append(learned.dev_f1 or 0.0)
            done.store.path.unlink()
    runs = sum(training)
    once, each = extractions[0] + runs, sum(extractions) + runs
    measured: dict[str, dict[str, object]] = {
        "one extraction": {"extraction": extractions[0], "runs": runs, "seconds": once},
        "an extraction for each row": {
            "extraction": sum(extractions),
            "runs": runs,
            "seconds": each,
        },
        **{layers: {"dev_f1": scores} for layers, scores in best.items()},
    }
    about = {
        **described(corpus),
        "model": Path(options.model).name,
        "runs": len(training),
        "settings": used_settings(settings, "features"),
    }
    ratios = {"an extraction for each row over one extraction": spread([each / once])}
    return Record("rows", options.command, facts(device), about, measured, ratios)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("rows", __doc__, rounds=1)
    add_text_options(parser, sentences=500)
    parser.add_argument("--seeds", type=count, default=3)
    parser.add_argument("--epochs", type=count, default=2)
    parser.add_argument("--lstm-size", type=count, help="units per direction")
    carry_out(parser, measure, arguments)


if __name__ == "__main__":
    main()

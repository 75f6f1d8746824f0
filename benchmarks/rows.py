"""Seven layer rows of five seeds, from a finished store of pooled vectors to the table.

    python -m benchmarks.rows --data polarity --task classification

Linear heads on the mean of each text. The seconds are those of one process from its start to the
printed table, extraction not counted; and of an epoch, with dev scored, by the records.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.contestants import extract
from benchmarks.harness import Options, Record, count, in_turn, parser_of, run, work_folder
from benchmarks.machine import facts
from benchmarks.text import described
from featbert.data.load import load_corpus
from featbert.encoders.layers import NAMES
from featbert.runs.run import find_runs


def measure(options: Options) -> Record:
    """All rounds; each trains everything again."""
    corpus = load_corpus(options.data, targets=None)
    epochs: list[float] = []
    seeds = f"1-{options.seeds}" if options.seeds > 1 else "1"
    with work_folder(options) as folder:
        store = extract(corpus, options.model, folder, device="cpu", keep="pooled").store

        def rows(at: int) -> float:
            runs = folder / f"runs-{at}"
            layers = [word for name in NAMES for word in ("--layers", name)]
            layers += ["--body", "linear"]  # mixes are learned by gradients
            runs_options = ["--runs-dir", str(runs), "--quiet"]
            started = time.perf_counter()
            data_options = ["--task", options.task, "--features", str(store.path), "--seeds", seeds]
            featbert("train", *data_options, *layers, "--device", "cpu", *runs_options)
            featbert("compare", *runs_options)
            seconds = time.perf_counter() - started
            records = [run.record for run in find_runs(runs)]
            epochs.extend(epoch.seconds for record in records for epoch in record.history)
            return seconds

        seconds = in_turn({"rows": rows}, options.rounds)["rows"]
    measured: dict[str, dict[str, Any]] = {
        f"{len(NAMES)} rows of {options.seeds} seeds": {"seconds": seconds},
        "an epoch of a linear head": {"seconds": epochs, "median": statistics.median(epochs)},
    }
    return Record("rows", options.command, facts(), described(corpus), measured)


def featbert(*words: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "featbert", *words], check=True, stdout=subprocess.DEVNULL
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("rows", __doc__, rounds=1)
    parser.add_argument("--data", required=True, help="corpus of texts")
    parser.add_argument("--task", default="classification")
    parser.add_argument("--seeds", type=count, default=5, help="of each row")
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    run(parser, measure, arguments)


if __name__ == "__main__":
    main()

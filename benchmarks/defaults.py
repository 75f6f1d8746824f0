"""The search behind the default learning rates and epochs: equal size for both approaches.

    python -m benchmarks.defaults --data wikigold --runs RUNS            # train what is missing
    python -m benchmarks.defaults --data wikigold --runs RUNS --report   # the table

Three learning rates, two numbers of epochs and three seeds for each approach; everything else is
the approach's default. Dev decides, test is not looked at. `--part I/N` trains every N-th run,
so that N processes can share the work; finished runs are never trained again.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import statistics
from collections.abc import Iterator
from pathlib import Path

LEARNING_RATES = {"features": (5e-4, 1e-3, 2e-3), "finetune": (5e-5, 1e-4, 2e-4)}
EPOCHS = (3, 6)
SEEDS = (1, 2, 3)
LAYERS = "concat_last4"


def grid() -> Iterator[tuple[str, float, int, int]]:
    """(approach, learning rate, epochs, seed), the middle rate and most epochs first."""
    for at, epochs in itertools.product((1, 2, 0), reversed(EPOCHS)):
        for approach, seed in itertools.product(LEARNING_RATES, SEEDS):
            yield approach, LEARNING_RATES[approach][at], epochs, seed


def search(data: Path, runs: Path, cache: Path, *, part: int, parts: int) -> None:
    """Trains this part's runs that are not finished yet."""
    from featbert import extract, finetune, load_corpus, train
    from featbert.training.settings import DEFAULTS

    corpus = load_corpus(data)
    store = extract(corpus, cache_dir=cache)
    for number, (approach, rate, epochs, seed) in enumerate(grid()):
        if number % parts != part:
            continue
        settings = dataclasses.replace(DEFAULTS[approach], learning_rate=rate, epochs=epochs)
        if approach == "features":
            run = train(store, LAYERS, seed=seed, settings=settings, runs_dir=runs)
        else:
            run = finetune(corpus, seed=seed, settings=settings, runs_dir=runs)
        print(f"{run.record.scores['dev'].entity.f1:.4f}  {run.name}", flush=True)


def report(runs: Path) -> str:
    """A Markdown table of dev F1 (percent) by approach, learning rate and epochs."""
    from featbert import find_runs

    found: dict[tuple[str, float, int], list[float]] = {}
    for run in find_runs(runs):
        r = run.record
        key = (r.approach, r.settings["learning_rate"], r.settings["epochs"])
        found.setdefault(key, []).append(100 * r.scores["dev"].entity.f1)
    lines = [
        "| approach | learning rate | epochs | dev F1, mean ± sd | seeds |",
        "| --- | --- | --- | --- | --- |",
    ]
    for (approach, rate, epochs), values in sorted(found.items()):
        spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
        score = f"{statistics.mean(values):.2f}{spread}"
        lines.append(f"| {approach} | {rate:g} | {epochs} | {score} | {len(values)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--runs", type=Path, required=True, help="folder of the search's runs")
    parser.add_argument("--cache", type=Path, default=Path("cache"))
    parser.add_argument("--part", default="0/1", help="I/N: train every N-th run, from the I-th")
    parser.add_argument("--threads", type=int, help="threads of torch")
    parser.add_argument("--report", action="store_true", help="print the table, train nothing")
    options = parser.parse_args()
    if options.report:
        print(report(options.runs))
        return
    if options.threads:
        import torch

        torch.set_num_threads(options.threads)
    part, parts = map(int, options.part.split("/"))
    search(options.data, options.runs, options.cache, part=part, parts=parts)


if __name__ == "__main__":
    main()

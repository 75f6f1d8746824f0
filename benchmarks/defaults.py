"""The search behind the default learning rates and epochs: equal size for both approaches.

    python -m benchmarks.defaults --data FOLDER --approach features   # train what is missing
    python -m benchmarks.defaults --data FOLDER --approach finetune
    python -m benchmarks.defaults --report                            # the table

First four learning rates at 6 epochs, then, at the rate with the best mean dev F1, 3 and 12
epochs; three seeds each; everything else is the approach's default. Dev decides, test is not
looked at. The runs' records are kept in `benchmarks/defaults/`; a run whose record lies there is
not trained again. `--seeds` shares the work among processes.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
from collections.abc import Iterator
from pathlib import Path

from featbert.runs.record import RunRecord, from_json, to_json

RECORDS = Path(__file__).parent / "defaults"
LEARNING_RATES = {
    "features": (1e-3, 5e-4, 2e-3, 4e-3),
    "finetune": (1e-4, 2e-4, 5e-5, 4e-4),
}
FIRST_EPOCHS = 6
OTHER_EPOCHS = (12, 3)
SEEDS = (1, 2, 3)
LAYERS = "concat_last4"

Setting = tuple[str, float, int]  # approach, learning rate, epochs


def kept_scores() -> dict[Setting, dict[int, float]]:
    """Dev F1 by seed of every record that is kept."""
    found: dict[Setting, dict[int, float]] = {}
    for path in sorted(RECORDS.glob("*.json")):
        r = from_json(RunRecord, path.read_text("utf-8"), where=str(path))
        key = (
            {"none": "features", "full": "finetune"}[r.tuning],
            r.settings["learning_rate"],
            r.settings["epochs"],
        )
        found.setdefault(key, {})[r.seed] = r.score("dev") or 0.0
    return found


def best_rate(approach: str) -> float | None:
    """The rate with the best mean dev F1 at the first number of epochs, once all are there."""
    scores = kept_scores()
    rows = {
        rate: scores.get((approach, rate, FIRST_EPOCHS), {}) for rate in LEARNING_RATES[approach]
    }
    if any(set(row) != set(SEEDS) for row in rows.values()):
        return None
    return max(rows, key=lambda rate: statistics.mean(rows[rate].values()))


def settings_to_try(approach: str) -> Iterator[Setting]:
    """The first stage, then the second, where the first has ended."""
    for rate in LEARNING_RATES[approach]:
        yield approach, rate, FIRST_EPOCHS
    best = best_rate(approach)
    if best is not None:
        for epochs in OTHER_EPOCHS:
            yield approach, best, epochs


def search(data: Path, runs: Path, cache: Path, approach: str, seeds: list[int]) -> None:
    """Trains the runs whose records are not kept yet, and keeps them."""
    from featbert import extract, finetune, load_corpus, train
    from featbert.training.settings import DEFAULTS

    corpus = load_corpus(data)
    for _, rate, epochs in settings_to_try(approach):
        for seed in seeds:
            if seed in kept_scores().get((approach, rate, epochs), {}):
                continue
            settings = dataclasses.replace(DEFAULTS[approach], learning_rate=rate, epochs=epochs)
            if approach == "features":
                store = extract(corpus, cache_dir=cache)
                run = train(store, LAYERS, seed=seed, settings=settings, runs_dir=runs)
            else:
                run = finetune(corpus, seed=seed, settings=settings, runs_dir=runs)
            keep(run.record)
            print(f"{run.record.score('dev'):.4f}  {run.name}", flush=True)


def keep(record: RunRecord) -> None:
    """Writes the record to the kept ones, without the folder it was trained in."""
    signature = dataclasses.replace(record.signature, source=record.signature.corpus)
    text = to_json(dataclasses.replace(record, signature=signature))
    RECORDS.mkdir(exist_ok=True)
    (RECORDS / f"{record.name}.json").write_text(text, "utf-8")


def report() -> str:
    """A Markdown table of dev F1 (percent) by approach, learning rate and epochs."""
    lines = [
        "| approach | learning rate | epochs | dev F1, mean ± sd | by seed |",
        "| --- | --- | --- | --- | --- |",
    ]
    for (approach, rate, epochs), by_seed in sorted(kept_scores().items()):
        values = [100 * by_seed[seed] for seed in sorted(by_seed)]
        spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
        each = ", ".join(f"{v:.2f}" for v in values)
        score = f"{statistics.mean(values):.2f}{spread}"
        lines.append(f"| {approach} | {rate:g} | {epochs} | {score} | {each} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of the corpus")
    parser.add_argument("--approach", choices=LEARNING_RATES)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--runs", type=Path, default=Path("experiments/runs"))
    parser.add_argument("--cache", type=Path, default=Path("cache"))
    parser.add_argument("--threads", type=int, help="threads of torch")
    parser.add_argument("--report", action="store_true", help="print the table, train nothing")
    options = parser.parse_args()
    if options.report:
        print(report())
        return
    if options.data is None or options.approach is None:
        parser.error("--data and --approach, or --report")
    if options.threads:
        import torch

        torch.set_num_threads(options.threads)
    seeds = [int(seed) for seed in options.seeds.split(",")]
    # The second stage is known once the first has ended, so the list is read twice.
    for _ in range(2):
        search(options.data, options.runs, options.cache, options.approach, seeds)


if __name__ == "__main__":
    main()

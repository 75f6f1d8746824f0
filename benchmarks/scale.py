"""Scaling efficiency of runs and of an extraction in shards, as tasks of a Ray on this machine.

    python -m benchmarks.scale --workers 1,2

Workers have a core each. In each round every number of workers gets a Ray of its own, and each
worker does both kinds of work once before the clock starts. Efficiency is the time of the fewest
workers over that of n, by their numbers: 1 where twice as many workers take half the time.
"""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.gpu import write_corpus
from benchmarks.harness import (
    MODEL,
    Options,
    Record,
    count,
    counts,
    in_turn,
    parser_of,
    ratio,
    run,
    work_folder,
)
from benchmarks.machine import facts
from benchmarks.text import described
from featbert.api import load_corpus
from featbert.encoders.encoding import EncodingOptions
from featbert.encoders.source import find_encoder
from featbert.engine import Each
from featbert.errors import FeatbertError
from featbert.experiments import ray_engine
from featbert.experiments.file import check_experiment
from featbert.experiments.plan import ExperimentPlan
from featbert.experiments.schedule import carry_out
from featbert.features.plan import plan_extraction
from featbert.features.shards import extract_shards

STEPS = ("extraction", "runs")
# Scale of the corpus before the clock starts.
WARM_UP = 0.002


def measure(options: Options) -> Record:
    """All numbers of workers in turn, the fewest first."""
    workers = sorted(options.workers)
    seconds: dict[tuple[str, int], list[float]] = {(s, n): [] for s in STEPS for n in workers}
    sizes = {"generated": options.scale, "small": WARM_UP}
    with work_folder(options) as folder:
        data, small = (write_corpus(folder / name, scale) for name, scale in sizes.items())

        def work(n: int, at: int) -> float:
            place = folder / f"{at}-{n}"
            with ray_engine.joined(None, (place,), gpus=0, jobs=n) as (engine, _):
                steps(small, place / "first", engine, options, n)
                seconds_by_step = steps(data, place / "then", engine, options, options.tasks)
            for step, each_seconds in zip(STEPS, seconds_by_step, strict=True):
                seconds[step, n].append(each_seconds)
            return sum(seconds_by_step)

        in_turn({str(n): partial(work, n) for n in workers}, options.rounds)
        about = {**described(load_corpus(data)), "tasks": options.tasks, "epochs": options.epochs}
    return Record(
        "scale",
        options.command,
        facts(),
        about,
        {f"{s}, {n} workers": {"seconds": times} for (s, n), times in seconds.items()},
        {
            f"efficiency of {step}, {n} workers": ratio(
                [workers[0] * s for s in seconds[step, workers[0]]],
                [n * s for s in seconds[step, n]],
            )
            for step in STEPS
            for n in workers[1:]
        },
    )


def steps(data: Path, where: Path, each: Each, options: Options, tasks: int) -> tuple[float, float]:
    """Seconds of an extraction in so many shards, and of as many runs on it."""
    compute = {"device": "cpu", "precision": options.precision}
    corpus, source, encoding = (
        load_corpus(data),
        find_encoder(options.model),
        EncodingOptions(**compute),
    )
    plan = plan_extraction(corpus, source, encoding, cache_dir=where)
    started = time.perf_counter()
    extract_shards(plan, tasks, each)
    extracted = time.perf_counter()
    features = {"layers": ["last"], "epochs": options.epochs, "lstm_size": options.lstm_size}
    keys = {"name": "scale", "data": str(data), "model": options.model, "features": features}
    experiment = check_experiment(keys | compute | {"seeds": [*range(1, tasks + 1)]}, where="scale")
    done = carry_out(ExperimentPlan(experiment, where, where / "runs"), each=each)
    if done.failures:
        raise FeatbertError("; ".join(done.failures.values()))
    return extracted - started, time.perf_counter() - extracted


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("scale", __doc__)
    parser.add_argument("--workers", type=counts, default=[1, 2], help="numbers of workers")
    parser.add_argument("--tasks", type=count, default=8, help="shards, and runs")
    parser.add_argument("--scale", type=float, default=0.2, help="of a text like CoNLL-2003")
    parser.add_argument("--epochs", type=count, default=2)
    parser.add_argument("--lstm-size", type=count, default=256, help="units per direction")
    parser.add_argument("--precision", default="fp32", choices=("fp32", "bf16"))
    parser.add_argument("--model", default=MODEL)
    run(parser, measure, arguments)


if __name__ == "__main__":
    main()

"""featbert's side of every contest, by its Python API.

What a command does from its input to its result is inside the clock: hashing and loading the
encoder, tokenizing, reading features, writing and closing the store, scoring dev after each epoch.
The last prediction of dev and test, which plain loops do not make, is not.
"""

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import featbert
from benchmarks.harness import Options, Record, Work, in_turn, ratio, work_folder
from benchmarks.machine import Product, facts, matmul_rate, precisions
from benchmarks.text import WARM_UP, corpus_of, described, head
from featbert import Corpus, FeatureStore, Run
from featbert.config import defaults
from featbert.encoders.device import find_device
from featbert.tasks.base import get_task

LAYERS = "concat_last4"


class Extracted(NamedTuple):
    """A finished store, and the seconds from text to it."""

    seconds: float
    store: FeatureStore


def extract(corpus: Corpus, model: str, folder: Path, **options: Any) -> Extracted:
    """A new store in a folder of its own below `folder`; options as of `featbert.extract`."""
    cache = tempfile.mkdtemp(dir=folder)
    started = time.perf_counter()
    store = featbert.extract(corpus, model, cache_dir=cache, **options)
    return Extracted(time.perf_counter() - started, store)


@dataclass(frozen=True)
class Trained:
    """A finished run, and the seconds from text or store to it without the last prediction."""

    seconds: float
    run: Run


def train(store: FeatureStore, corpus: Corpus, folder: Path, **options: Any) -> Trained:
    """A BiLSTM on the last four layers of a store, from opening the store."""

    def work(runs: str, settings: Any, **others: Any) -> Run:
        (run,) = featbert.train(
            store.path, LAYERS, data=corpus, settings=settings, runs_dir=runs, **others
        )
        return run

    return _trained(work, "none", folder, options)


def finetune(corpus: Corpus, model: str, folder: Path, **options: Any) -> Trained:
    """A tuned encoder, from loading the encoder; `tuning` among the options, else "full"."""
    tuning = options.pop("tuning", "full")

    def work(runs: str, settings: Any, **others: Any) -> Run:
        (run,) = featbert.finetune(corpus, model, settings=settings, runs_dir=runs, **others)
        return run

    return _trained(work, tuning, folder, options)


def _trained(
    work: Callable[..., Run], tuning: str, folder: Path, options: Mapping[str, Any]
) -> Trained:
    """Trains in a runs directory of its own, which is removed.

    Args:
        options: `seed`, `device`, `precision` and `task` of the run; the rest are settings.
    """
    keys = ("seed", "device", "precision", "task")
    run_options = {name: options[name] for name in keys if name in options}
    settings = {name: value for name, value in options.items() if name not in run_options}
    runs = tempfile.mkdtemp(dir=folder)
    started = time.perf_counter()
    if "seed" in run_options:
        run_options["seeds"] = run_options.pop("seed")
    usual = defaults(tuning, options.get("task", "entities"))
    if usual.output == "crf":  # plain loops have none
        usual = usual.but(output="softmax")
    run = work(runs, usual.but(**settings), **run_options)
    seconds = time.perf_counter() - started - (run.record.cost.prediction_seconds or 0.0)
    shutil.rmtree(runs)
    return Trained(seconds, run)


Plain = Callable[..., float]  # trains a baseline, given `settings` and `seed`: its dev F1
Ours = Callable[..., Trained]  # trains featbert, given `epochs`, `seed` and `precision`


def training_contest(
    options: Options,
    benchmark: str,
    baseline: str,
    sides: Callable[[Corpus, Path], tuple[Plain, Ours]],
    products: Callable[[Mapping[str, Any]], Sequence[Product]],
    notes: Sequence[str] = (),
) -> Record:
    """featbert in each precision against a plain loop, after a warm-up on a few sentences.

    Round n trains with seed n, so that the rounds are also the seeds of dev F1.

    Args:
        baseline: its name.
        sides: how both train on a text.
        products: like those of the work, by the settings; the first one's rate is the limit.
    """
    device = find_device("cpu")
    task = get_task(getattr(options, "task", "entities"))
    corpus = corpus_of(options, ["train", "dev"], task.targets)
    names = {f"featbert {p}": p for p in precisions(device)}
    with work_folder(options) as folder:
        warm_up = head(corpus, WARM_UP)
        _rounds(names, baseline, *sides(warm_up, folder), epochs=1, rounds=1)
        results = _rounds(
            names, baseline, *sides(corpus, folder), epochs=options.epochs, rounds=options.rounds
        )
    first = results.runs[0].run.record
    settings, flops = first.settings, first.cost.training_flops  # dev scoring included
    limits = products(settings)
    rates = {f"{x} {p}": matmul_rate(x, p, device) for x in limits for p in names.values()}
    rows = {}
    for name, seconds in results.seconds.items():
        median = statistics.median(seconds)
        rate = rates[f"{limits[0]} {names.get(name, 'fp32')}"]
        rows[name] = {
            "seconds": seconds,
            "words_per_second": corpus["train"].n_words * options.epochs / median,
            "flops_per_second": flops / median,
            "share_of_matmul_rate": flops / median / rate,
            "dev_score": results.dev[name],
        }
    return Record(
        benchmark,
        options.command,
        facts(device),
        {
            **described(corpus),
            "model": first.signature.model,
            "settings": settings,
            "matmul": rates,
        },
        rows,
        {
            f"{name} over {baseline}": ratio(results.seconds[baseline], results.seconds[name])
            for name in names
        },
        tuple(notes),
    )


@dataclass
class _Rounds:
    """What the rounds of a contest gave, by contestant; `runs` are featbert's."""

    seconds: dict[str, list[float]]
    dev: dict[str, list[float]]
    runs: list[Trained]


def _rounds(
    names: Mapping[str, str], baseline: str, plain: Plain, ours: Ours, *, epochs: int, rounds: int
) -> _Rounds:
    results = _Rounds({}, {name: [] for name in (*names, baseline)}, [])

    def our_round(name: str, seed: int) -> float:
        done = ours(epochs=epochs, seed=seed, precision=names[name])
        results.runs.append(done)
        results.dev[name].append(float(done.run.record.score("dev") or 0.0))
        return done.seconds

    def plain_round(seed: int) -> float:
        settings = results.runs[0].run.record.settings
        started = time.perf_counter()
        results.dev[baseline].append(plain(settings=settings, seed=seed))
        return time.perf_counter() - started

    # featbert's first round comes first: the baseline takes its settings.
    works: dict[str, Work] = {name: partial(our_round, name) for name in names}
    results.seconds = in_turn({**works, baseline: plain_round}, rounds)
    return results

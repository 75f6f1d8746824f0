"""featbert train and finetune"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.extract import find_store, made_store, opened_store
from featbert.cli.progress import load_torch
from featbert.cli.showing import run_line
from featbert.config import (
    Compute,
    Data,
    Encoding,
    RowsTable,
    Tuning,
    defaults_by_task,
    parse_seeds,
)
from featbert.data.check import notice_doubts
from featbert.data.load import load_corpus
from featbert.errors import InputError
from featbert.progress import labelled, notice, report
from featbert.runs.run import Run
from featbert.tasks.base import get_task
from featbert.text import unusual


@o.command(
    "train --data corpora/mine --layers concat_last4,last",
    (RowsTable, Data, Encoding, Compute),
    defaults=defaults_by_task("none") | {"data": "sample; with --features that of the store"},
    without=Tuning.model_fields,
)
def train(
    *,
    features: Path | None = o.FEATURES,
    layers: list[str] | None = o.option(
        "LAYERS",
        "Layer combinations, a row each: names such as last or weighted_all, single layers such as "
        "7 or 1-6, or forms such as concat:9-12; several with commas.  [default: concat_last4]",
        completion.layers,
    ),
    seeds: str = o.SEEDS,
    given: dict[str, Any],
    cache_dir: Path = o.CACHE_DIR,
    runs_dir: Path = o.RUNS_DIR,
    overwrite: bool = o.OVERWRITE,
    log_with: str | None = o.LOG_WITH,
) -> None:
    """Train a small model on stored features.

    The features of --data and --model are extracted to --cache-dir first, unless they are there
    already, with the same options. With --features, text and columns are those of the store, and
    --data and the column options read the tags of the same text from elsewhere. A finished run
    with the same settings is shown, not trained again.
    """
    log_dir = o.check_log(log_with, runs_dir)
    o.check_folder(cache_dir, "--cache-dir")
    from featbert.encoders.layers import parse_layers, split_specs
    from featbert.features.plan import ExtractionPlan
    from featbert.features.store import FeatureStore
    from featbert.runs.planned import check_trainable

    specs = [one for spec in layers or ["concat_last4"] for one in split_specs(spec)]
    wanted = [parse_layers(spec) for spec in specs]  # before anything is read
    numbers = parse_seeds(seeds)
    rows, compute = o.chosen(RowsTable, given), o.chosen(Compute, given)
    store, given = opened_store(features, given)
    text = o.chosen(Data, given)
    settings, task = rows.settings("none", 0, text.task), get_task(text.task)
    weighted = any(combination.mode == "weighted" for combination in wanted)
    settings.check_given(given, weighted=weighted)
    corpus = load_corpus(text.data, text.reading, targets=task.targets)
    check_trainable(corpus, settings)
    notice_doubts(corpus)
    found = store or find_store(corpus, given, specs, cache_dir, [settings.reads])
    if isinstance(found, FeatureStore):
        for spec in specs:
            found.require(parse_layers(spec, found.manifest.num_layers).indices)
    load_torch(compute.threads)

    from featbert.encoders.device import find_device
    from featbert.runs.planned import PlannedRun, RunOptions, plan_stored_run
    from featbert.runs.train import train_planned

    options = partial(
        RunOptions,
        settings=settings,
        runs_dir=runs_dir,
        device=find_device(compute.device),
        precision=compute.precision,
        **text.model_dump(include={"task", "tag_scheme"}),
    )

    def planned(features: FeatureStore | ExtractionPlan) -> dict[str, PlannedRun]:
        at = features.manifest, features.path, corpus
        runs = ((way.name, n) for way in wanted for n in numbers)
        return {
            f"{name}, seed {n}": plan_stored_run(*at, name, options(seed=n)) for name, n in runs
        }

    runs = planned(found)
    if overwrite or any(run.finished is None for run in runs.values()):
        found = made_store(found, corpus, given)
        runs = planned(found)
    m, path = found.manifest, found.path
    classes = "".join(f", {name}" for name in task.classes_of(corpus))
    report(f"{corpus.name}: {corpus.source}{classes}; features: {path.name}")
    if m.uncased:
        report(f"{m.model} is uncased: words were lowercased before they were read")
    material: Any = found  # a plan where all runs are finished, which read nothing
    make = partial(train_planned, material=material, corpus=corpus, log_dir=log_dir)
    _make({title: partial(make, run, overwrite=overwrite) for title, run in runs.items()})


@o.command(
    "finetune --model bert-base-cased --seeds 1-5",
    (Encoding, Data, RowsTable, Compute),
    defaults=defaults_by_task("full"),
    without=("store_dtype", "keep"),
)
def finetune(
    *,
    given: dict[str, Any],
    seeds: str = o.SEEDS,
    runs_dir: Path = o.RUNS_DIR,
    overwrite: bool = o.OVERWRITE,
    log_with: str | None = o.LOG_WITH,
) -> None:
    """Fine-tune the encoder, or a part of it, with a head on top.

    Batches, loss, selection on dev and scorer are those of `featbert train`.
    """
    log_dir = o.check_log(log_with, runs_dir)
    from featbert.encoders.source import find_encoder
    from featbert.encoders.tokenizer import is_uncased
    from featbert.encoders.tunings import get_tuning
    from featbert.runs.planned import check_trainable

    numbers = parse_seeds(seeds)
    encoding, text = o.chosen(Encoding, given), o.chosen(Data, given)
    rows, compute = o.chosen(RowsTable, given), o.chosen(Compute, given)
    source = find_encoder(encoding.model)
    settings = rows.settings("full", source.num_layers or 0, text.task)
    tuning = get_tuning(settings.tuning)
    if tuning.frozen:
        raise InputError(f"--tuning {tuning.name} reads stored features; use featbert train")
    settings.check_given(given)
    tuning.check(settings, source.num_layers or 0)
    if settings.learning_rate > 0.1:
        notice(f"--learning-rate {settings.learning_rate:g} is high; encoders are tuned below 0.01")
    corpus = load_corpus(text.data, text.reading, targets=get_task(text.task).targets)
    check_trainable(corpus, settings)
    notice_doubts(corpus)
    asked = encoding.for_encoder()
    asked.check(source, corpus)
    if note := asked.note(source):
        report(note)
    if is_uncased(source):
        report(f"{source.name} is uncased: words are lowercased before they are read")
    load_torch(compute.threads)

    from featbert.runs.train import finetune as finetune_run

    one = partial(
        finetune_run,
        corpus,
        source,
        settings=settings,
        runs_dir=runs_dir,
        overwrite=overwrite,
        log_dir=log_dir,
        **text.model_dump(include={"task", "tag_scheme"}),
        **encoding.model_dump(include={"context", "casing", "pooling", "packing"}),
        **compute.where,
    )
    _make({f"{tuning.title}, seed {seed}": partial(one, seed=seed) for seed in numbers})


def _make(runs: Mapping[str, Callable[[], Run]]) -> None:
    from featbert.analysis.notes import why_unlearned

    for title, make in runs.items():
        began = datetime.now(UTC).isoformat(timespec="seconds")
        with labelled(title):
            run = make()
        typer.echo(run_line(run, was_there=run.record.started < began))
        if reason := why_unlearned(run):
            report(f"{title}: {reason}")
    if found := unusual(run.record.counts):
        report(f"unusual in the corpus: {found}")
    report("featbert compare shows all finished runs")

"""Carrying out an experiment: one extraction, its runs, and the comparison at the end.

What is finished is skipped, so that the same command goes on after an interruption.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from featbert.comparison import Comparison, Run, compare_runs
from featbert.comparison.record import Approach
from featbert.data import Corpus, load_corpus
from featbert.experiments.carrying_out import Listeners, run_features, run_finetune
from featbert.experiments.file import Experiment
from featbert.experiments.planning import (
    PlannedRun,
    RunOptions,
    plan_features_run,
    plan_finetune_run,
)
from featbert.experiments.running import RUNS_DIR
from featbert.features.device import Device, find_device
from featbert.features.extraction import Progress, run_extraction
from featbert.features.extraction_plan import ExtractionPlan, plan_extraction
from featbert.features.source import EncoderSource, find_encoder


@dataclass(frozen=True)
class ExperimentPlan:
    """What an experiment will do, known before any work.

    Attributes:
        extraction: the store its features runs read; None without features runs.
        runs: in the order they will be trained; `finished` tells which are done.
    """

    experiment: Experiment
    corpus: Corpus
    source: EncoderSource
    device: Device
    extraction: ExtractionPlan | None
    runs: tuple[PlannedRun, ...]

    @property
    def missing(self) -> tuple[PlannedRun, ...]:
        """Runs that are not finished."""
        return tuple(run for run in self.runs if run.finished is None)


def plan_experiment(
    experiment: Experiment, *, cache_dir: str | Path = "cache", runs_dir: str | Path = RUNS_DIR
) -> ExperimentPlan:
    """Checks everything that can be checked and names every run; nothing is written.

    Raises:
        FeatbertError: the corpus, the encoder or a combination of options cannot be used.
    """
    corpus = load_corpus(experiment.data, **experiment.reading)
    source = find_encoder(experiment.model)
    device = find_device(experiment.device)
    extraction = None
    runs: list[PlannedRun] = []

    def options(approach: Approach, seed: int) -> RunOptions:
        return RunOptions(
            seed,
            experiment.settings(approach),
            Path(runs_dir),
            device,
            experiment.precision,
            experiment.name,
            tuple(experiment.vary),
            experiment.reading,
        )

    if experiment.features is not None:
        extraction = plan_extraction(
            corpus,
            source,
            cache_dir=cache_dir,
            context=experiment.context,
            pooling=experiment.pooling,
            precision=experiment.precision,
            dtype=experiment.store_dtype,
            device=device,
            reading=experiment.reading,
        )
        store = extraction.hit
        manifest = extraction.manifest if store is None else store.manifest
        runs += [
            plan_features_run(manifest, extraction.path, corpus, layers, options("features", seed))
            for layers in experiment.features.layers
            for seed in experiment.seeds
        ]
    if experiment.finetune is not None:
        runs += [
            plan_finetune_run(
                source,
                corpus,
                options("finetune", seed),
                context=experiment.context,
                pooling=experiment.pooling,
            )
            for seed in experiment.seeds
        ]
    return ExperimentPlan(experiment, corpus, source, device, extraction, tuple(runs))


def run_experiment(
    experiment: Experiment,
    *,
    cache_dir: str | Path = "cache",
    runs_dir: str | Path = RUNS_DIR,
    on_extraction: Progress | None = None,
    on_run: Callable[[PlannedRun, int, int], Listeners] | None = None,
) -> Comparison:
    """Extracts once, trains what is missing, and compares all runs of the experiment.

    Args:
        on_extraction: words done, words in all.
        on_run: called before each missing run with its number and their count; gives who
            listens to it.
    """
    plan = plan_experiment(experiment, cache_dir=cache_dir, runs_dir=runs_dir)
    runs = carry_out(plan, on_extraction=on_extraction, on_run=on_run)
    return compare_runs(runs, vary=experiment.vary)


def carry_out(
    plan: ExperimentPlan,
    *,
    on_extraction: Progress | None = None,
    on_run: Callable[[PlannedRun, int, int], Listeners] | None = None,
) -> list[Run]:
    """All runs of a plan, finished ones as they are."""
    missing = plan.missing
    store = None
    if plan.extraction is not None and any(r.approach == "features" for r in missing):
        store = plan.extraction.hit or run_extraction(
            plan.extraction, plan.corpus, plan.source, plan.device, on_progress=on_extraction
        )
    runs: list[Run] = []
    for planned in plan.runs:
        finished = planned.finished
        if finished is not None:
            runs.append(finished)
            continue
        listeners = None
        if on_run is not None:
            listeners = on_run(planned, missing.index(planned) + 1, len(missing))
        if store is not None and planned.approach == "features":
            runs.append(run_features(planned, store, plan.corpus, listeners))
        else:
            runs.append(run_finetune(planned, plan.source, plan.corpus, listeners))
    return runs

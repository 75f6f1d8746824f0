"""Carrying out an experiment: one extraction, its runs, and the comparison at the end.

What is finished is skipped, so that the same command goes on after an interruption.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from featbert.comparison import Comparison, Run, compare_runs
from featbert.data import Corpus, load_corpus
from featbert.experiments.file import Experiment
from featbert.experiments.planning import PlannedRun, plan_features_run, plan_finetune_run
from featbert.experiments.running import RUNS_DIR, Listeners, finetune, train
from featbert.features.device import Device, find_device
from featbert.features.extraction import Progress, extract
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
    shared = {"runs_dir": runs_dir, "device": device, "precision": experiment.precision}
    named = {"experiment": experiment.name, "vary": experiment.vary}
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
            plan_features_run(
                manifest,
                extraction.path,
                corpus,
                layers,
                seed=seed,
                settings=experiment.settings("features"),
                **shared,  # type: ignore[arg-type]
                **named,  # type: ignore[arg-type]
            )
            for layers in experiment.features.layers
            for seed in experiment.seeds
        ]
    if experiment.finetune is not None:
        runs += [
            plan_finetune_run(
                source,
                corpus,
                seed=seed,
                settings=experiment.settings("finetune"),
                context=experiment.context,
                pooling=experiment.pooling,
                **shared,  # type: ignore[arg-type]
                **named,  # type: ignore[arg-type]
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
    return compare_runs(
        carry_out(plan, runs_dir=runs_dir, on_extraction=on_extraction, on_run=on_run),
        vary=experiment.vary,
    )


def carry_out(
    plan: ExperimentPlan,
    *,
    runs_dir: str | Path,
    on_extraction: Progress | None = None,
    on_run: Callable[[PlannedRun, int, int], Listeners] | None = None,
) -> list[Run]:
    """All runs of a plan, finished ones as they are."""
    experiment, missing = plan.experiment, plan.missing
    store = None
    if plan.extraction is not None and any(r.approach == "features" for r in missing):
        store = plan.extraction.hit or extract(
            plan.corpus,
            plan.source,
            cache_dir=plan.extraction.path.parent,
            context=experiment.context,
            pooling=experiment.pooling,
            precision=experiment.precision,
            dtype=experiment.store_dtype,
            device=plan.device,
            reading=experiment.reading,
            on_progress=on_extraction,
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
        if planned.combination is not None:
            assert store is not None
            run = train(
                store,
                planned.combination.name,
                corpus=plan.corpus,
                seed=planned.seed,
                settings=experiment.settings("features"),
                runs_dir=runs_dir,
                device=plan.device,
                precision=experiment.precision,
                experiment=experiment.name,
                vary=experiment.vary,
                listeners=listeners,
            )
        else:
            run = finetune(
                plan.corpus,
                plan.source,
                seed=planned.seed,
                settings=experiment.settings("finetune"),
                context=experiment.context,
                pooling=experiment.pooling,
                runs_dir=runs_dir,
                device=plan.device,
                precision=experiment.precision,
                experiment=experiment.name,
                vary=experiment.vary,
                listeners=listeners,
            )
        runs.append(run)
    return runs

"""What an experiment will do, as far as it can be known before it is done.

Some runs follow from others: with a grid, the settings of a row follow from the runs that were
tried; with train+dev, the epochs follow from the run on train alone. So an experiment is planned
again whenever runs have been finished, until nothing is missing; each plan rests on what is
finished by then and on nothing else, which is also how an interrupted experiment goes on.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from featbert.encoders.device import find_device
from featbert.encoders.encoding import Encoding
from featbert.errors import InputError, nearest
from featbert.features.plan import ExtractionPlan, plan_extraction
from featbert.runs.arm import Arm
from featbert.runs.file import Experiment
from featbert.runs.identity import Approach
from featbert.runs.planning import (
    PlannedRun,
    RunOptions,
    plan_features_run,
    plan_finetune_run,
)
from featbert.runs.resources import Resources
from featbert.training.adapt import AdaptationPlan, plan_adaptation

RUNS_DIR = Path("experiments/runs")


@dataclass(frozen=True)
class Job:
    """One run of an experiment.

    Attributes:
        arm: says where its text is; with the model that the run is planned with.
        run: as it will be, or is.
        extraction: the store that it reads; None for fine-tuning.
    """

    arm: Arm
    run: PlannedRun
    extraction: ExtractionPlan | None

    @property
    def name(self) -> str:
        """The run's name."""
        return self.run.folder.name


@dataclass(frozen=True)
class Search:
    """A grid search on dev for one row.

    Attributes:
        approach, layers: of the row.
        arm_name: what tells its arm from the others of the experiment.
        arms: what is tried, in the file's order; what would be the same runs once.
        tried: the runs of each, one a seed.
        scores: mean dev F1 of each in [0, 1]; None where a run is missing.
        failed: which of them failed, so that nobody waits for their scores.
    """

    approach: Approach
    layers: str | None
    arm_name: str
    arms: tuple[Arm, ...]
    tried: tuple[tuple[Job, ...], ...]
    scores: tuple[float | None, ...]
    failed: tuple[bool, ...]

    @property
    def chosen(self) -> int | None:
        """The place with the best mean dev F1, the first of equals; None until all are there.

        Where some failed the best of the others is taken.
        """
        waiting = any(
            score is None and not failed
            for score, failed in zip(self.scores, self.failed, strict=True)
        )
        known = [score for score in self.scores if score is not None]
        return None if waiting or not known else self.scores.index(max(known))


@dataclass(frozen=True)
class Adaptation:
    """An encoder that is trained as a language model before the runs of its arms."""

    arm: Arm
    plan: AdaptationPlan


@dataclass(frozen=True)
class ExperimentPlan:
    """What is known now.

    Attributes:
        adaptations: encoders to be trained first; their arms' runs are not known yet.
        adapted: folders of the adapted encoders that are there.
        jobs: all runs known now, each once, in the order they will be trained.
        rows: those that the comparison shows.
        searches: grid searches, finished or not.
    """

    experiment: Experiment
    adaptations: tuple[Adaptation, ...]
    adapted: tuple[Path, ...]
    jobs: tuple[Job, ...]
    rows: tuple[Job, ...]
    searches: tuple[Search, ...]

    @property
    def missing(self) -> tuple[Job, ...]:
        """Runs that are not finished."""
        return tuple(job for job in self.jobs if job.run.finished is None)

    @property
    def open_searches(self) -> tuple[Search, ...]:
        """Searches whose rows are not known yet."""
        return tuple(search for search in self.searches if search.chosen is None)


def plan_experiment(
    experiment: Experiment,
    *,
    cache_dir: str | Path = "cache",
    runs_dir: str | Path = RUNS_DIR,
    resources: Resources | None = None,
    failed: Collection[str] = (),
) -> ExperimentPlan:
    """Checks everything that can be checked and names every run known now; nothing is written.

    Args:
        failed: names of runs that failed, so that searches go on without them.

    Raises:
        FeatbertError: a corpus, an encoder or a combination of options cannot be used.
    """
    resources = resources or Resources()
    _check_labels(experiment, resources)
    planner = _Planner(experiment, Path(cache_dir), Path(runs_dir), resources, failed)
    for number in range(len(experiment.arms)):
        planner.add_arm(number)
    return ExperimentPlan(
        experiment,
        tuple(planner.adaptations.values()),
        tuple(planner.adapted),
        tuple(planner.jobs.values()),
        tuple(planner.rows.values()),
        tuple(planner.searches),
    )


class _Planner:
    def __init__(
        self,
        experiment: Experiment,
        cache_dir: Path,
        runs_dir: Path,
        resources: Resources,
        failed: Collection[str],
    ) -> None:
        self.failed = failed
        self.experiment = experiment
        self.cache_dir = cache_dir
        self.runs_dir = runs_dir
        self.resources = resources
        self.adaptations: dict[Path, Adaptation] = {}
        self.adapted: dict[Path, None] = {}  # as a set that keeps its order
        self.jobs: dict[str, Job] = {}
        self.rows: dict[str, Job] = {}
        self.searches: list[Search] = []

    def add_arm(self, number: int) -> None:
        arm = self._adapted(self.experiment.arms[number])
        if arm is None:
            self._check_unadapted(number)
            return
        if arm.features is not None:
            num_layers = self._extraction(arm).manifest.num_layers
            for layers in arm.features.specs(num_layers):
                self._add_row(number, arm, "features", layers)
        if arm.finetune is not None:
            self._add_row(number, arm, "finetune", None)

    def _adapted(self, arm: Arm) -> Arm | None:
        """The arm with the encoder that it names; None where that is still to be trained."""
        if arm.adapt is None:
            return arm
        plan = plan_adaptation(
            self.resources.corpus(arm),
            self.resources.encoder(arm.model),
            settings=arm.adapt.settings(),
            models_dir=self.cache_dir / "models",
            seed=arm.adapt.seed,
            device=arm.device,
            precision=arm.precision,
        )
        if plan.finished is None:
            self.adaptations.setdefault(plan.folder, Adaptation(arm, plan))
            return None
        self.adapted[plan.folder] = None
        return arm.model_copy(update={"model": str(plan.folder), "adapt": None})

    def _check_unadapted(self, number: int) -> None:
        """Checks an arm whose encoder is still to be trained, on the one that it begins from."""
        before = self.experiment.arms[number].model_copy(update={"adapt": None})
        alone = dataclasses.replace(self.experiment, arms=(before,), grids={}, arm_names=("",))
        _Planner(alone, self.cache_dir, self.runs_dir, self.resources, ()).add_arm(0)

    def _add_row(self, number: int, arm: Arm, approach: Approach, layers: str | None) -> None:
        """The runs of one row, and before them those that it follows from."""
        candidates = self.experiment.grids.get((number, approach), ())
        chosen, tried = arm, 1
        if candidates:
            models = {"model": arm.model, "adapt": None}
            candidates = tuple(a.model_copy(update=models) for a in candidates)
            search = self._search(self.experiment.arm_names[number], candidates, approach, layers)
            if search.chosen is None:
                return
            chosen = search.arms[search.chosen]
            tried = len(search.arms)
        for seed in arm.seeds:
            job = self._add(chosen, approach, layers, seed, tried=tried)
            self.rows.setdefault(job.name, job)

    def _search(
        self, arm_name: str, arms: tuple[Arm, ...], approach: Approach, layers: str | None
    ) -> Search:
        """The search of one row; one that tries the same runs as another is that other."""
        # Dev decides, so what is tried never learns from it.
        alike = {"train_on": "train"}
        seeds = self.experiment.grid_seeds
        distinct = {
            tuple(
                self._job(arm.model_copy(update=alike), approach, layers, seed, 1).name
                for seed in seeds
            ): arm
            for arm in reversed(arms)  # the first of equals stays
        }
        names = list(reversed(distinct))
        same = [s for s in self.searches if [tuple(j.name for j in t) for t in s.tried] == names]
        if same:
            return same[0]
        kept = tuple(distinct[name] for name in names)
        tried = [
            tuple(
                self._add(arm.model_copy(update=alike), approach, layers, seed, tried=len(kept))
                for seed in seeds
            )
            for arm in kept
        ]
        search = Search(
            approach,
            layers,
            arm_name,
            kept,
            tuple(tried),
            tuple(_mean_dev(jobs) for jobs in tried),
            tuple(any(job.name in self.failed for job in jobs) for jobs in tried),
        )
        self.searches.append(search)
        return search

    def _add(
        self, arm: Arm, approach: Approach, layers: str | None, seed: int, *, tried: int
    ) -> Job:
        job = self._job(arm, approach, layers, seed, tried)
        for run in _bases_first(job.run):
            self.jobs.setdefault(run.folder.name, Job(arm, run, job.extraction))
        return self.jobs[job.name]

    def _job(self, arm: Arm, approach: Approach, layers: str | None, seed: int, tried: int) -> Job:
        source = self.resources.encoder(arm.model)
        corpus = self.resources.corpus(arm)
        options = RunOptions(
            seed,
            arm.settings(approach, source.num_layers or 0),
            self.runs_dir,
            find_device(arm.device),
            arm.precision,
            self.experiment.name,
            self.experiment.vary,
            arm.reading,
            arm.tag_scheme,
            tried,
        )
        if layers is None:
            run = plan_finetune_run(
                source,
                corpus,
                options,
                context=arm.context,
                casing=arm.casing,
                pooling=arm.pooling,
            )
            return Job(arm, run, None)
        extraction = self._extraction(arm)
        manifest = extraction.manifest if extraction.hit is None else extraction.hit.manifest
        return Job(
            arm, plan_features_run(manifest, extraction.path, corpus, layers, options), extraction
        )

    def _extraction(self, arm: Arm) -> ExtractionPlan:
        return plan_extraction(
            self.resources.corpus(arm),
            self.resources.encoder(arm.model),
            Encoding(
                context=arm.context,
                casing=arm.casing,
                pooling=arm.pooling,
                precision=arm.precision,
                dtype=arm.store_dtype,
                device=arm.device,
            ),
            cache_dir=self.cache_dir,
            reading=arm.reading,
        )


def _check_labels(experiment: Experiment, resources: Resources) -> None:
    """Raises InputError for a type in [labels] that no corpus has."""
    types = {t for arm in experiment.arms for t in resources.corpus(arm).entity_types}
    for name in experiment.labels:
        if name not in types:
            raise InputError(
                f"labels: an entity type of the corpora expected, found {name!r}"
                f"{nearest(name, types)}; they have {', '.join(sorted(types))}"
            )


def _bases_first(run: PlannedRun) -> Iterator[PlannedRun]:
    if run.base is not None:
        yield from _bases_first(run.base)
    yield run


def _mean_dev(jobs: tuple[Job, ...]) -> float | None:
    """Mean dev F1 of runs; None where one is missing."""
    runs = [job.run.finished for job in jobs]
    scores = [run.record.score("dev") or 0.0 for run in runs if run is not None]
    return statistics.fmean(scores) if len(scores) == len(runs) else None

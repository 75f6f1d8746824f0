"""What an experiment will do, as far as it is known.

With a grid, the settings of a row follow from the runs that were tried; with train+dev, the epochs
follow from the run on train alone. So a plan depends on what is finished and on nothing else, and
an experiment is planned again whenever runs have finished, until none is missing.
"""

import dataclasses
import functools
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from featbert.config import Adapt
from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.encoders.device import find_device
from featbert.encoders.source import EncoderSource, find_encoder
from featbert.encoders.tunings import get_tuning
from featbert.errors import check_known
from featbert.features.plan import ExtractionPlan, plan_extraction
from featbert.features.store import FeatureStore
from featbert.runs.experiment_file import Configuration, Experiment, Grid
from featbert.runs.planned import PlannedRun, RunOptions, plan_stored_run, plan_tuned_run
from featbert.runs.record import ExperimentRecord, SearchRecord, TriedSettings
from featbert.tasks.base import get_task
from featbert.training.adapt import AdaptationPlan, plan_adaptation

RUNS_DIR = Path("experiments/runs")


class Resources:
    """Corpora, encoders and stores, each read once however many runs need it."""

    def __init__(self) -> None:
        self.encoder: Callable[[str], EncoderSource] = functools.cache(find_encoder)
        self.store: Callable[[Path], FeatureStore] = functools.cache(FeatureStore)
        self._corpus: Callable[..., Corpus] = functools.cache(load_corpus)

    def corpus(self, configuration: Configuration) -> Corpus:
        targets = get_task(configuration.task).targets
        return self._corpus(configuration.data, targets=targets, **configuration.reading)


@dataclass(frozen=True)
class Job:
    """One run of an experiment, and the store that it reads (None where the encoder is tuned)."""

    configuration: Configuration
    run: PlannedRun
    extraction: ExtractionPlan | None

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def is_ready(self) -> bool:
        """Whether the run that it builds on is finished."""
        return self.run.base is None or self.run.base.finished is not None


@dataclass
class ExperimentPlan:
    """The runs that are known now, by name, in the order they will be trained.

    `adaptations` are encoders to be trained as language models first, by folder. Searches end
    without the runs whose names are in `failed`.
    """

    experiment: Experiment
    cache_dir: Path
    runs_dir: Path
    resources: Resources
    failed: Collection[str] = ()
    adaptations: dict[Path, AdaptationPlan] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    rows: dict[str, Job] = field(default_factory=dict)
    searches: list[SearchRecord] = field(default_factory=list)

    @property
    def missing(self) -> list[Job]:
        """Runs that are not finished."""
        return [job for job in self.jobs.values() if job.run.finished is None]

    def record(self, failures: Mapping[str, str]) -> ExperimentRecord:
        """The record of the experiment as it is now."""
        kept = {"name", "description", "published", "show", "transfer", "labels"}
        return ExperimentRecord(
            vary=list(self.experiment.vary),
            rows=[name for name, job in self.rows.items() if job.run.finished is not None],
            missing=[job.name for job in self.missing],
            searches=self.searches,
            failures=dict(failures),
            **self.experiment.keys.model_dump(include=kept),
        )

    def add(self, configuration: Configuration, name: str) -> None:
        """Adds the runs of a configuration, or the adaptation that its encoder needs before."""
        if (asked := configuration.adapt) is not None:
            plan = plan_adaptation(
                self.resources.corpus(configuration),
                self.resources.encoder(configuration.model),
                settings=Adapt(**asked.model_dump(exclude={"seed"})),
                models_dir=self.cache_dir / "models",
                seed=asked.seed,
                device=configuration.device,
                precision=configuration.precision,
            )
            if plan.finished is None:  # its runs are checked on the encoder that it begins from
                self.adaptations.setdefault(plan.folder, plan)
                before = configuration.model_copy(update={"adapt": None, "grid": Grid()})
                where = (self.cache_dir, self.runs_dir, self.resources)
                ExperimentPlan(self.experiment, *where).add(before, name)
                return
            adapted = {"model": str(plan.folder), "adapt": None}
            configuration = configuration.model_copy(update=adapted)
        if configuration.features is not None:
            num_layers = self._extraction(configuration).manifest.num_layers
            for layers in configuration.features.specs(num_layers):
                self._add_row(name, configuration, "features", layers)
        if configuration.finetune is not None:
            self._add_row(name, configuration, "finetune", None)

    def _add_row(
        self, name: str, configuration: Configuration, table: str, layers: str | None
    ) -> None:
        """The runs of one row, and before them those that it follows from."""
        chosen, tried = configuration, 1
        if points := configuration.tries(table):
            search = self._search(name, points, table, layers)
            if search.chosen is None:
                return
            own = {"train_on": configuration.train_on, "seeds": configuration.seeds}
            best = self.jobs[search.tried[search.chosen].runs[0]]
            chosen, tried = best.configuration.model_copy(update=own), len(search.tried)
        for seed in chosen.seeds:
            job = self._add_job(chosen, table, layers, seed, tried)
            self.rows.setdefault(job.name, job)

    def _search(
        self, name: str, points: Sequence[Configuration], table: str, layers: str | None
    ) -> SearchRecord:
        """The search of one row; one that tries the same runs as another is that other."""
        seeds = points[0].grid.seeds
        distinct: dict[tuple[str, ...], Configuration] = {}
        for point in points:
            # Dev decides, so what is tried never learns from it.
            alone = point.model_copy(update={"train_on": "train"})
            runs = (self._job(alone, table, layers, seed, 1) for seed in seeds)
            distinct.setdefault(tuple(job.name for job in runs), alone)
        for search in self.searches:
            if [tuple(point.runs) for point in search.tried] == list(distinct):
                return search
        tried = [
            [self._add_job(p, table, layers, seed, len(distinct)) for seed in seeds]
            for p in distinct.values()
        ]
        settings = [jobs[0].run.options.settings.model_dump() for jobs in tried]
        varied = [name for name in settings[0] if len({repr(s[name]) for s in settings}) > 1]
        found = [
            TriedSettings({n: s[n] for n in varied}, [job.name for job in jobs], _mean_dev(jobs))
            for s, jobs in zip(settings, tried, strict=True)
        ]
        scores = [point.dev for point in found]
        known = [score for score in scores if score is not None]
        # The first of the best, once no more scores can come.
        waiting = any(p.dev is None and not {*p.runs} & {*self.failed} for p in found)
        chosen = None if waiting or not known else scores.index(max(known))
        signature, tuning = tried[0][0].run.signature, tried[0][0].run.options.settings.tuning
        self.searches.append(SearchRecord(tuning, layers, signature.corpus, name, found, chosen))
        return self.searches[-1]

    def _add_job(
        self, configuration: Configuration, table: str, layers: str | None, seed: int, tried: int
    ) -> Job:
        """The job, and before it the run that it builds on."""
        job = self._job(configuration, table, layers, seed, tried)
        if job.run.base is not None:
            base = dataclasses.replace(job, run=job.run.base)
            self.jobs.setdefault(base.name, base)
        return self.jobs.setdefault(job.name, job)

    def _job(
        self, configuration: Configuration, table: str, layers: str | None, seed: int, tried: int
    ) -> Job:
        source = self.resources.encoder(configuration.model)
        corpus = self.resources.corpus(configuration)
        options = RunOptions(
            seed,
            configuration.settings(table, source.num_layers or 0),
            self.runs_dir,
            find_device(configuration.device),
            experiment=self.experiment.name,
            vary=self.experiment.vary,
            reading=configuration.reading,
            configurations_tried=tried,
            **configuration.model_dump(include={"precision", "task", "tag_scheme"}),
        )
        if not get_tuning(options.settings.tuning).frozen:
            run = plan_tuned_run(source, corpus, options, configuration.for_encoder())
            return Job(configuration, run, None)
        extraction = self._extraction(configuration)
        manifest = extraction.manifest if extraction.hit is None else extraction.hit.manifest
        run = plan_stored_run(manifest, extraction.path, corpus, str(layers), options)
        return Job(configuration, run, extraction)

    def _extraction(self, configuration: Configuration) -> ExtractionPlan:
        where = {"precision": configuration.precision, "device": configuration.device}
        return plan_extraction(
            self.resources.corpus(configuration),
            self.resources.encoder(configuration.model),
            configuration.for_encoder(**where),
            cache_dir=self.cache_dir,
            reading=configuration.reading,
        )


def plan_experiment(
    experiment: Experiment,
    cache_dir: Path,
    runs_dir: Path,
    resources: Resources,
    failed: Collection[str] = (),
) -> ExperimentPlan:
    """Checks everything that can be checked and names every run known now; nothing is written."""
    if labels := experiment.keys.labels:
        texts = ((get_task(c.task), resources.corpus(c)) for c in experiment.configurations)
        known = {name for task, corpus in texts for name in task.classes_of(corpus)}
        check_known("class in labels", labels, sorted(known))
    plan = ExperimentPlan(experiment, cache_dir, runs_dir, resources, failed)
    for configuration, name in zip(experiment.configurations, experiment.names, strict=True):
        plan.add(configuration, name)
    return plan


def _mean_dev(jobs: Sequence[Job]) -> float | None:
    """None where a run is missing."""
    runs = [job.run.finished for job in jobs]
    scores = [run.record.score("dev") for run in runs if run is not None]
    known = [score for score in scores if score is not None]
    return statistics.fmean(known) if len(known) == len(runs) else None

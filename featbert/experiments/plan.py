"""The runs of an experiment, as far as they are known.

With a search, the settings of a row follow from the runs that were tried. With train+dev, the
epochs follow from the run on train. So a plan depends on finished runs and, with TPE, on earlier
trials. An experiment is planned again whenever runs have finished, until no run is missing.
"""

import contextlib
import dataclasses
import functools
import itertools
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from featbert.adaptation.plan import AdaptationPlan, plan_adaptation
from featbert.config import Adapt, Compute, Data, Encoding
from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.encoders.device import find_device, use_threads
from featbert.encoders.layers import parse_layers
from featbert.encoders.source import EncoderSource, find_encoder
from featbert.encoders.tunings import get_tuning
from featbert.errors import InputError, MissingError, check_known
from featbert.experiments.file import (
    MOST_COMBINATIONS,
    TABLES,
    Configuration,
    Experiment,
    Grid,
    Search,
    ends_of,
    n_points,
    with_kept_vectors,
)
from featbert.experiments.search import open_trials
from featbert.features.plan import ExtractionPlan, plan_extraction
from featbert.features.store import FeatureStore
from featbert.io import json_hash
from featbert.runs.planned import (
    PlannedRun,
    RunOptions,
    check_trainable,
    plan_stored_run,
    plan_tuned_run,
)
from featbert.runs.record import (
    RECORD_NAME,
    ExperimentRecord,
    RunRecord,
    SearchRecord,
    TriedSettings,
    experiment_path,
    read_experiment_record,
    read_record,
    search_path,
)
from featbert.runs.run import Run
from featbert.tasks.base import get_task
from featbert.text import counted

# Finished runs that a search needs before it prunes others, as in Optuna's MedianPruner.
FEWEST = 5
# Settings in succession that were all tried before, after which a sampler is not asked again.
MOST_REPEATED = 100
# A row of a configuration: its table, and the layers that it reads from a store.
RowOf = tuple[str, str | None]


class Resources:
    """Corpora, encoders and stores, each read once in a process however many runs need it."""

    def __init__(self) -> None:
        self.encoder: Callable[[str], EncoderSource] = functools.cache(find_encoder)
        self.store: Callable[[Path], FeatureStore] = functools.cache(FeatureStore)
        self._corpus: Callable[..., Corpus] = functools.cache(load_corpus)

    def __reduce__(self) -> Any:
        return Resources, ()

    def corpus(self, configuration: Configuration) -> Corpus:
        targets = get_task(configuration.task).targets
        return self._corpus(configuration.data, configuration.reading, targets=targets)


@dataclass(frozen=True)
class Job:
    """One run of an experiment, and the store that it reads (None if the encoder is tuned)."""

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
    """The runs that are known now, by name, in the order of training.

    Attributes:
        adaptations: encoders to be trained as language models first, by folder.
        failures: why a run could not be trained, by name. Searches end without it.
        at_a_time: number of tries that are planned at a time if they depend on earlier ones.
        keep: whether tries are written to the runs directory.
    """

    experiment: Experiment
    cache_dir: Path
    runs_dir: Path
    resources: Resources = field(default_factory=Resources)
    failures: Mapping[str, str] = field(default_factory=dict)
    at_a_time: int = 1
    keep: bool = False
    adaptations: dict[Path, AdaptationPlan] = field(default_factory=dict, init=False)
    jobs: dict[str, Job] = field(default_factory=dict, init=False)
    rows: dict[str, Job] = field(default_factory=dict, init=False)
    search_records: dict[str, SearchRecord] = field(default_factory=dict, init=False)
    extractions: dict[str, ExtractionPlan] = field(default_factory=dict, init=False)

    def renewed(self, **changes: Any) -> "ExperimentPlan":
        """The plan, with changes, for the runs that are finished now.

        InputError for all that can be checked. Only tries of searches are written, with `keep`.
        """
        plan = dataclasses.replace(self, **changes)
        arms = with_kept_vectors(plan.experiment.configurations)
        labels = plan.experiment.keys.labels
        if labels:
            texts = ((get_task(c.task), plan.resources.corpus(c)) for c in arms)
            classes = {name for task, corpus in texts for name in task.classes_of(corpus)}
            check_known("class in labels", labels, sorted(classes))
        for configuration, differing in zip(arms, plan.experiment.differing, strict=True):
            with naming(differing):
                plan.add(configuration, differing)
        plan.check_record()
        return plan

    def check_record(self) -> None:
        """InputError if the record has searches on another text, task or encoder.

        They would be lost, and their trials would be rows.
        """
        planned = [_compared_in(job.run) for job in self.jobs.values()]
        path = experiment_path(self.runs_dir, self.experiment.name)
        for run in _searched_runs(self.runs_dir, self.experiment.name):
            if _compared_in(run) not in planned:
                place = f"{run.signature.corpus} with {run.signature.model}"
                raise InputError(
                    f"{path} has a search on another text or encoder ({place}); "
                    "give this experiment another name, or remove the file"
                )

    @property
    def later_runs(self) -> str:
        """The end of a line: the causes of further runs, or "" if all runs are known."""
        searches = sum(search.chosen is None and search.floor is None for search in self.searches)
        waiting = (len(self.adaptations), "encoder", "encoders"), (searches, "search", "searches")
        causes = " and ".join(counted(*cause) for cause in waiting if cause[0])
        return f"; more runs follow from {causes}" if causes else ""

    @property
    def searches(self) -> list[SearchRecord]:
        return list(self.search_records.values())

    @property
    def runs(self) -> list[Run]:
        """The finished runs of the rows."""
        return [run for job in self.rows.values() if (run := job.run.finished) is not None]

    @property
    def missing(self) -> list[Job]:
        """Runs that are not finished, nor ended by a search."""
        return [j for j in self.jobs.values() if j.run.finished is None and j.run.pruned is None]

    @property
    def missing_names(self) -> list[str]:
        """Names of missing runs, except runs on train that only give rows their epochs."""
        bases = {job.run.base.name for job in self.jobs.values() if job.run.base is not None}
        return [job.name for job in self.missing if job.name not in bases - self.rows.keys()]

    @property
    def record(self) -> ExperimentRecord:
        """The record of the experiment as it is now."""
        keys = {"name", "description", "published", "show", "transfer", "labels"}
        return ExperimentRecord(
            vary=list(self.experiment.vary),
            rows=[run.name for run in self.runs],
            missing=self.missing_names,
            searches=self.searches,
            failures=dict(self.failures),
            **self.experiment.keys.model_dump(include=keys),
        )

    def add(self, configuration: Configuration, differing: Mapping[str, Any]) -> None:
        """Adds the runs of a configuration, or the adaptation that its encoder needs before.

        `differing` are the keys that tell it from others.
        """
        use_threads(configuration.threads)
        if (table := configuration.adapt) is not None:
            plan = plan_adaptation(
                self.resources.corpus(configuration),
                self.resources.encoder(configuration.model),
                Adapt(**table.model_dump(exclude={"seed"})),
                compute=configuration,
                seed=table.seed,
                models_dir=self.cache_dir / "models",
            )
            if plan.finished is None:  # checks its runs with the encoder before adaptation
                self.adaptations.setdefault(plan.folder, plan)
                unsearched = {"adapt": None, "grid": Grid(), "search": Search()}
                dataclasses.replace(self).add(
                    configuration.model_copy(update=unsearched), differing
                )
                return
            adapted = {"model": str(plan.folder), "adapt": None}
            configuration = configuration.model_copy(update=adapted)
        for row in self.rows_of(configuration):
            self._add_row(differing, configuration, row)

    def rows_of(self, configuration: Configuration) -> list[RowOf]:
        """The rows of a configuration."""
        rows: list[RowOf] = []
        if (table := configuration.features) is not None:
            specs = table.specs(self.num_layers(configuration))
            rows += [("features", layers) for layers in specs]
        return rows if configuration.finetune is None else [*rows, ("finetune", None)]

    def num_layers(self, configuration: Configuration) -> int:
        """Layers of the encoder. 0 if its configuration does not say it."""
        return self.resources.encoder(configuration.model).num_layers or 0

    def _add_row(
        self, differing: Mapping[str, Any], configuration: Configuration, row: RowOf
    ) -> None:
        """The runs of one row, and before them the runs of its search."""
        chosen, n_tried, record = configuration, 1, None
        search = configuration.searched(row[0])
        settings_read = {"tuning", *configuration.settings(row[0]).effective(weighted=True)}
        # A solver reads no learning rate.
        if search is not None and not settings_read.isdisjoint(search.ranges(row[0])):
            record = self._search(_name(differing, row), configuration, search, row)
            if record.chosen is None:
                return
            best = self.jobs[record.tried[record.chosen].runs[0]].configuration
            seeds = {"train_on": configuration.train_on, "seeds": configuration.seeds}
            chosen, n_tried = best.model_copy(update=seeds), len(record.tried)
        for seed in chosen.settings(row[0]).seeds_to_train(chosen.seeds):
            job = self._job(chosen, row, seed, configurations_tried=n_tried)
            if job.run.base is not None:
                self._add_job(dataclasses.replace(job, run=job.run.base))
            job = self._add_job(job)
            self.rows.setdefault(job.name, job)
            if record is not None and job.name not in record.rows:
                record.rows.append(job.name)

    def _add_job(self, job: Job) -> Job:
        """Adds a run, or returns its job. Only a run of one study and of no row may be pruned."""
        known_job = self.jobs.setdefault(job.name, job)
        if job.run.options.pruned_by != known_job.run.options.pruned_by:
            options = dataclasses.replace(known_job.run.options, pruned_by=None, prune_below=())
            run = dataclasses.replace(known_job.run, options=options)
            known_job = self.jobs[job.name] = dataclasses.replace(known_job, run=run)
        return known_job

    def _search(
        self, name: str, configuration: Configuration, search: Search, row: RowOf
    ) -> SearchRecord:
        """The search of one row. Rows that differ in nothing that it depends on share it."""
        ranges = search.ranges(row[0])

        def jobs_at(settings: Mapping[str, Any], pruned_by: str | None = None) -> list[Job]:
            at = configuration.at(row[0], settings)
            seeds = at.settings(row[0]).seeds_to_train(search.seeds)
            return [self._job(at, row, seed, pruned_by=pruned_by) for seed in seeds]

        first = jobs_at({name: ends_of(values)[0] for name, values in ranges.items()})
        signature, settings = first[0].run.signature, first[0].run.options.settings
        design = search.model_dump(include={"sampler", "sampler_seed", "pruning"})
        design["ranges"] = ranges
        # A given value may equal the default of the first settings and of no others.
        given_values = getattr(configuration, row[0]).model_dump(
            exclude_unset=True, exclude={"layers", *ranges}
        )
        names = [job.name for job in first]
        study = json_hash([design, given_values, settings.model_dump(), names])[:8]
        key = json_hash([study, search.trials, search.seconds, search.operations])
        if key in self.search_records:
            return self.search_records[key]
        study_name = "--".join([*first[0].name.split("--")[:-2], study])
        pruned_by = study if search.pruning else None
        jobs_of_study = functools.partial(jobs_at, pruned_by=pruned_by)
        jobs, tries = self._tries(study_name, search, ranges, jobs_of_study)
        prune_below = _medians([job.run.finished for job in jobs]) if search.pruning else ()
        n_tried = len(tries)
        if search.is_sized and not search.is_planned:
            n_tried = int(min(search.trials or math.inf, n_points(ranges)))
        for job in jobs:
            options = dataclasses.replace(
                job.run.options, configurations_tried=n_tried, prune_below=prune_below
            )
            run = dataclasses.replace(job.run, options=options)
            self._add_job(dataclasses.replace(job, run=run))
        scores = [t.dev for t in tries]
        best = max((score for score in scores if score is not None), default=None)
        # The first of the best, once no more scores can come.
        waits = best is None or any(t.state == "waiting" for t in tries)
        chosen = None if waits else scores.index(best)
        of_row = (settings.tuning, row[1], signature.corpus, name, search.sampler)
        floor = None if chosen is None else self._floor(tries[chosen])
        self.search_records[key] = SearchRecord(
            *of_row, tries, chosen if floor is None else None, rows=[], floor=floor
        )
        return self.search_records[key]

    def _floor(self, best: TriedSettings) -> float | None:
        """The score without skill on dev if no run of the best try is clearly better."""
        runs = [run for name in best.runs if (run := self.jobs[name].run.finished) is not None]
        scores = [run.record.scores["dev"] for run in runs]
        return None if any(s.exceeds_floor for s in scores) else scores[0].floor or 0.0

    def _tries(
        self,
        study: str,
        search: Search,
        ranges: Mapping[str, Any],
        jobs_at: Callable[[Mapping[str, Any]], list[Job]],
    ) -> tuple[list[Job], list[TriedSettings]]:
        """The runs and settings of the trials of a study, as far as they are known."""
        # If later tries depend on earlier ones, only tries that can run now are added.
        most_waiting = MOST_COMBINATIONS if search.is_planned else self.at_a_time
        most_repeated = math.inf if search.sampler == "grid" else MOST_REPEATED
        n_repeated = 0
        jobs: list[Job] = []
        tries: list[TriedSettings] = []
        journal = search_path(self.runs_dir, self.experiment.name)
        with open_trials(journal, study, search, ranges, keep=self.keep) as trials:
            for number in itertools.count():
                n_waiting = sum(settings.state == "waiting" for settings in tries)
                if search.is_spent(tries) or n_waiting >= most_waiting:
                    break
                if len(tries) == n_points(ranges) or n_repeated == most_repeated:
                    break
                if (point := trials.settings(number)) is None:
                    break
                jobs_of_point = jobs_at(point)
                settings = self._tried(jobs_of_point, ranges)
                if settings.state in ("finished", "pruned"):
                    trials.tell(number, settings.dev)
                # Settings that make no difference, or are drawn again, are tried once.
                if any(settings.runs == t.runs for t in tries):
                    n_repeated += 1
                    continue
                n_repeated = 0
                jobs += jobs_of_point
                tries.append(settings)
        return jobs, tries

    def _tried(self, jobs: Sequence[Job], ranges: Mapping[str, Any]) -> TriedSettings:
        """The scores and costs of one try, given its runs, one per seed."""
        run, settings = jobs[0].run, jobs[0].run.options.settings
        effective = {"tuning", *settings.effective(weighted=run.is_weighted)}
        varied = [n for n, of in ranges.items() if n in effective and len(ends_of(of)) > 1]
        names = [job.name for job in jobs]
        records = [done.record for job in jobs if (done := job.run.finished) is not None]
        pruned = [end for job in jobs if (end := job.run.pruned) is not None]
        spent = [(r.cost.training_flops, r.cost.training_seconds) for r in records]
        spent += [(end.operations, end.seconds) for end in pruned]
        state: Literal["finished", "pruned", "failed", "waiting"] = "waiting"
        if len(records) == len(jobs):
            state = "finished"
        elif pruned and len(spent) == len(jobs):
            state = "pruned"
        elif self.failures.keys() & {*names}:
            state = "failed"
        is_paid = len(spent) == len(jobs)
        return TriedSettings(
            settings={name: getattr(settings, name) for name in varied},
            runs=names,
            dev=_mean(records, "dev") if state == "finished" else None,
            test=_mean(records, "test") if state == "finished" else None,
            state=state,
            operations=math.fsum(o for o, _ in spent) if is_paid else None,
            seconds=math.fsum(s for _, s in spent) if is_paid else None,
        )

    def _job(self, configuration: Configuration, row: RowOf, seed: int, **further: Any) -> Job:
        """One run. `further` are options that the file does not have."""
        source, (table, layers) = self.resources.encoder(configuration.model), row
        corpus = self.resources.corpus(configuration)
        options = RunOptions(
            seed,
            configuration.settings(table, source.num_layers or 0, source.hidden_size or 0),
            self.runs_dir,
            find_device(configuration.device),
            experiment=self.experiment.name,
            vary=self.experiment.vary,
            **configuration.model_dump(include={"precision", "task", "tag_scheme"}),
            **further,
        )
        check_trainable(corpus, options.settings)
        if not get_tuning(options.settings.tuning).frozen:
            run = plan_tuned_run(source, corpus, options, configuration.for_encoder())
            return Job(configuration, run, None)
        extraction = self._extraction(configuration)
        manifest = (extraction.finished or extraction).manifest
        combination = parse_layers(str(layers), manifest.num_layers)
        run = plan_stored_run(manifest, extraction.path, corpus, combination, options)
        return Job(configuration, run, extraction)

    def _extraction(self, configuration: Configuration) -> ExtractionPlan:
        """The extraction of a text and encoding, which is planned once for all rows."""
        fields = {*Data.model_fields, *Encoding.model_fields, *Compute.model_fields}
        key = repr(configuration.model_dump(include=fields))
        if key not in self.extractions:
            self.extractions[key] = plan_extraction(
                self.resources.corpus(configuration),
                self.resources.encoder(configuration.model),
                configuration.for_encoder(**configuration.where),
                cache_dir=self.cache_dir,
            )
        return self.extractions[key]


@contextlib.contextmanager
def naming(differing: Mapping[str, Any]) -> Iterator[None]:
    """Names corpus and encoder, if there are several, in an InputError: `corpus=en: ...`."""
    try:
        yield
    except InputError as error:
        names = [f"{key}={differing[key]}" for key in ("corpus", "model") if key in differing]
        if not names:
            raise
        raise type(error)(f"{', '.join(names)}: {error}") from None


def _searched_runs(runs_dir: Path, experiment: str) -> Iterator[RunRecord]:
    """A finished run of each search in an experiment's record, if there are both."""
    with contextlib.suppress(MissingError, InputError):  # a damaged record is replaced
        for search in read_experiment_record(runs_dir, experiment).searches:
            folders = (runs_dir / name for name in search.trials)
            finished = (folder for folder in folders if (folder / RECORD_NAME).exists())
            yield from map(read_record, itertools.islice(finished, 1))


def _compared_in(run: RunRecord | PlannedRun) -> tuple[Any, ...]:
    """The text, task and encoder of a run."""
    signature = run.signature
    return signature.splits, run.task, signature.encoder_weights, signature.encoder_files


def _mean(records: Sequence[RunRecord], split: str) -> float | None:
    """The mean score, or None if a score is unknown."""
    scores = [score for record in records if (score := record.score(split)) is not None]
    return statistics.fmean(scores) if len(scores) == len(records) else None


def _name(differing: Mapping[str, Any], row: RowOf) -> str:
    """`corpus=polarity, shots=16`: a configuration, for one of its rows.

    Layers and tuning are left out, as they name the row, and so are folders of this machine.
    """
    shown = {}
    for key, value in differing.items():
        table, _, name = key.rpartition(".")
        if name not in ("layers", "tuning") and table not in {*TABLES} - {row[0]}:
            is_path = isinstance(value, str) and Path(value).is_absolute()
            shown[name] = Path(value).name if is_path else value
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def _medians(runs: Sequence[Run | None]) -> tuple[float, ...]:
    """The median dev score of finished runs after each epoch, () before `FEWEST` are finished."""
    curves = [[row.dev_score or 0.0 for row in run.record.history] for run in runs if run]
    if len(curves) < FEWEST:
        return ()
    epochs = range(max(map(len, curves)))
    return tuple(statistics.median(c[n] for c in curves if len(c) > n) for n in epochs)

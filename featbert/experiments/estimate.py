"""Expected time and disk of planned runs here, from similar finished runs or short ones.

Runs are of one kind if they make the same operations per word on the same device. Their time then
follows from their words. A first epoch is slower, so it counts only if there is no other.
"""

import dataclasses
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from featbert.data.share import learned_part
from featbert.encoders.layers import parse_layers
from featbert.errors import FeatbertError
from featbert.experiments.plan import ExperimentPlan, Job, Resources
from featbert.features.extraction import run_extraction
from featbert.features.plan import plan_extraction
from featbert.io import json_hash
from featbert.progress import report, silent, track
from featbert.runs.planned import PlannedRun, plan_stored_run, plan_tuned_run
from featbert.runs.record import RunRecord, Signature
from featbert.runs.run import find_runs
from featbert.runs.train import train_planned
from featbert.text import counted
from featbert.units import duration

# Words of train in each of a short run's two epochs.
WORDS = 1000
# Seconds after which no further short run begins.
PATIENCE = 45.0
SHORT = f"a short run: two epochs on {WORDS:,} words, of which the second is timed"
# Settings besides rates and shares that do not change the cost of a word.
_FREE = {
    "epochs",
    "equal_steps",
    "patience",
    "schedule",
    "train_on",
    "bias_correction",
    "longest_answer",
}


class Estimates:
    """Expected cost of the runs and stores that an experiment lacks.

    Attributes:
        records: finished runs, or one short run, by kind.
        short: a missing run of each kind without finished runs.
        failures: why the short run of a kind failed, such as too few sentences.
        stopped: whether short runs were left out after `patience` seconds.
    """

    def __init__(
        self, plan: ExperimentPlan, *, measure: bool, patience: float = PATIENCE, at_least: int = 1
    ) -> None:
        """`measure`: short runs, in a temporary folder, replace missing records.

        After `patience` seconds and `at_least` of them no further one begins.
        """
        self.records: dict[str, list[RunRecord]] = defaultdict(list)
        for run in find_runs(plan.runs_dir) if plan.runs_dir.is_dir() else ():
            self.records[_kind(run.record)].append(run.record)
        jobs = {_kind(job.run): job for job in plan.missing}
        self.short = {kind: job for kind, job in jobs.items() if kind not in self.records}
        self.failures: dict[str, FeatbertError] = {}
        self.stopped = False
        self._resources, self._patience, self._at_least = plan.resources, patience, at_least
        if measure and self.short:
            self.measure()

    def measure(self) -> None:
        """Times a short run of each kind. If one was timed before, the faster one counts."""
        number_of_runs = counted(len(self.short), "short run")
        report(f"measuring {number_of_runs}, none begins after {duration(self._patience)}")
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            for number, kind in enumerate(track([*self.short], "measuring", "short runs")):
                self.stopped = (
                    number >= self._at_least and time.monotonic() - began >= self._patience
                )
                if not self.stopped:
                    try:
                        with silent():  # lines that are not about the experiment
                            record = _short_run(self.short[kind], self._resources, Path(folder))
                        both = [*self.records[kind], record]
                        self.records[kind] = [min(both, key=lambda r: r.cost.training_seconds)]
                    except FeatbertError as error:
                        self.failures[kind] = error

    def run(self, job: Job) -> tuple[float, int, str] | None:
        """Seconds and bytes of a run, and the source of the estimate, or None."""
        kind = _kind(job.run)
        if not (records := self.records.get(kind)):
            return None
        first = int(job.run.options.settings.trainer.passes)
        epochs = [(r, row.seconds) for r in records for row in r.history[first:] or r.history]
        timed_words = sum(work(r.signature, _read_words(r)) for r, _ in epochs)
        settings, splits = job.run.options.settings, job.run.signature.splits
        share = 1.0 if settings.equal_steps else settings.train_share
        words = share * sum(splits[name].words for name in settings.trained_splits)
        if settings.shots is not None:
            n_examples = settings.shots * len(job.run.signature.entity_types)
            words *= n_examples / splits["train"].sentences
        words = settings.epochs * work(job.run.signature, words)
        seconds = words * sum(epoch_seconds for _, epoch_seconds in epochs) / timed_words
        costs = [r.cost for r in records]
        rate = sum(c.prediction_seconds for c in costs) / sum(c.prediction_words for c in costs)
        seconds += rate * sum(split.words for name, split in splits.items() if name != "train")
        source = "a short run" if kind in self.short else counted(len(records), "finished run")
        return seconds, records[-1].cost.run_bytes, source

    def failure(self, job: Job) -> FeatbertError | None:
        """Why the short run of this kind failed, if it did."""
        return self.failures.get(_kind(job.run))

    def extraction(self, job: Job, words: int) -> float | None:
        """Seconds of extracting so many words for the store that a run reads."""
        for cost in (record.cost for record in self.records.get(_kind(job.run), ())):
            if cost.extraction_seconds and cost.extraction_words:
                return words * cost.extraction_seconds / cost.extraction_words
        return None


def _kind(run: RunRecord | PlannedRun) -> str:
    """A hash of what determines the cost of a word."""
    s = run.signature
    combination = run.layers and parse_layers(run.layers, s.encoder_layers)
    shape = combination and (combination.mode, len(combination.indices))
    settings = {
        name: value
        for name, value in run.settings.items()
        if value is not None and not isinstance(value, float) and name not in _FREE
    }
    machine = (s.device_name, s.threads, s.training_precision, s.encoder_precision)
    encoder = (s.encoder_layers, s.encoder_hidden_size, s.context, s.packing)
    return json_hash([*machine, *encoder, run.tuning, shape, settings])


def _read_words(run: RunRecord) -> float:
    """Words of train in an epoch. With equal steps it has several passes over a part."""
    return run.train_words / (run.settings["train_share"] if "equal_steps" in run.settings else 1)


def work(signature: Signature, train_words: float) -> float:
    """Words of an epoch. Words of train count three times, backward as forward."""
    return 3 * train_words + signature.splits["dev"].words


def _short_run(job: Job, resources: Resources, folder: Path) -> RunRecord:
    """Two epochs of the run on a part of its train text, which is dev and test too."""
    configuration, corpus = job.configuration, resources.corpus(job.configuration)
    source, train = resources.encoder(configuration.model), corpus["train"]
    share, shots = min(1.0, WORDS / train.n_words), job.run.options.settings.shots
    part, _ = learned_part(train, share, shots=shots, seed=1)
    splits = {name: dataclasses.replace(part, name=name) for name in ("train", "dev", "test")}
    text = dataclasses.replace(corpus, splits=splits)
    of_whole = {"train_on": "train", "train_share": 1.0, "shots": None, "equal_steps": False}
    # The second epoch trains everything.
    of_epochs = {"epochs": 2, "head_from": None, "head_epochs": 1, "unfreeze": None}
    twice = job.run.options.settings.model_copy(update=of_epochs | of_whole)
    options = dataclasses.replace(job.run.options, settings=twice, runs_dir=folder)
    if job.extraction is None:
        run = plan_tuned_run(source, text, options, configuration.for_encoder())
        return train_planned(run, source, text).record
    encoding = configuration.for_encoder(**configuration.where)
    plan = plan_extraction(text, source, encoding, cache_dir=folder)
    store = plan.finished or run_extraction(plan)
    assert job.run.combination is not None
    run = plan_stored_run(store.manifest, store.path, text, job.run.combination, options)
    return train_planned(run, store, text).record

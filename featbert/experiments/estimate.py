"""How long planned runs take here and what they keep: from finished runs like them, or short ones.

Runs are alike that make the same operations for a word on the same device: their time follows from
the words that they read. A first epoch is slower than those after it, so it counts only where it is
the only one.
"""

import contextlib
import dataclasses
import logging
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
from featbert.progress import track
from featbert.runs.planned import PlannedRun, plan_stored_run, plan_tuned_run
from featbert.runs.record import RunRecord, Signature
from featbert.runs.run import find_runs
from featbert.runs.train import train_planned
from featbert.text import counted

# Words that a short run learns from in each of two epochs, and seconds after which no further one
# begins.
WORDS, PATIENCE = 1000, 45.0
# What people read of it.
SHORT = f"a short run: two epochs on {WORDS:,} words, of which the second is timed"
# Settings besides rates and shares that change nothing in what a word costs.
_FREE = {"epochs", "patience", "schedule", "train_on", "bias_correction", "longest_answer"}


class Estimates:
    """What is known of the runs and stores that an experiment lacks.

    `measure`: whether short runs, in a folder that is removed, stand in for missing records.
    """

    def __init__(self, plan: ExperimentPlan, *, measure: bool) -> None:
        self.known: dict[str, list[RunRecord]] = defaultdict(list)
        for run in find_runs(plan.runs_dir) if plan.runs_dir.is_dir() else ():
            self.known[_kind(run.record)].append(run.record)
        missing = {_kind(job.run): job for job in plan.missing}
        self.stopped = False  # before all short runs
        self.short = {kind: job for kind, job in missing.items() if kind not in self.known}
        began = time.monotonic()
        logging.disable(logging.WARNING)  # what a short run says is not about the experiment
        with tempfile.TemporaryDirectory() as folder:
            for kind in track([*self.short] if measure else [], "measuring", "short runs"):
                if time.monotonic() - began < PATIENCE:
                    with contextlib.suppress(FeatbertError):  # such as too few sentences
                        record = _short_run(self.short[kind], plan.resources, Path(folder))
                        self.known[kind] = [record]
                else:
                    self.stopped = True
        logging.disable(logging.NOTSET)

    def run(self, job: Job) -> tuple[float, int, str] | None:
        """Seconds and bytes of a run, and by what they were measured; None where by nothing."""
        kind = _kind(job.run)
        if not (like := self.known.get(kind)):
            return None
        timed = [(r, row.seconds) for r in like for row in r.history[1:] or r.history]
        did = sum(_work(r.signature, r.train_words) for r, _ in timed)
        settings, splits = job.run.options.settings, job.run.signature.splits
        words = settings.train_share * sum(splits[name].words for name in settings.trained_splits)
        done = settings.epochs * _work(job.run.signature, words)
        seconds = done * sum(took for _, took in timed) / did
        costs = [r.cost for r in like]
        each = sum(c.prediction_seconds for c in costs) / sum(c.prediction_words for c in costs)
        seconds += each * sum(split.words for name, split in splits.items() if name != "train")
        source = "a short run" if kind in self.short else counted(len(like), "finished run")
        return seconds, like[-1].cost.run_bytes, source

    def extraction(self, job: Job, words: int) -> float | None:
        """Seconds of extracting the words of the store that a run reads."""
        for cost in (record.cost for record in self.known.get(_kind(job.run), ())):
            if cost.extraction_seconds and cost.extraction_words:
                return words * cost.extraction_seconds / cost.extraction_words
        return None


def _kind(run: RunRecord | PlannedRun) -> str:
    s = run.signature
    combination = run.layers and parse_layers(run.layers, s.encoder_layers)
    shape = combination and (combination.mode, len(combination.indices))
    same = {
        name: value
        for name, value in run.settings.items()
        if value is not None and not isinstance(value, float) and name not in _FREE
    }
    where = (s.device_name, s.threads, s.training_precision, s.encoder_precision)
    encoder = (s.encoder_layers, s.encoder_hidden_size, s.context, s.packing)
    return json_hash([*where, *encoder, run.tuning, shape, same])


def _work(signature: Signature, train_words: float) -> float:
    """Words of an epoch: those that are learned from count three times, backward as forward."""
    return 3 * train_words + signature.splits["dev"].words


def _short_run(job: Job, resources: Resources, folder: Path) -> RunRecord:
    """Two epochs of the run on a part of its text, which is dev and test as well."""
    configuration, corpus = job.configuration, resources.corpus(job.configuration)
    source, train = resources.encoder(configuration.model), corpus["train"]
    part, _ = learned_part(train, min(1.0, WORDS / train.n_words), seed=1)
    splits = {name: dataclasses.replace(part, name=name) for name in ("train", "dev", "test")}
    text = dataclasses.replace(corpus, splits=splits)
    twice = job.run.options.settings.model_copy(
        update={"epochs": 2, "train_on": "train", "train_share": 1.0, "head_from": None}
    )
    options = dataclasses.replace(job.run.options, settings=twice, runs_dir=folder)
    if job.extraction is None:
        run = plan_tuned_run(source, text, options, configuration.for_encoder())
        return train_planned(run, source, text).record
    encoding = configuration.for_encoder(**configuration.where)
    plan = plan_extraction(text, source, encoding, cache_dir=folder)
    store = plan.hit or run_extraction(plan, text, source)
    run = plan_stored_run(store.manifest, store.path, text, str(job.run.layers), options)
    return train_planned(run, store, text).record

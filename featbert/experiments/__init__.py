"""Runs of both approaches, and experiment files: a plan of runs, and running it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.lazy import attach

if TYPE_CHECKING:
    from featbert.experiments.carrying_out import Listeners
    from featbert.experiments.evaluating import evaluate
    from featbert.experiments.execution import FailedRunsError, run_experiment
    from featbert.experiments.file import Experiment, read_experiment
    from featbert.experiments.loading import LoadedTagger, load_tagger
    from featbert.experiments.running import finetune, train

__all__ = [
    "Experiment",
    "FailedRunsError",
    "Listeners",
    "LoadedTagger",
    "evaluate",
    "finetune",
    "load_tagger",
    "read_experiment",
    "run_experiment",
    "train",
]
__getattr__, __dir__ = attach(
    __name__,
    {
        "Experiment": "featbert.experiments.file",
        "FailedRunsError": "featbert.experiments.execution",
        "Listeners": "featbert.experiments.carrying_out",
        "LoadedTagger": "featbert.experiments.loading",
        "evaluate": "featbert.experiments.evaluating",
        "finetune": "featbert.experiments.running",
        "load_tagger": "featbert.experiments.loading",
        "read_experiment": "featbert.experiments.file",
        "run_experiment": "featbert.experiments.execution",
        "train": "featbert.experiments.running",
    },
)

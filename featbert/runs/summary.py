"""What came of an experiment, as its record keeps it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from featbert.runs.experiment_record import (
    ExperimentRecord,
    SearchRecord,
    TriedSettings,
)
from featbert.runs.plan import ExperimentPlan, Search


def experiment_record(plan: ExperimentPlan, failures: Mapping[str, str]) -> ExperimentRecord:
    """The record of an experiment as a plan finds it."""
    experiment = plan.experiment
    return ExperimentRecord(
        name=experiment.name,
        description=experiment.description,
        vary=list(experiment.vary),
        rows=[job.name for job in plan.rows if job.run.finished is not None],
        missing=[job.name for job in plan.missing],
        published=list(experiment.published),
        show=list(experiment.show),
        transfer=experiment.transfer,
        labels=dict(experiment.labels),
        searches=[search_record(search) for search in plan.searches],
        failures=dict(failures),
    )


def tried_settings(search: Search) -> list[dict[str, Any]]:
    """For each configuration of a search, the settings that not all of them share."""
    settings = [dataclasses.asdict(jobs[0].run.options.settings) for jobs in search.tried]
    varied = [name for name in settings[0] if len({repr(s[name]) for s in settings}) > 1]
    return [{name: s[name] for name in varied} for s in settings]


def search_record(search: Search) -> SearchRecord:
    """What a grid search tried and chose."""
    tried = zip(tried_settings(search), search.tried, search.scores, strict=True)
    return SearchRecord(
        "none" if search.approach == "features" else "full",
        search.layers,
        search.tried[0][0].run.signature.corpus,
        search.arm_name,
        [TriedSettings(s, [job.name for job in jobs], score) for s, jobs, score in tried],
        search.chosen,
    )

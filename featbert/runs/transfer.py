"""Each tagger of an experiment scored on the other corpora: the cells of a transfer matrix.

A run's own test split is scored with the run; here come the others'. The stores that the
experiment made of each corpus serve all evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from featbert.data.corpus import Corpus
from featbert.runs.evaluating import carry_out_evaluation
from featbert.runs.evaluation_plan import PlannedEvaluation, choose_splits, plan_evaluation
from featbert.runs.loading import load_tagger
from featbert.runs.plan import ExperimentPlan
from featbert.runs.resources import Resources
from featbert.runs.run import Run
from featbert.runs.usable import check_usable
from featbert.runs.workers import failure_of


def evaluate_across(
    plan: ExperimentPlan,
    resources: Resources,
    *,
    cache_dir: Path,
    on_evaluation: Callable[[int, int], None] | None = None,
    on_extraction: Callable[[int, int], None] | None = None,
) -> dict[str, str]:
    """Scores every finished run on every other corpus, once; reasons of failures by run name.

    Args:
        on_evaluation: called with the runs that are scored, and runs in all.
        on_extraction: called with words done and in all of each extraction that this takes.
    """
    corpora = _corpora(plan, resources)
    runs = [(job, job.run.finished) for job in plan.rows]
    failures: dict[str, str] = {}
    if on_evaluation is not None:
        on_evaluation(0, len(runs))
    for number, (job, run) in enumerate(runs, 1):
        if run is None:
            continue
        try:
            missing = list(_missing(plan, run, corpora))
            if missing:
                tagger = load_tagger(missing[0].usable, device=job.arm.device)
                for planned in missing:
                    carry_out_evaluation(
                        planned, tagger, cache_dir=cache_dir, on_progress=on_extraction
                    )
        except Exception as error:
            failures[f"{run.name} on other corpora"] = failure_of(error)
        if on_evaluation is not None:
            on_evaluation(number, len(runs))
    return failures


def _corpora(plan: ExperimentPlan, resources: Resources) -> list[Corpus]:
    """The experiment's corpora, each once."""
    found = {resources.corpus(arm).source: resources.corpus(arm) for arm in plan.experiment.arms}
    return list(found.values())


def _missing(plan: ExperimentPlan, run: Run, corpora: list[Corpus]) -> Iterator[PlannedEvaluation]:
    """Evaluations of a run that are not there yet."""
    usable = check_usable(run)
    texts = {identity.text for identity in run.record.signature.splits.values()}
    for corpus in corpora:
        (split,) = choose_splits(corpus)
        if corpus[split].text_fingerprint in texts:
            continue
        known = {*corpus.entity_types, *usable.entity_types}
        mapping = {old: new for old, new in plan.experiment.labels.items() if old in known}
        planned = plan_evaluation(usable, corpus, split, mapping)
        if planned.finished is None:
            yield planned

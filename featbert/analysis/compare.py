"""From runs to comparisons: everything that is shown is computed here, once."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from featbert.analysis.breakdown import with_breakdowns, with_confusions, with_texts
from featbert.analysis.budget import FEWEST_TRIALS, with_budgets
from featbert.analysis.comparison import Comparison, Comparisons, Row, TransferMatrix, View, grouped
from featbert.analysis.cost import CURRENCIES, pareto_fronts, with_costs
from featbert.analysis.labels import search_line
from featbert.analysis.published import is_matrix, with_published
from featbert.analysis.rows import Members, compare_group, once, rows_called
from featbert.analysis.significance import with_estimates
from featbert.analysis.verdict import MACRO_F1, unequal, with_contests
from featbert.config import ONLY_SCORES, Analyses
from featbert.errors import InputError, MissingError, nearest, spelling
from featbert.experiments.published import published_table
from featbert.inference.evaluate import Evaluation, elsewhere
from featbert.progress import notice
from featbert.runs.grouping import check_comparable, check_vary, group_comparable, names_that_free
from featbert.runs.record import (
    SUFFIX,
    ExperimentRecord,
    SearchRecord,
    read_json,
    read_or_left_out,
)
from featbert.runs.results import listed_in
from featbert.runs.run import Run
from featbert.text import counted
from featbert.units import NONE, visible


def compare(
    runs: Iterable[Run],
    request: Analyses = ONLY_SCORES,
    *,
    groups: Literal["comparable", "task", "one"] = "comparable",
    keeps_trials: bool = False,
    experiment: ExperimentRecord | None = None,
    notes: Sequence[str] = (),
) -> Comparisons:
    """The comparisons of runs, as values that no longer need the runs.

    MissingError if there is no row that `against` names.

    Args:
        groups: "comparable": a comparison for each group of comparable runs. "task": one for each
            task. "one": one in all. For "task" and "one": InputError if runs differ in anything
            that neither `vary` nor their own experiments name.
        keeps_trials: whether trials of searches are rows like all others.
        experiment: the experiment that is shown. Its `vary`, published tables and scores are added.
        notes: further lines.
    """
    runs = once(runs)
    vary, names, notes = check_vary([*request.vary]), [*request.published], [*notes]
    show, transfer = request.show, request.transfer
    if experiment is not None:
        vary, names = [*experiment.vary, *vary], [*experiment.published, *names]
        columns = {key for run in runs for key in run.task.all_columns}
        show = show or [key for key in experiment.show if key in columns]
        transfer = transfer or experiment.transfer
        notes += map(search_line, experiment.searches)
        if experiment.missing:
            unfinished = counted(len(experiment.missing), "run")
            notes.append(f"not finished of {experiment.name}: {unfinished}")
    # A run that is a row of one experiment may be a trial of another one.
    experiments = [*_experiments_of(runs)] if experiment is None else [experiment]
    searches = [search for record in experiments for search in record.searches]
    trials = {name for record in experiments for name in record.trials}
    trials -= {name for record in experiments for name in record.rows}
    untrained = experiment.time_plan.untrained if experiment and experiment.time_plan else []
    groups_of_runs = _groups(runs, groups, vary)
    compared_groups = [
        compare_group(group, freed, request.against, () if keeps_trials else trials)
        for group, freed in groups_of_runs
    ]
    freedoms = [freed for _, freed in groups_of_runs]
    notes += _apart([comparison for comparison, _ in compared_groups], freedoms)
    compared_groups = [*_with_targets(compared_groups)]
    _check_names(request, compared_groups, show)
    comparisons = [
        _with_results(
            comparison,
            members,
            request,
            searches if experiment else _among(searches, members),
            untrained,
        )
        for comparison, members in compared_groups
    ]
    _notice_nothing(request, comparisons)
    if any(unequal(row, row.splits[-1]) for c in comparisons for row in c.rows):
        show = [*dict.fromkeys([*show, MACRO_F1])]
    tables = [published_table(name) for name in dict.fromkeys(names)]
    comparisons, reasons = with_published(comparisons, tables)
    matrices: tuple[TransferMatrix, ...] = ()
    if transfer or request.everything or request.figures:
        from featbert.analysis.transfer import transfer_matrices  # loads h5py

        matrices = tuple(transfer_matrices((run.original for run in runs), searches))
    return Comparisons(
        comparisons=tuple(comparisons),
        matrices=matrices,
        published=tuple(table for table in tables if is_matrix(table)),
        notes=(*notes, *reasons),
        experiment="" if experiment is None else experiment.name,
        view=dataclasses.replace(View.of(request), show=tuple(show), transfer=transfer),
    )


def breakdowns(evaluations: Sequence[Evaluation], by: Sequence[str]) -> list[Comparison]:
    """Comparisons of evaluated runs on each corpus, with their scores by facets."""
    of_run = grouped(((e.record.source, e.run.folder), e) for e in evaluations)
    by_corpus = grouped(
        (source, elsewhere(alike[0].run, [(e.record, e.path) for e in alike]))
        for (source, _), alike in of_run.items()
    )
    return [view for runs in by_corpus.values() for view in compare(runs, Analyses(by=[*by]))]


def _experiments_of(runs: Iterable[Run]) -> Iterator[ExperimentRecord]:
    """Records of the experiments in the runs directories of `runs`."""
    for folder in sorted({run.folder.parent for run in runs}):
        for path in listed_in(folder, f"*{SUFFIX}"):
            record = read_or_left_out(read_json, path, ExperimentRecord, str(path))
            if record is not None:
                yield record


def _among(searches: Iterable[SearchRecord], members: Members) -> list[SearchRecord]:
    """Searches with a row or a trial among the runs of a comparison."""
    names = {run.name for runs in members.values() for run in runs}
    return [s for s in searches if not names.isdisjoint([*s.trials, *s.rows])]


def _groups(
    runs: Sequence[Run], kind: str, vary: Sequence[str]
) -> Sequence[tuple[Sequence[Run], frozenset[str]]]:
    """Groups of runs to compare, and the parts of their key that may differ."""
    if kind == "comparable":
        return group_comparable(runs)
    if not runs:
        raise InputError("no finished run to compare")
    by_task = grouped((run.record.task if kind == "task" else "", run) for run in runs)
    return [(group, check_comparable(group, vary=vary)) for group in by_task.values()]


def _apart(comparisons: Sequence[Comparison], freedoms: Sequence[frozenset[str]]) -> Iterator[str]:
    """A note if comparable rows are in several comparisons, as only one experiment varies more."""
    places_by_key = grouped(
        (key, place)
        for place, comparison in enumerate(comparisons)
        for key in {frozenset({**comparison.key, **row.cell}.items()) for row in comparison.rows}
    )
    apart = sorted({tuple(places) for places in places_by_key.values() if len(places) > 1})
    if apart:
        freed = frozenset.union(*(freedoms[place] for places in apart for place in places))
        tables = ", ".join(" and ".join(str(place + 1) for place in places) for places in apart)
        advice = spelling("vary", ",".join(names_that_free(freed)))
        if len({comparison.task_name for comparison in comparisons}) > 1:
            advice += f" with {spelling('task')}"
        yield (
            f"{tables} of {len(comparisons)} share a task, text and encoder, and are apart because "
            f"one experiment varies more; {advice} compares them in one table"
        )


def _with_targets(
    groups: Sequence[tuple[Comparison, Members]],
) -> Iterator[tuple[Comparison, Members]]:
    """Comparisons. If columns of one corpus would have the same title, it names their column."""
    titles = Counter((comparison.task_name, comparison.title) for comparison, _ in groups)
    for comparison, members in groups:
        records = [run.record for runs in members.values() for run in runs]
        targets = {str(record.reading.get("target", "")) for record in records}
        if (
            titles[comparison.task_name, comparison.title] > 1
            and len(targets) == 1
            and all(targets)
        ):
            corpus = f"{comparison.corpus} ({targets.pop()})"
            rows = tuple(dataclasses.replace(row, corpus=corpus) for row in comparison.rows)
            comparison = dataclasses.replace(comparison, corpus=corpus, rows=rows)
        yield comparison, members


def _check_names(
    request: Analyses, groups: Sequence[tuple[Comparison, Members]], show: Sequence[str]
) -> None:
    rows = [row for comparison, _ in groups for row in comparison.rows]
    if request.against is not None and not rows_called(request.against, rows):
        labels = {row.label: None for row in rows}
        raise MissingError(
            f"no row or run {request.against!r} is compared{nearest(request.against, labels)}; "
            f"rows: {', '.join(labels)}"
        )
    View(show=tuple(show), by=tuple(request.by)).check([comparison for comparison, _ in groups])


def _with_results(
    comparison: Comparison,
    members: Members,
    request: Analyses,
    searches: Sequence[SearchRecord],
    untrained: Sequence[str],
) -> Comparison:
    """A comparison with the analyses that were asked for, and sentences on them."""
    # Intervals say which rows learned. Fronts and the answer need that.
    everything, facets = request.everything, [*comparison.task.facets]
    by = facets if everything else [name for name in request.by if name in facets]
    comparison = with_estimates(comparison, members)
    comparison = dataclasses.replace(comparison, fronts=tuple(pareto_fronts(comparison)))
    if request.cost or everything:
        comparison = with_costs(comparison)
    if request.scorers or everything:
        comparison = dataclasses.replace(comparison, scorers=tuple(comparison.task.scorers))
    if request.budget or everything or "budget" in request.figures:
        comparison = with_budgets(comparison, searches)
    if not by and "types" in request.figures:
        by = facets[:1]
    comparison = with_breakdowns(comparison, members, by)
    if everything:  # one group repeats the score, such as words in both texts of single texts
        shown = {part.facet for part in comparison.breakdowns if len(part.gold) > 1}
        parts = [p for p in comparison.breakdowns if p.facet in shown.union(request.by)]
        comparison = dataclasses.replace(comparison, breakdowns=tuple(parts))
    if everything or "confusion" in request.figures:
        comparison = with_confusions(comparison, members)
    comparison = with_contests(comparison, members, request, searches, untrained)
    if everything:
        rows = tuple(_with_facts(row, members[row.name]) for row in comparison.rows)
        comparison = dataclasses.replace(comparison, rows=rows)
        if request.sentences:
            comparison = with_texts(comparison, members)
    return comparison


def _with_facts(row: Row, members: Sequence[Run]) -> Row:
    """A row with the records of its runs: values by names with dots, in the record's order."""
    from featbert.experiments.file import flattened  # loads the fields of experiment files

    runs = []
    for compared, run in zip(row.runs, members, strict=True):
        data = dataclasses.asdict(run.record)
        for name in ("name", "scores", "history", "targets"):  # curves and tables show these
            del data[name]
        facts = {visible(name): visible(_shown(value)) for name, value in flattened(data)}
        runs.append(dataclasses.replace(compared, facts=facts))
    return dataclasses.replace(row, runs=tuple(runs))


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value)) or NONE
    if isinstance(value, float):
        return f"{value:.6g}"
    return NONE if value is None else str(value)


def _notice_nothing(request: Analyses, comparisons: Sequence[Comparison]) -> None:
    """Notices for analyses that were asked for and have no result."""
    tests = (result for c in comparisons for result in (*c.differences, *c.test_notes))
    if request.stats and not any(tests):
        notice("nothing is tested: no two rows learned from as much of the same text")
    currency, rows = CURRENCIES[request.cheapest], [row for c in comparisons for row in c.rows]
    if currency.timed and not any(map(currency.of, rows)):
        notice(
            f"{spelling('cheapest', request.cheapest)}: no run has a time to label texts; "
            "featbert speed RUN measures it"
        )
    if request.budget and not any(comparison.budgets for comparison in comparisons):
        notice(
            f"{spelling('budget')} needs a row with {FEWEST_TRIALS} finished trials of a random "
            "search, such as those of featbert run budget"
        )
    tasks = {c.task.name: c.task for c in comparisons if not c.task.scorers}
    for task in tasks.values() if request.scorers else ():
        notice(f"{task.title} have one scorer, {task.scorer}: there is nothing to compare")

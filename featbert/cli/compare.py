"""featbert compare"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.showing import Outputs
from featbert.errors import InputError, MissingError, check_known
from featbert.progress import notice
from featbert.text import counted

if TYPE_CHECKING:
    from featbert.analysis.compare import Comparison
    from featbert.runs.run import Run


@o.command("compare --format markdown")
def compare(
    runs: list[str] | None = o.argument(
        "RUN",
        "Runs: parts of names, folders, or labels of rows.  [default: all finished runs]",
        completion.runs,
        None,
    ),
    runs_dir: Path = o.KEPT_RUNS,
    format: o.ReportFormat = o.REPORT_FORMAT,
    against: str | None = o.option(
        "ROW",
        "Row that all others are compared with: its label, or a run of it.  [default: the best "
        "fine-tuned row]",
        completion.runs,
    ),
    show: list[str] | None = o.option(
        "SCORE",
        "Further score, such as precision or word_f1; may be given several times.",
        completion.scores,
    ),
    published: list[str] | None = o.option(
        "TABLE", "Published table to show with it, such as devlin2019-table7.", completion.published
    ),
    experiment: str | None = o.option(
        "NAME", "An experiment that was run: its rows, and what it varies.", completion.experiments
    ),
    data: str | None = o.RUN_DATA,
    task: str | None = o.RUN_TASK,
    figures: Path | None = o.FIGURES,
    figure: list[str] | None = o.FIGURE_NAMES,
    report: Path | None = o.REPORT,
    no_text: bool = o.NO_TEXT,
    stats: bool = o.flag(
        "--stats", "Test each row's difference to its baseline, over seeds and text."
    ),
    cost: bool = o.flag("--cost", "What rows cost, and after how many runs features are cheaper."),
    budget: bool = o.flag(
        "--budget", "What random searches reach by trials, operations and time, and who is ahead."
    ),
    scorers: bool = o.flag(
        "--scorers", "Scores also by the task's other scorers, and where they disagree."
    ),
    by: list[str] | None = o.BY,
    on: str | None = o.option(
        "CORPUS",
        "Scores on another corpus, of runs that featbert evaluate scored on it: its name or place.",
        completion.corpora,
    ),
    vary: list[str] | None = o.option(
        "NAME",
        "What named runs may differ in: context, corpus, model, scorer, ...",
    ),
) -> None:
    """Compare finished runs: quality over seeds, and cost.

    Without names, one table for each group of comparable runs: same text and tags, encoder,
    context and scorer. Runs that are named must fit together.
    """
    from featbert.analysis.breakdown import with_breakdowns, with_scorers
    from featbert.analysis.compare import compare as compare_all
    from featbert.analysis.compare import compare_runs, compare_tasks
    from featbert.analysis.cost import with_costs
    from featbert.inference.evaluate import runs_elsewhere
    from featbert.report.tables import run_lines
    from featbert.runs.grouping import check_vary
    from featbert.runs.record import read_experiment_record, read_record
    from featbert.runs.run import FoundRuns, Run, find_runs

    freed = [name.strip() for given in vary or () for name in given.split(",")]
    check_vary(freed)
    outputs = Outputs(format, figures, figure or (), report, not no_text)
    notes: list[str] = []
    comparisons: list[Comparison]
    found: Sequence[Run]
    asked = None
    if experiment is not None:
        if runs:
            raise InputError("run names and --experiment exclude each other; leave one out")
        asked = read_experiment_record(runs_dir, experiment)
        found = [Run(runs_dir / name, read_record(runs_dir / name)) for name in asked.rows]
        show = show or asked.show
    elif runs:
        found = [run for name in runs for run in o.find_runs_called(name, runs_dir)]
    else:
        everything = find_runs(runs_dir)
        found, notes = everything.runs, [*everything.notes]
        if not found:
            raise MissingError(
                f"{': '.join([f'no finished runs in {runs_dir}', *notes])}; "
                "featbert train and featbert finetune make them"
            )
    if data or task:
        chosen = run_lines(FoundRuns((*found,), {}, ()), {"corpus": data, "task": task})
        found = [run for run in found if run.name in {line["run"] for line in chosen}]
        if not found:
            raise MissingError("no run of that kind; leave out --data or --task")
    if on is not None:
        found, left = runs_elsewhere(found, on), len(found)
        notes += dict.fromkeys(note for run in found for note in run.remarks)
        if left := left - len(found):
            notes.append(f"left out, not evaluated on {on}: {counted(left, 'run')}")
    if asked is not None:
        comparisons = compare_tasks(found, vary=[*asked.vary, *freed], against=against)
    elif runs or freed:
        comparisons = [compare_runs(found, vary=freed, against=against)]
    else:
        comparisons = compare_all(found, against=against)
    tasks = [comparison.task for comparison in comparisons]  # those that know a name show it
    check_known("score", show or (), {key: 0 for task in tasks for key in task.columns})
    check_known("facet", by or (), {key: 0 for task in tasks for key in task.facets})
    if stats:
        from featbert.analysis.significance import with_significance

        before = comparisons
        comparisons = [with_significance(comparison) for comparison in before]
        tested = zip(comparisons, before, strict=True)
        if not any(c.differences or c.leads or c.notes != was.notes for c, was in tested):
            notice("nothing is tested: no two rows learned from as much of the same text")
    if cost:
        comparisons = [with_costs(comparison) for comparison in comparisons]
    if budget:
        from featbert.analysis.budget import FEWEST_TRIALS, with_budgets

        comparisons = [with_budgets(comparison) for comparison in comparisons]
        if not any(comparison.budgets for comparison in comparisons):
            notice(
                f"--budget needs a row with {FEWEST_TRIALS} finished trials of a random search, "
                "such as those of featbert run budget"
            )
    if scorers:
        for one in {c.task.name: c.task for c in comparisons if not c.task.scorers}.values():
            notice(f"{one.title} have one scorer, {one.scorer}: there is nothing to compare")
        comparisons = [with_scorers(comparison) for comparison in comparisons]
    if by:
        comparisons = [
            with_breakdowns(c, [f for f in by if f in c.task.facets]) for c in comparisons
        ]
    outputs.show(comparisons, asked, published=published or (), show=show or (), notes=notes)

"""featbert compare"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.showing import Outputs
from featbert.errors import InputError, MissingError
from featbert.text import counted

if TYPE_CHECKING:
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
    from featbert.analysis.compare import ComparisonRequest, build_comparisons
    from featbert.analysis.listing import runs_of_kind
    from featbert.inference.evaluate import runs_elsewhere
    from featbert.runs.grouping import check_vary
    from featbert.runs.record import read_experiment_record, read_record
    from featbert.runs.run import Run, find_runs

    freed = [name.strip() for names in vary or () for name in names.split(",")]
    check_vary(freed)
    outputs = Outputs(format, figures, figure or (), report, not no_text)
    notes: list[str] = []
    record = None
    chosen: Sequence[Run]
    if experiment is not None:
        if runs:
            raise InputError("run names and --experiment exclude each other; leave one out")
        record = read_experiment_record(runs_dir, experiment)
        chosen = [Run(runs_dir / name, read_record(runs_dir / name)) for name in record.rows]
    elif runs:
        chosen = [run for name in runs for run in o.find_runs_called(name, runs_dir)]
    else:
        every = find_runs(runs_dir)
        chosen, notes = every.runs, [*every.notes]
        if not chosen:
            raise MissingError(
                f"{': '.join([f'no finished runs in {runs_dir}', *notes])}; "
                "featbert train and featbert finetune make them"
            )
    if data or task:
        chosen = runs_of_kind(chosen, data, task)
        if not chosen:
            raise MissingError("no run of that kind; leave out --data or --task")
    if on is not None:
        chosen, number = runs_elsewhere(chosen, on), len(chosen)
        notes += dict.fromkeys(note for run in chosen for note in run.remarks)
        if missing := number - len(chosen):
            notes.append(f"left out, not evaluated on {on}: {counted(missing, 'run')}")
    request = ComparisonRequest(
        groups="task" if record else "one" if runs or freed else "comparable",
        against=against,
        vary=tuple(freed),
        published=tuple(published or ()),
        experiment=record,
        notes=tuple(notes),
        show=tuple(show or ()),
        stats=stats,
        cost=cost,
        budget=budget,
        scorers=scorers,
        by=tuple(by or ()),
        **outputs.request,
    )
    outputs.show(build_comparisons(chosen, request))

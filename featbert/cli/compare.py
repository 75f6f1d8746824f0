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
        "Row that all others are compared with: its label, or one of its runs.  [default: the best "
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
        "NAME", "A finished experiment: its rows and varied settings.", completion.experiments
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
    cost: bool = o.flag("--cost", "Costs of rows, and after how many runs features are cheaper."),
    budget: bool = o.flag(
        "--budget", "Best scores of random searches by trials, operations and time, and who leads."
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
        "Conditions in which named runs may differ: context, corpus, model, scorer, ...",
    ),
    file: Path | None = o.option(
        "FILE", "Show a comparison that --format json wrote, without its runs.", None, "--from"
    ),
) -> None:
    """Compare finished runs: quality over seeds, and cost.

    Without names, one table for each group of comparable runs: same text and tags, encoder,
    context and scorer. Named runs must be comparable. JSON holds the whole comparison: --from makes
    tables, figures and the report from it.
    """
    from featbert.analysis.comparison import View
    from featbert.analysis.document import read_comparisons

    outputs = Outputs(format, figures, figure or (), report, not no_text)
    view = View(
        show=tuple(show or ()),
        stats=stats,
        cost=cost,
        budget=budget,
        scorers=scorers,
        by=tuple(by or ()),
    )
    if file is not None:
        choices = {"--against": against, "--published": published, "--experiment": experiment}
        choices |= {"RUN": runs, "--data": data, "--task": task, "--on": on, "--vary": vary}
        choices["--runs-dir"] = runs_dir != o.KEPT_RUNS.default
        for name in (name for name, choice in choices.items() if choice):
            raise InputError(f"{name} is for runs, which --from does not read; leave it out")
        outputs.show(read_comparisons(file).with_view(view))
        return
    from featbert.analysis.compare import ComparisonRequest, build_comparisons
    from featbert.runs.grouping import check_vary
    from featbert.runs.record import read_experiment_record

    freed = [name.strip() for names in vary or () for name in names.split(",")]
    check_vary(freed)
    if experiment is not None and runs:
        raise InputError("run names and --experiment exclude each other; leave one out")
    record = None if experiment is None else read_experiment_record(runs_dir, experiment)
    chosen, notes = _chosen(record.rows if record else runs, runs_dir, in_folder=record is not None)
    if data or task:
        from featbert.analysis.listing import runs_of_kind

        chosen = runs_of_kind(chosen, data, task)
        if not chosen:
            raise MissingError("no run of that kind; leave out --data or --task")
    if on is not None:
        chosen, remarks = _elsewhere(chosen, on)
        notes += remarks
    request = ComparisonRequest(
        groups="task" if record else "one" if runs or freed else "comparable",
        against=against,
        vary=tuple(freed),
        published=tuple(published or ()),
        experiment=record,
        notes=tuple(notes),
        **vars(view),
        **outputs.request,
    )
    outputs.show(build_comparisons(chosen, request))


def _chosen(
    names: Sequence[str] | None, runs_dir: Path, *, in_folder: bool
) -> tuple[Sequence[Run], list[str]]:
    """The runs with these names, or all runs, and the reasons why runs are left out.

    `in_folder`: whether the names are folders in the runs directory.
    """
    from featbert.analysis.lookup import find_runs_called
    from featbert.runs.record import read_record
    from featbert.runs.run import Run, find_runs

    if in_folder:
        return [Run(runs_dir / name, read_record(runs_dir / name)) for name in names or ()], []
    if names:
        return [run for name in names for run in find_runs_called(name, runs_dir)], []
    every = find_runs(runs_dir)
    if not every.runs:
        raise MissingError(
            f"{': '.join([f'no finished runs in {runs_dir}', *every.notes])}; "
            "featbert train and featbert finetune make them"
        )
    return every.runs, [*every.notes]


def _elsewhere(runs: Sequence[Run], corpus: str) -> tuple[Sequence[Run], list[str]]:
    """The runs with their scores on another corpus, and remarks. Others are left out."""
    from featbert.inference.evaluate import runs_elsewhere

    scored = runs_elsewhere(runs, corpus)
    remarks = list(dict.fromkeys(remark for run in scored for remark in run.remarks))
    if n_unscored := len(runs) - len(scored):
        remarks.append(f"left out, not evaluated on {corpus}: {counted(n_unscored, 'run')}")
    return scored, remarks

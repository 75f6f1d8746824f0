"""featbert run"""

import shlex

import typer

from featbert import api
from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.showing import Outputs, show_tables, terminal_width
from featbert.config import RUNS_DIR, Analyses
from featbert.errors import InputError
from featbert.io import slug
from featbert.progress import report
from featbert.text import printable


def _list(wanted: bool) -> None:
    """Shows the experiments that come with the program, and ends the command."""
    if not wanted:
        return
    from featbert.experiments.file import shipped_experiments
    from featbert.report.listings import experiments_table

    show_tables([experiments_table(shipped_experiments())], "text")
    raise typer.Exit


@o.command(
    "run quickstart --seeds 1-3",
    arguments=("file",),
    completions={"file": completion.experiment_files},
)
def run(
    request: api.RunRequest,
    outputs: Outputs,
    list_: bool = o.flag(
        "--list", "List the experiments that come with featbert.", callback=_list, is_eager=True
    ),
    dry_run: bool = o.flag("--dry-run", "Show the plan, its time and disk, and do nothing."),
    measure: bool = typer.Option(
        True,
        help="With --dry-run: time a short run if no finished run is similar to a planned one.",
    ),
) -> None:
    """Run an experiment file: extract, train, compare.

    Finished runs are not trained again, so the same command resumes after an interruption. A run
    that fails does not stop the others.
    """
    if not (measure or dry_run):
        raise InputError("--no-measure is for the estimate; add --dry-run")
    request = request.with_experiment()
    with_report = outputs.report is None and request.experiment.keys.minutes is not None
    if with_report:
        outputs = outputs.model_copy(update={"report": request.runs_dir / "report.html"})
    analyses = Analyses(**outputs.analyses)
    if dry_run:
        from featbert.report.plan import plan_text

        typer.echo(plan_text(api.plan_run(request), measure, terminal_width()))
        return
    try:
        result, failed = api.run(request, analyses=analyses), None
    except api.FailedRunsError as error:
        result, failed = error.result, error
    if with_report:
        page = slug(result.plan.experiment.name, 80) + ".html"
        outputs = outputs.model_copy(update={"report": request.runs_dir / page})
    if result.runs:
        outputs.show(result.comparisons)
        command = ["featbert", "compare", "--experiment", result.plan.experiment.name]
        if request.runs_dir != RUNS_DIR:
            command += ["--runs-dir", str(request.runs_dir)]
        report(f"{shlex.join(command)} shows it again")
    if failed is not None:
        for name, reason in result.plan.failures.items():
            typer.echo(printable(f"failed: {name}: {reason}"), err=True)
        raise InputError(f"{failed.count}; run the same command to try again")

"""featbert run"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.progress import load_torch
from featbert.cli.showing import Outputs, run_line, show_tables
from featbert.errors import InputError
from featbert.progress import report as say
from featbert.report.units import size
from featbert.text import counted, printable

if TYPE_CHECKING:
    from featbert.runs.experiment import ExperimentPlan


def _list(wanted: bool) -> None:
    """Shows the experiments that come with the program, and ends the command."""
    if not wanted:
        return
    from featbert.report.tables import experiments_table
    from featbert.runs.experiment_file import shipped_experiments

    show_tables([experiments_table(shipped_experiments())], "text")
    raise typer.Exit


@o.command("run quickstart --set 'seeds=[1,2,3]'")
def run(
    file: Path = o.argument(
        "FILE", "Experiment file (TOML), or a name of --list.", completion.experiment_files
    ),
    list_: bool = typer.Option(
        False,
        "--list",
        callback=_list,
        is_eager=True,
        help="List the experiments that come with featbert.",
    ),
    changes: list[str] | None = o.option(
        "KEY=VALUE",
        "Override one key, such as features.epochs=2; may be given several times.",
        None,
        "--set",
    ),
    threads: int | None = o.option("INT", "Threads of each run; its key in the file.", min=1),
    dry_run: bool = o.flag("--dry-run", "Show the plan; do nothing."),
    jobs: int | None = o.option(
        "RUNS",
        "Runs at a time, each a process with its share of the cores.  [default: 1, on Ray as many "
        "as there is room for]",
        min=1,
    ),
    on: o.Engine = o.ON,
    address: str | None = o.ADDRESS,
    cpus_per_run: int | None = o.CPUS,
    gpus_per_run: float | None = o.GPUS,
    cache_dir: Path = o.CACHE_DIR,
    runs_dir: Path = o.RUNS_DIR,
    format: o.ReportFormat = o.REPORT_FORMAT,
    figures: Path | None = o.FIGURES,
    figure: list[str] | None = o.FIGURE_NAMES,
    report: Path | None = o.REPORT,
    no_text: bool = o.NO_TEXT,
    log_with: str | None = o.LOG_WITH,
) -> None:
    """Run an experiment file: extract, train, compare.

    Finished runs are not trained again, so the same command resumes after an interruption. A run
    that fails does not stop the others.
    """
    o.check_folder(cache_dir, "--cache-dir")
    log_dir = o.check_log(log_with, runs_dir)
    engine = o.joined(on, address, cpus_per_run, gpus_per_run, (cache_dir, runs_dir), jobs)
    outputs = Outputs(format, figures, figure or (), report, not no_text)
    from featbert.encoders.layers import parse_layers
    from featbert.runs.experiment import ExperimentPlan, Resources
    from featbert.runs.experiment_file import read_experiment
    from featbert.runs.planned import check_trainable

    own = [f"threads={threads}"] if threads else []
    experiment = read_experiment(file, [*(changes or []), *own])
    resources = Resources()
    for arm in experiment.configurations:
        for table in ("features", "finetune"):
            if getattr(arm, table) is not None:
                check_trainable(resources.corpus(arm), arm.settings(table))
        source = resources.encoder(arm.model)
        arm.for_encoder().check(source, resources.corpus(arm))
        num_layers = source.num_layers or 0
        for spec in arm.features.specs(num_layers) if arm.features else []:
            parse_layers(spec, num_layers)
    load_torch()

    from featbert.analysis.compare import compare_tasks
    from featbert.runs.schedule import carry_out

    plan = ExperimentPlan(experiment, cache_dir, runs_dir, resources).renewed(at_a_time=jobs or 1)
    if dry_run:
        typer.echo(_describe(plan))
        return
    missing, known = len(plan.missing), counted(len(plan.jobs), "run")
    say(f"{experiment.name}: {missing:,} of {known} to train{_later(plan)}")
    with engine as (each, at_a_time):
        plan = carry_out(plan, jobs=at_a_time, log_dir=log_dir, each=each)
    if plan.runs:
        outputs.show(compare_tasks(plan.runs, vary=plan.record.vary), plan.record)
    if plan.failures:
        for name, reason in plan.failures.items():
            typer.echo(printable(f"failed: {name}: {reason}"), err=True)
        waiting = sum(job.name not in plan.failures for job in plan.missing)
        skipped = f", {counted(waiting, 'run')} that need them were skipped" if waiting else ""
        failed = f"{counted(len(plan.failures), 'run')} failed{skipped}"
        raise InputError(f"{failed}; run the same command to try again")


def _later(plan: ExperimentPlan) -> str:
    later = []
    if n := len(plan.adaptations):
        one = "encoder to train as a language model first"
        later.append(counted(n, one, "encoders to train as language models first"))
    if n := sum(search.chosen is None for search in plan.searches):
        one = "search decides on further runs"
        later.append(counted(n, one, "searches decide on further runs"))
    return "; " + "; ".join(later) if later else ""


def _describe(plan: ExperimentPlan) -> str:
    from featbert.report.tables import search_line

    lines = [f"{plan.experiment.name}: {counted(len(plan.jobs), 'run')}{_later(plan)}"]
    stores = {
        j.extraction.path: j.extraction for j in plan.jobs.values() if j.extraction is not None
    }
    for path, extraction in stores.items():
        m = extraction.manifest
        state = "exists" if extraction.hit else f"to extract, {size(m.data_bytes)}"
        lines.append(f"store  {state}  {counted(m.words, 'word')}  {path}")
    lines += [f"adapt  to train  {folder}" for folder in plan.adaptations]
    for job in plan.jobs.values():
        done = job.run.finished
        line = "to train  " + job.name if done is None else run_line(done, was_there=True)
        lines.append(f"run    {line}")
    lines += [f"search {search_line(search)}" for search in plan.searches]
    return "\n".join(printable(line) for line in lines)

"""featbert run"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.progress import load_torch
from featbert.cli.showing import Outputs, grid, show_tables
from featbert.errors import InputError
from featbert.progress import report as say
from featbert.text import counted, printable
from featbert.units import duration, size

if TYPE_CHECKING:
    from featbert.experiments.plan import ExperimentPlan


def _list(wanted: bool) -> None:
    """Shows the experiments that come with the program, and ends the command."""
    if not wanted:
        return
    from featbert.experiments.file import shipped_experiments
    from featbert.report.listings import experiments_table

    show_tables([experiments_table(shipped_experiments())], "text")
    raise typer.Exit


@o.command("run quickstart --seeds 1-3")
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
    seeds: str | None = o.option("SEEDS", "Seeds in place of the file's: 1,2,3 or 1-5."),
    dry_run: bool = o.flag("--dry-run", "Show the plan, its time and disk; do nothing."),
    measure: bool = typer.Option(
        True, help="With --dry-run: time short runs where no finished run is like those planned."
    ),
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
    if not (measure or dry_run):
        raise InputError("--no-measure is of the estimate; add --dry-run")
    log_dir = o.check_log(log_with, runs_dir)
    engine = o.joined(on, address, cpus_per_run, gpus_per_run, (cache_dir, runs_dir), jobs)
    outputs = Outputs(format, figures, figure or (), report, not no_text)
    from featbert.data.check import notice_doubts
    from featbert.experiments.file import read_experiment
    from featbert.experiments.plan import ExperimentPlan, Resources

    own = {"seeds": seeds, "threads": threads}
    given = [f"{key}={value}" for key, value in own.items() if value is not None]
    experiment = read_experiment(file, [*(changes or []), *given])
    resources = Resources()
    for arm in experiment.configurations:
        arm.for_encoder().check(resources.encoder(arm.model), resources.corpus(arm))
    notice_doubts(*{c.name: c for c in map(resources.corpus, experiment.configurations)}.values())
    load_torch()

    from featbert.analysis.compare import compare_tasks
    from featbert.analysis.labels import run_labels
    from featbert.experiments.schedule import carry_out

    plan = ExperimentPlan(experiment, cache_dir, runs_dir, resources).renewed(at_a_time=jobs or 1)
    if dry_run:
        typer.echo(_describe(plan, measure))
        return
    missing, known = len(plan.missing), counted(len(plan.jobs), "run")
    say(f"{experiment.name}: {missing:,} of {known} to train{_later(plan)}")
    with engine as (each, at_a_time):
        plan = carry_out(plan, jobs=at_a_time, log_dir=log_dir, each=each, labels=run_labels)
    if plan.runs:
        outputs.show(compare_tasks(plan.runs, experiment=plan.record, **outputs.request))
    if plan.failures:
        for name, reason in plan.failures.items():
            typer.echo(printable(f"failed: {name}: {reason}"), err=True)
        waiting = sum(job.name not in plan.failures for job in plan.missing)
        skipped = f", {counted(waiting, 'run')} that need them were skipped" if waiting else ""
        failed = f"{counted(len(plan.failures), 'failure')}{skipped}"
        raise InputError(f"{failed}; run the same command to try again")


def _later(plan: ExperimentPlan) -> str:
    searches = sum(search.chosen is None for search in plan.searches)
    waiting = (len(plan.adaptations), "encoder", "encoders"), (searches, "search", "searches")
    said = " and ".join(counted(*one) for one in waiting if one[0])
    return f"; more runs follow from {said}" if said else ""


def _describe(plan: ExperimentPlan, measure: bool) -> str:
    """Stores, encoders and rows that there are or will be, with what they are expected to take."""
    from featbert.analysis.comparison import grouped
    from featbert.analysis.labels import run_labels, search_line
    from featbert.experiments.estimate import PATIENCE, SHORT, Estimates

    estimates, jobs, lines = Estimates(plan, measure=measure), list(plan.jobs.values()), []
    stores = {job.extraction.path: job for job in jobs if job.extraction is not None}
    seconds, kept = list[float | None](), 0
    for path, job in stores.items():
        assert job.extraction is not None
        m, state = job.extraction.manifest, "exists"
        if job.extraction.hit is None:
            state = f"to extract, {size(m.data_bytes)}"
            seconds.append(estimates.extraction(job, m.words))
            kept += m.data_bytes
        lines.append(f"store  {state}  {counted(m.words, 'word')}  {path}")
    lines += [f"adapt  to train  {folder}" for folder in plan.adaptations]
    lines += [f"search {search_line(search)}" for search in plan.searches]
    rows, labels, missing = [], run_labels(job.run for job in jobs), {j.name for j in plan.missing}
    for label, alike in grouped((labels[job.name], job) for job in jobs).items():
        found = [estimates.run(job) for job in alike if job.name in missing]
        known = [one for one in found if one is not None]
        seconds += [None if one is None else one[0] for one in found]
        kept += sum(n_bytes for _, n_bytes, _ in known)
        took = duration(sum(s for s, *_ in known)) if known else "?" if found else ""
        seeds = ", ".join(str(job.run.options.seed) for job in alike)
        rows.append((label, [seeds, str(len(found)), took, known[0][2] if known else ""]))
    unknown, expected = seconds.count(None), sum(filter(None, seconds))
    runs = f"{counted(len(jobs), 'run')}, {len(missing):,} to train"
    head = [f"{plan.experiment.name}: {runs}{_later(plan)}"]
    about = "more than" if unknown else "about"
    if expected or not unknown:
        head.append(f"{about} {duration(expected)} here, a run at a time")
    if unknown:
        told = f"; measuring stopped after {PATIENCE:g} s" if estimates.stopped else ""
        told = told if measure else "; leave out --no-measure"
        head.append(f"time not known: {counted(unknown, 'run or store', 'runs or stores')}{told}")
    if kept or not unknown:
        head.append(f"{about} {size(kept)} of disk")
    table = grid(["row", "seeds", "to train", "time", "measured by"], rows).rstrip("\n")
    legend = [SHORT] if estimates.short and measure else []
    return "\n".join([*map(printable, [*head, *lines]), "", table, *legend])

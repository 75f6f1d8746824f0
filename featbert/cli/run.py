"""featbert run"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.main import Command, app
from featbert.cli.progress import load_torch
from featbert.cli.showing import Outputs, of_experiment, run_line
from featbert.errors import InputError
from featbert.progress import report as say
from featbert.report.units import size
from featbert.text import counted, printable

if TYPE_CHECKING:
    from featbert.runs.experiment import ExperimentPlan


@app.command(
    cls=Command, epilog="Example: featbert run experiments/quickstart.toml --set 'seeds=[1,2,3]'"
)
def run(
    file: Annotated[
        Path, o.argument("FILE", "Experiment file (TOML).", completion.experiment_files)
    ],
    changes: Annotated[
        list[str] | None,
        o.option(
            "KEY=VALUE",
            "Override one key, such as features.epochs=2; may be given several times.",
            completion.keys,
            "--set",
        ),
    ] = None,
    dry_run: Annotated[bool, o.flag("--dry-run", "Show the plan; do nothing.")] = False,
    jobs: Annotated[
        int, o.option("RUNS", "Runs at a time, each a process with its share of the cores.", min=1)
    ] = 1,
    cache_dir: o.CacheDir = Path("cache"),
    runs_dir: o.RunsDir = Path("experiments/runs"),
    format: o.ReportFormat = "text",
    figures: o.Figures = None,
    figure: o.FigureNames = None,
    report: o.Report = None,
    log_with: o.LogWith = None,
    quiet: o.Quiet = False,
) -> None:
    """Run an experiment file: extract, train, compare.

    Finished runs are not trained again, so the same command resumes after an interruption. A run
    that fails does not stop the others.
    """
    o.check_folder(cache_dir, "--cache-dir")
    log_dir = o.check_log(log_with, runs_dir)
    outputs = Outputs(format, figures, figure or (), report)
    from featbert.encoders.layers import parse_layers
    from featbert.runs.experiment import Resources
    from featbert.runs.experiment_file import read_experiment
    from featbert.runs.planned import check_trainable

    experiment = read_experiment(file, changes or [])
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

    from featbert.analysis.transfer import transfer_matrices
    from featbert.runs.experiment import plan_experiment
    from featbert.runs.schedule import carry_out

    where: dict[str, Any] = {"cache_dir": cache_dir, "runs_dir": runs_dir, "resources": resources}
    plan = plan_experiment(experiment, **where)
    if dry_run:
        typer.echo(_describe(plan))
        return
    missing, known = len(plan.missing), counted(len(plan.jobs), "run")
    say(f"{experiment.name}: {missing:,} of {known} to train{_later(plan)}")
    outcome = carry_out(experiment, jobs=jobs, log_dir=log_dir, **where)
    if outcome.runs:
        record = outcome.plan.record(outcome.failures)
        comparisons, notes = of_experiment(record, outcome.runs)
        outputs.show(
            comparisons,
            transfer_matrices(outcome.runs) if experiment.keys.transfer else [],
            published=experiment.keys.published,
            show=experiment.keys.show,
            notes=notes,
            name=experiment.name,
        )
    if outcome.failures:
        for name, reason in outcome.failures.items():
            typer.echo(printable(f"failed: {name}: {reason}"), err=True)
        waiting = sum(job.name not in outcome.failures for job in outcome.plan.missing)
        skipped = f", {counted(waiting, 'run')} that need them were skipped" if waiting else ""
        raise InputError(
            f"{counted(len(outcome.failures), 'run')} failed{skipped}; run the same command to try "
            "again"
        )


def _later(plan: ExperimentPlan) -> str:
    later = []
    if n := len(plan.adaptations):
        one = "encoder to train as a language model first"
        later.append(counted(n, one, "encoders to train as language models first"))
    if n := sum(search.record.chosen is None for search in plan.searches):
        one = "grid search decides on further runs"
        later.append(counted(n, one, "grid searches decide on further runs"))
    return "; " + "; ".join(later) if later else ""


def _describe(plan: ExperimentPlan) -> str:
    from featbert.report.tables import search_line

    lines = [f"{plan.experiment.name}: {counted(len(plan.jobs), 'run')}{_later(plan)}"]
    stores = {j.extraction.path: j.extraction for j in plan.jobs if j.extraction is not None}
    for path, extraction in stores.items():
        state = (
            "exists" if extraction.hit else f"to extract, {size(extraction.manifest.data_bytes)}"
        )
        lines.append(f"store  {state}  {counted(extraction.manifest.words, 'word')}  {path}")
    for adaptation in plan.adaptations:
        lines.append(f"adapt  to train  {adaptation.plan.folder}")
    for job in plan.jobs:
        done = job.run.finished
        line = "to train  " + job.name if done is None else run_line(done, was_there=True)
        lines.append(f"run    {line}")
    lines += [f"grid   {search_line(search.record)}" for search in plan.searches]
    return "\n".join(printable(line) for line in lines)

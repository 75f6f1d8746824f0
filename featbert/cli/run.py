"""featbert run"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from featbert.cli import options as o
from featbert.cli.app import app
from featbert.cli.progress import Meter
from featbert.cli.text import count, run_line
from featbert.report.units import size

if TYPE_CHECKING:
    from featbert.experiments.execution import ExperimentPlan


@app.command(
    epilog="Example: featbert run experiments/quickstart.toml --set seeds=[1,2,3]",
)
def run(
    file: Annotated[Path, typer.Argument(help="Experiment file (TOML).")],
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Override one key, such as features.epochs=2."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan; do nothing.")] = False,
    cache_dir: o.CacheDir = Path("cache"),
    runs_dir: o.RunsDir = Path("experiments/runs"),
    format: o.ReportFormat = "text",
    quiet: o.Quiet = False,
) -> None:
    """Carry out an experiment file: extract once, train what is missing, compare.

    Interrupted, the same command goes on; finished runs are not trained again.
    """
    o.check_folder(cache_dir, "--cache-dir")
    o.check_folder(runs_dir, "--runs-dir")
    from featbert.comparison import compare_runs
    from featbert.data import load_corpus
    from featbert.experiments.file import read_experiment
    from featbert.experiments.identity import check_trainable
    from featbert.features.layers import parse_layers
    from featbert.features.source import find_encoder
    from featbert.report import render

    experiment = read_experiment(file, changes or [])
    check_trainable(load_corpus(experiment.data, **experiment.reading))
    source = find_encoder(experiment.model)
    for spec in experiment.features.layers if experiment.features else []:
        parse_layers(spec, source.num_layers)
    meter = Meter(quiet=quiet)

    from featbert.cli.compare import render_for_terminal
    from featbert.experiments.execution import carry_out, plan_experiment

    plan = plan_experiment(experiment, cache_dir=cache_dir, runs_dir=runs_dir)
    if dry_run:
        typer.echo(_describe(plan))
        return
    meter.say(
        f"{experiment.name}: {count(len(plan.missing))} of {count(len(plan.runs))} runs to train"
    )
    runs = []
    with ExitStack() as stack:
        bar = stack.enter_context(meter.measure("extracting", "words"))
        on_extraction = bar.update

        def on_run(planned: object, number: int, total: int) -> object:
            stack.close()
            layers = getattr(planned, "layers", None) or "fine-tuning"
            what = f"{number}/{total} {layers}, seed {getattr(planned, 'seed', '')}"
            return stack.enter_context(meter.training(what)).listeners

        runs = carry_out(
            plan,
            on_extraction=on_extraction,
            on_run=on_run,  # type: ignore[arg-type]
        )
    comparison = compare_runs(runs, vary=experiment.vary)
    typer.echo(render_for_terminal(render, [comparison], format, ()), nl=False)


def _describe(plan: ExperimentPlan) -> str:
    """The plan as text: the store and every run with its state."""
    lines = [f"{plan.experiment.name}: {plan.corpus.name}, {plan.source.name}, {plan.device.name}"]
    if plan.extraction is not None:
        m = plan.extraction.manifest
        state = (
            "exists" if plan.extraction.hit else f"to extract, {size(plan.extraction.data_bytes)}"
        )
        lines.append(f"store  {state}  {count(m.words)} words  {plan.extraction.path}")
    for planned in plan.runs:
        done = planned.finished
        state = "to train" if done is None else run_line(done, was_there=True)
        name = f"{planned.layers or 'fine-tuning'}  seed {planned.seed}"
        lines.append(f"run    {name}  {state}" if done is None else f"run    {state}")
    return "\n".join(lines)

"""featbert runs: list, show, rm"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from featbert.cli import options as o
from featbert.cli.app import app
from featbert.cli.text import count, grid, printable, printable_lines, unusual
from featbert.errors import InputError, MissingError, nearest
from featbert.report.units import NONE, duration, parameters, percent, size
from featbert.wording import counted

if TYPE_CHECKING:
    from featbert.comparison import Problem, Run
    from featbert.comparison.unfinished import UnfinishedRun

HEADER = ["run", "state", "what", "seed", "dev F1", "test F1", "training"]
# Files of which a folder has at least one that featbert made as a run.
MADE = ("record.json", "config.json")

# Behind `show` and `rm`, too; the one before them counts where there is none.
RunsDirHere = Annotated[
    Path | None, typer.Option("--runs-dir", help="Folder of runs.", show_default=False)
]

runs_app = typer.Typer(rich_markup_mode=None)
app.add_typer(runs_app, name="runs", invoke_without_command=True)


@runs_app.callback(epilog="Example: featbert runs --runs-dir experiments/runs")
def runs(
    ctx: typer.Context,
    runs_dir: o.RunsDir = Path("experiments/runs"),
    format: o.TableFormat = "text",
) -> None:
    """List runs: state, scores, time. `show` tells all of one, `rm` removes."""
    ctx.obj = runs_dir
    if ctx.invoked_subcommand is not None:
        return
    from featbert.comparison import find_runs
    from featbert.comparison.unfinished import unfinished_run

    found = find_runs(runs_dir)
    unfinished = [unfinished_run(folder) for folder in found.unfinished]
    if format == "json":
        told = [
            *(_finished_object(run) for run in found),
            *(_unfinished_object(run) for run in unfinished),
            *(_damaged_object(problem) for problem in found.problems),
        ]
        typer.echo(json.dumps(told, indent=1, ensure_ascii=False))
        return
    rows = [
        *(_finished_row(run) for run in found),
        *(_unfinished_row(run) for run in unfinished),
        *(_damaged_row(problem) for problem in found.problems),
    ]
    if not rows:
        raise MissingError(
            f"runs expected in {runs_dir}, found none; featbert train and finetune make them"
        )
    typer.echo(printable_lines(grid(HEADER, sorted(rows)).rstrip("\n")))


@runs_app.command(epilog="Example: featbert runs show NAME")
def show(
    ctx: typer.Context,
    run: Annotated[str, typer.Argument(help="Run folder or name.")],
    runs_dir: RunsDirHere = None,
) -> None:
    """Show all of one run: scores by type, epochs, settings, cost, signature."""
    from featbert.experiments.usable import find_run

    typer.echo(printable_lines(_told(find_run(run, runs_dir or ctx.obj))), nl=False)


@runs_app.command(epilog="Example: featbert runs rm NAME")
def rm(
    ctx: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="RUN...", help="Run folders or names.")],
    runs_dir: RunsDirHere = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove runs with their weights and predictions; asks first."""
    folders = list(dict.fromkeys(_run_folder(name, runs_dir or ctx.obj) for name in names))
    total = sum(p.stat().st_size for f in folders for p in f.rglob("*") if p.is_file())
    for folder in folders:
        typer.echo(printable(str(folder)))
    if not yes:
        typer.confirm(f"Remove {counted(len(folders), 'run')}, {size(total)}?", abort=True)
    for folder in folders:
        # The record first: what is half removed is no finished run.
        (folder / "record.json").unlink(missing_ok=True)
        shutil.rmtree(folder)
    typer.echo(f"removed {counted(len(folders), 'run')}, {size(total)}")


def _run_folder(name: str, runs_dir: Path) -> Path:
    """A folder that holds a run, finished or not, and nothing else."""
    for folder in (runs_dir / name, Path(name)):
        if name and folder.is_dir():
            break
    else:
        known = [p.name for p in runs_dir.iterdir()] if runs_dir.is_dir() else []
        raise MissingError(
            f"a run expected, {name!r} is no folder, here or in {runs_dir}{nearest(name, known)}"
        )
    if folder.is_symlink():
        raise InputError(f"a run's own folder expected, {folder} is a link; remove it by hand")
    if not any((folder / made).is_file() for made in MADE):
        raise InputError(f"a run expected, {folder} holds neither {' nor '.join(MADE)}")
    return folder


def _finished_row(run: Run) -> tuple[str, list[str]]:
    r = run.record
    scores = [percent(r.scores[s].entity.f1) if s in r.scores else NONE for s in ("dev", "test")]
    what = r.layers or "fine-tuning"
    took = duration(r.cost.training_seconds)
    return run.name, ["finished", what, str(r.seed), *scores, took]


def _unfinished_row(run: UnfinishedRun) -> tuple[str, list[str]]:
    epochs = NONE if run.epochs is None else str(run.epochs)
    what = NONE if run.approach is None else run.layers or "fine-tuning"
    seed = NONE if run.seed is None else str(run.seed)
    state = f"epoch {run.epochs_done} of {epochs}"
    return run.folder.name, [state, what, seed, percent(run.dev_f1), NONE, duration(run.seconds)]


def _damaged_row(problem: Problem) -> tuple[str, list[str]]:
    return problem.folder.name, ["damaged", *[NONE] * 5]


def _finished_object(run: Run) -> dict[str, Any]:
    r = run.record
    return {
        "run": run.name,
        "state": "finished",
        "approach": r.approach,
        "layers": r.layers,
        "corpus": r.signature.corpus,
        "model": r.signature.model,
        "seed": r.seed,
        "f1": {split: scores.entity.f1 for split, scores in r.scores.items()},
        "training_seconds": r.cost.training_seconds,
        "started": r.started,
    }


def _unfinished_object(run: UnfinishedRun) -> dict[str, Any]:
    return {
        "run": run.folder.name,
        "state": "unfinished",
        "approach": run.approach,
        "layers": run.layers,
        "corpus": run.corpus,
        "model": run.model,
        "seed": run.seed,
        "epochs_done": run.epochs_done,
        "epochs": run.epochs,
        "dev_f1": run.dev_f1,
    }


def _damaged_object(problem: Problem) -> dict[str, Any]:
    return {"run": problem.folder.name, "state": "damaged", "reason": problem.reason}


def _told(run: Run) -> str:
    """All of a finished run, for people."""
    r, s, c = run.record, run.record.signature, run.record.cost
    facts = [
        ("what", r.layers or "fine-tuning"),
        ("corpus", f"{s.corpus} ({s.source}), trained on {' and '.join(r.trained_on)}"),
        ("encoder", f"{s.model}, weights {s.encoder_weights[:12]}, {s.pooling} wordpiece"),
        ("context", f"{s.context}, casing {s.casing}, labels {s.tag_scheme}"),
        ("seed", str(r.seed)),
        ("settings", ", ".join(f"{k}={v}" for k, v in r.settings.items() if v is not None)),
        ("precision", f"encoder {s.encoder_precision}, training {s.training_precision}"),
        ("scorer", s.scorer),
        ("machine", f"{s.device_name}, {counted(s.threads, 'thread')}"),
        ("started", r.started),
        ("training", f"{duration(c.training_seconds)}, peak memory {size(c.peak_memory_bytes)}"),
        ("parameters", f"{parameters(c.trained_parameters)} trained"),
    ]
    if c.extraction_seconds is not None:
        facts.append(("extraction", f"{duration(c.extraction_seconds)}, {size(c.store_bytes)}"))
    if r.mix is not None:
        weights = ", ".join(
            f"{layer}: {weight:.3f}"
            for layer, weight in zip(r.mix.layers, r.mix.weights, strict=True)
        )
        facts.append(("mix", f"{weights}; scale {r.mix.scale:.3f}"))
    if unusual(r.counts):
        facts.append(("unusual", unusual(r.counts)))
    parts = [f"{run.folder}\n", grid(["", ""], [(k, [v]) for k, v in facts], justify="left")]
    scores = [
        (f"{split} {name}", [percent(p.precision), percent(p.recall), percent(p.f1), count(p.gold)])
        for split, found in r.scores.items()
        for name, p in [("all", found.entity), *found.by_type.items()]
    ]
    parts.append(grid(["scores", "precision", "recall", "F1", "entities"], scores))
    epochs = [
        (
            str(e.epoch) + (" best" if e.epoch == r.best_epoch else ""),
            [f"{e.train_loss:.4f}", percent(e.dev_f1), duration(e.seconds)],
        )
        for e in r.history
    ]
    parts.append(grid(["epoch", "train loss", "dev F1", "time"], epochs))
    return "\n".join(part.strip("\n") + "\n" for part in parts)

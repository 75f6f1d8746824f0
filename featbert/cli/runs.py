"""featbert runs: list, show, rm"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.main import Command, Group, app
from featbert.cli.showing import grid
from featbert.errors import InputError, MissingError
from featbert.report.units import size
from featbert.text import counted, json_text, printable

if TYPE_CHECKING:
    from featbert.runs.run import FoundRuns

# Files of which a folder has at least one that featbert made as a run.
MADE = ("record.json", "config.json")

# Behind `show` and `rm`, too; the one before them counts where there is none.
RUNS_DIR = o.option("DIR", "Folder of runs.  [default: experiments/runs]")

runs_app = typer.Typer(cls=Group, rich_markup_mode=None)
app.add_typer(runs_app, name="runs", invoke_without_command=True)


@runs_app.callback(epilog="Example: featbert runs --runs-dir experiments/runs")
def runs(
    ctx: typer.Context,
    runs_dir: Path = o.RUNS_DIR,
    format: o.TableFormat = o.TABLE_FORMAT,
) -> None:
    """List runs: state, scores, time. `show` shows all of one, `rm` removes."""
    ctx.obj = runs_dir
    if ctx.invoked_subcommand is not None:
        return
    from featbert.report.rendering import as_text
    from featbert.report.tables import runs_table
    from featbert.runs.run import find_runs

    found = find_runs(runs_dir)
    if format == "json":
        typer.echo(json_text(list(_objects(found))))
        return
    table = runs_table(found)
    if not table.rows():
        raise MissingError(f"{runs_dir} holds no runs; featbert train and finetune make them")
    typer.echo(as_text(table).rstrip("\n"))


@runs_app.command(cls=Command, epilog="Example: featbert runs show RUN")
def show(
    ctx: typer.Context,
    run: str = o.argument("RUN", "Run folder or name.", completion.finished_runs),
    runs_dir: Path | None = RUNS_DIR,
) -> None:
    """Show all of one run: scores by type, epochs, settings, cost."""
    from featbert.report.rendering import as_text
    from featbert.report.tables import epochs_table, run_facts, run_scores_table
    from featbert.runs.run import find_run

    found = find_run(run, runs_dir or ctx.obj)
    facts = grid(["", ""], [(name, [value]) for name, value in run_facts(found)], justify="left")
    tables = map(as_text, (run_scores_table(found), epochs_table(found)))
    parts = [part.strip("\n") + "\n" for part in (f"{found.folder}\n", facts, *tables)]
    typer.echo(printable("\n".join(parts), keep="\n"), nl=False)


@runs_app.command(cls=Command, epilog="Example: featbert runs rm RUN")
def rm(
    ctx: typer.Context,
    names: list[str] = o.argument("RUN", "Run folders or names.", completion.runs),
    runs_dir: Path | None = RUNS_DIR,
    yes: bool = o.flag("--yes", "Do not ask."),
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
    """A folder of the runs directory that holds a run, finished or not."""
    from featbert.runs.run import find_folder

    folder = find_folder(name, runs_dir)
    if folder.is_symlink():
        raise InputError(f"{folder} is a link, not the run's own folder; remove it by hand")
    if not any((folder / made).is_file() for made in MADE):
        raise InputError(f"{folder} is no run, it holds neither {' nor '.join(MADE)}")
    # An encoder has a config.json, too; only folders of the runs directory are removed.
    if folder.resolve().parent != runs_dir.resolve():
        raise InputError(f"{folder} is not in {runs_dir}; name its folder by --runs-dir")
    return folder


def _objects(found: FoundRuns) -> Iterator[dict[str, Any]]:
    from featbert.runs.run import unfinished_run

    for run in found:
        r = run.record
        yield {
            "run": run.name,
            "state": "finished",
            "tuning": r.tuning,
            "layers": r.layers,
            "corpus": r.signature.corpus,
            "model": r.signature.model,
            "seed": r.seed,
            "scores": {split: r.score(split) for split in r.scores},
            "training_seconds": r.cost.training_seconds,
            "started": r.started,
        }
    for folder in found.unfinished:
        known = unfinished_run(folder)
        del known["seconds"]
        yield {"run": folder.name, "state": "unfinished", **known}
    for folder, reason in found.problems.items():
        yield {"run": folder.name, "state": "damaged", "reason": reason}

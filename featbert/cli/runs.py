"""featbert runs: list, show, rm, tag, note, pack, unpack"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.main import Command, Group, app
from featbert.cli.showing import remove, show_tables, terminal_width
from featbert.errors import InputError, MissingError
from featbert.text import counted, json_text, printable

if TYPE_CHECKING:
    from featbert.runs.record import Notes

# Also accepted after `show`, `rm` and others. By default the value before the subcommand.
RUNS_DIR = o.option("DIR", "Folder of runs.  [default: experiments/runs]")

runs_app = typer.Typer(cls=Group, rich_markup_mode=None)
app.add_typer(runs_app, name="runs", invoke_without_command=True)


def _command(example: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a function a command of `featbert runs`."""
    return runs_app.command(cls=Command, epilog=f"Example: featbert runs {example}")


@runs_app.callback(epilog="Example: featbert runs --runs-dir experiments/runs")
def runs(
    ctx: typer.Context,
    runs_dir: Path = o.KEPT_RUNS,
    data: str | None = o.RUN_DATA,
    model: str | None = o.option("TEXT", "Only runs of encoders with this in their name."),
    task: str | None = o.RUN_TASK,
    tuning: str | None = o.option(
        "TEXT", "Only runs with this tuning. none means runs on features."
    ),
    layers: str | None = o.option("TEXT", "Only runs on these layers."),
    tag: str | None = o.option("TEXT", "Only runs with this tag."),
    sort: Literal["date", "corpus", "model", "row", "seed", "dev", "test"] = o.option(
        "COLUMN", "Column to sort by: newest and highest first.", default="date"
    ),
    format: o.TableFormat = o.TABLE_FORMAT,
) -> None:
    """List runs: id, date, row, scores. `show` shows all of a run, `rm` removes runs.

    A row's label names the settings in which the listed runs differ. The first four characters of a
    run's id are enough.
    """
    ctx.obj = runs_dir
    if ctx.invoked_subcommand is not None:
        return
    from featbert.analysis.listing import run_lines
    from featbert.report.listings import runs_table
    from featbert.runs.run import find_runs

    filters = {"corpus": data, "model": model, "task": task, "tuning": tuning, "layers": layers}
    filters["tags"] = tag
    lines = run_lines(find_runs(runs_dir), filters, sort)
    if format == "json":
        typer.echo(json_text(lines))
        return
    if not lines:
        raise MissingError(
            f"no run of that kind in {runs_dir}; featbert runs without filters lists all"
            if any(filters.values())
            else f"no runs yet in {runs_dir}; train one with featbert train or finetune"
        )
    show_tables([runs_table(lines)], "text")


@_command("show RUN")
def show(
    ctx: typer.Context,
    run: str = o.RUN,
    best: bool = o.BEST,
    data: str | None = o.RUN_DATA,
    runs_dir: Path | None = RUNS_DIR,
    signature: bool = o.flag("--signature", "Print only a line that a paper can quote."),
) -> None:
    """Show a whole run: scores by type, epochs, settings, cost."""
    from featbert.analysis.labels import signature_line
    from featbert.analysis.listing import find_run_called
    from featbert.report.grid import grid
    from featbert.report.listings import epochs_table, run_facts, run_scores_table

    chosen = find_run_called(run, runs_dir or ctx.obj, best, data)
    if signature:
        typer.echo(printable(signature_line([chosen])))
        return
    *facts, (_, line) = run_facts(chosen)
    table = grid(["", ""], facts, justify="left", width=terminal_width())
    typer.echo(f"{printable(str(chosen.folder))}\n{table}")
    show_tables([run_scores_table(chosen), epochs_table(chosen)], "text")
    typer.echo(f"\nsignature: {line}")  # on one line, to be copied


@_command("rm RUN")
def rm(
    ctx: typer.Context,
    names: list[str] | None = o.argument(
        "RUN", f"{o.NAMED_RUNS} By default all on --data.", completion.runs, None
    ),
    data: str | None = o.RUN_DATA,
    runs_dir: Path | None = RUNS_DIR,
    yes: bool = o.flag("--yes", "Do not ask."),
) -> None:
    """Remove runs with their weights and predictions, after a question."""
    from featbert.analysis.listing import run_lines
    from featbert.runs.folder import folders_of
    from featbert.runs.run import find_runs, own_folder

    place = runs_dir or ctx.obj
    if data == "":  # a variable of the shell that is not set
        raise InputError("is empty; name a corpus", setting="data")
    if not names and data is None:
        raise InputError("no run is named; give RUN, or --data for all runs on a corpus")
    of_data = None
    if data is not None:
        of_data = [line["run"] for line in run_lines(find_runs(place), {"corpus": data})]
        if not of_data:
            raise MissingError(f"no run on {data!r} in {place}; featbert runs lists all")
    folders = dict.fromkeys(own_folder(name, place, of_data) for name in names or of_data or ())
    remove([*map(folders_of, folders)], "run", yes=yes)


@_command("tag RUN paper")
def tag(
    ctx: typer.Context,
    name: str = o.argument("RUN", o.NAMED_RUN, completion.runs),
    tags: list[str] = o.argument("TAG", "Tags."),
    remove: bool = o.flag("--remove", "Remove these tags."),
    runs_dir: Path | None = RUNS_DIR,
) -> None:
    """Add or remove tags."""
    from featbert.runs.record import change_notes
    from featbert.runs.run import own_folder

    folder = own_folder(name, runs_dir or ctx.obj)
    if bad := [tag for tag in tags if "," in tag or not tag.strip()]:
        raise InputError(f"{bad[0]!r} is no tag; give words without commas")

    def change(notes: Notes) -> Notes:
        result = [name for name in notes.tags if name not in tags]
        return replace(notes, tags=result if remove else [*result, *dict.fromkeys(tags)])

    notes = change_notes(folder, change)
    typer.echo(printable(f"{folder.name}: {', '.join(notes.tags) or 'no tags'}"))


@_command("note RUN 'for the appendix'")
def note(
    ctx: typer.Context,
    name: str = o.argument("RUN", o.NAMED_RUN, completion.runs),
    text: str = o.argument("TEXT", "The note. An empty text removes it.", default=""),
    runs_dir: Path | None = RUNS_DIR,
) -> None:
    """Write a note on a run."""
    from featbert.runs.record import change_notes
    from featbert.runs.run import own_folder

    folder = own_folder(name, runs_dir or ctx.obj)
    notes = change_notes(folder, lambda notes: replace(notes, note=text))
    typer.echo(printable(f"{folder.name}: {notes.note or 'no note'}"))


@_command("pack quickstart -o quickstart.jsonl.xz")
def pack(
    ctx: typer.Context,
    experiment: str | None = o.argument(
        "EXPERIMENT",
        "An experiment that was run.  [default: all finished runs]",
        completion.experiments,
        None,
    ),
    output: Path = o.output("Results file to write, *.jsonl.xz."),
    text: bool = o.flag("--predictions", "Keep predictions too, with the sentences of the corpus."),
    runs_dir: Path | None = RUNS_DIR,
) -> None:
    """Write records and counts of runs into one file, which is read like a runs folder.

    The file is enough for tables, tests and breakdowns. It has no weights and no text.
    """
    from featbert.experiments.pack import pack_runs
    from featbert.units import size

    runs = pack_runs(runs_dir or ctx.obj, output, experiment, with_text=text)
    typer.echo(printable(f"{output}: {counted(runs, 'run')}, {size(output.stat().st_size)}"))


@_command("unpack results.jsonl.xz --runs-dir experiments/runs")
def unpack(
    ctx: typer.Context,
    file: Path = o.argument("FILE", "Results file, *.jsonl.xz."),
    runs_dir: Path | None = RUNS_DIR,
) -> None:
    """Copy the runs of a results file into a folder, to add runs to an experiment.

    `featbert run` then trains only the missing runs. Finished runs in the folder are kept.
    """
    from featbert.experiments.pack import unpack_runs

    folder = runs_dir or ctx.obj
    n_copied, n_kept = unpack_runs(file, folder)
    typer.echo(printable(f"{folder}: {counted(n_copied, 'run')} copied, {n_kept} kept as they are"))

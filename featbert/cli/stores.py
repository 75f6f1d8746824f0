"""featbert inspect, verify, and cache: ls, rm"""

import dataclasses
from pathlib import Path

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.main import Command, Group, app
from featbert.cli.showing import remove, terminal_width
from featbert.encoders.source import ENCODER_FILES
from featbert.errors import FeatbertError, InputError, check_known
from featbert.report.grid import grid
from featbert.text import counted, json_text, listed, printable
from featbert.units import size

EXAMPLE = "cache/sample--all-MiniLM-L6-v2--1a2b3c4d.h5"
cache_app = typer.Typer(cls=Group, rich_markup_mode=None)
app.add_typer(cache_app, name="cache", invoke_without_command=True)


@o.command(f"inspect {EXAMPLE}")
def inspect(
    store: Path = o.argument("STORE", "Feature store (.h5).", completion.stores),
    format: o.TableFormat = o.TABLE_FORMAT,
) -> None:
    """Show the content of a feature store: text, encoder, layers, sizes."""
    from featbert.features.store import FeatureStore
    from featbert.report.listings import store_facts

    opened = FeatureStore(store)
    if format == "json":
        about = {"path": str(store), "file_bytes": opened.file_bytes}
        typer.echo(json_text(dataclasses.asdict(opened.manifest) | about))
        return
    typer.echo(printable(str(store)))
    typer.echo(grid(["", ""], store_facts(opened), justify="left", width=terminal_width()))


@o.command(f"verify {EXAMPLE}")
def verify(
    stores: list[Path] = o.argument("STORE", "Feature stores (.h5).", completion.stores),
) -> None:
    """Compare every block of feature stores with its checksum.

    Reads each store once and names damaged blocks. The exit code is 1 if there are any.
    """
    from featbert.features.store import FeatureStore

    n_damaged = 0
    for path in stores:
        try:
            store = FeatureStore(path)
            lines = [f"damaged: {line}" for line in store.verify()]
        except FeatbertError as error:
            if len(stores) == 1:
                raise
            lines = [str(error)]
        n_damaged += bool(lines)
        if not lines:
            m = store.manifest
            sizes = counted(len(m.layers), "layer"), counted(m.words, "word"), size(m.data_bytes)
            lines = [f"intact: {', '.join(sizes)}"]
        for line in lines:
            typer.echo(printable(f"{path}: {line}"))
    if n_damaged:
        raise InputError(
            f"{n_damaged} of {len(stores)} stores cannot be used; delete them and extract again"
        )


def _cached(ctx: typer.Context) -> list[str]:
    from featbert.analysis.storage import items_of_cache

    return items_of_cache(completion.folder_of(ctx, "cache_dir"))


@cache_app.callback(epilog="Example: featbert cache ls")
def cache(ctx: typer.Context) -> None:
    """List and remove feature stores and adapted encoders. By default `cache ls`."""
    if ctx.invoked_subcommand is None:
        ls(**completion.FOLDERS, format="text")


@cache_app.command(cls=Command, epilog="Example: featbert cache ls")
def ls(
    cache_dir: Path = o.CACHE_DIR,
    runs_dir: Path = o.RUNS_DIR,
    format: o.TableFormat = o.TABLE_FORMAT,
) -> None:
    """List stores and adapted encoders: size, kind of vectors, date, number of runs."""
    from featbert.analysis.storage import cache_lines
    from featbert.runs.run import find_runs

    runs = list(find_runs(runs_dir)) if runs_dir.is_dir() else []
    items = cache_lines(cache_dir, runs)
    if format == "json":
        typer.echo(json_text(items))
        return
    rows = [
        (i["name"], size(i["bytes"]), i.get("keep", ""), i["made"][:10], str(len(i["runs"])))
        for i in items
    ]
    table, total = f"{cache_dir}: ", "no feature stores or adapted encoders"
    if rows:
        header = [str(cache_dir), "size", "keeps", "made", "runs"]
        table = grid(header, rows, width=terminal_width())
        total = f"{counted(len(rows), 'item')}, {size(sum(item['bytes'] for item in items))}"
    typer.echo(printable(table + total, keep="\n"))


@cache_app.command(cls=Command, epilog="Example: featbert cache rm NAME")
def rm(
    names: list[str] = o.argument("NAME", "Names from `featbert cache ls`, or parts.", _cached),
    cache_dir: Path = o.CACHE_DIR,
    yes: bool = o.flag("--yes", "Do not ask."),
) -> None:
    """Remove feature stores and adapted encoders, after a question. Runs stay."""
    from featbert.analysis.storage import items_of_cache
    from featbert.features.index import SHARD_FILES, shards_folder

    items = items_of_cache(cache_dir)
    matches = {part: [name for name in items if part in name] for part in names if len(part) > 3}
    for part, matching in matches.items():
        if len(matching) > 1 and part not in items:
            several = f"{len(matching)} items of {cache_dir}: {listed(matching, 4, width=255)}"
            raise InputError(f"{part!r} is {several}; give more of one name")
    names = [matches[part][0] if len(matches.get(part, ())) == 1 else part for part in names]
    check_known(f"item of {cache_dir}", names, items)
    paths = [cache_dir / name for name in dict.fromkeys(names)]  # stores are files
    chosen = [{path: ENCODER_FILES, shards_folder(path): SHARD_FILES} for path in paths]
    remove(chosen, "item", yes=yes)

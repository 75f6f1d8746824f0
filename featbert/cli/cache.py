"""featbert cache: ls, rm"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.main import Command, Group, app
from featbert.cli.showing import disk, remove, terminal_width
from featbert.encoders.source import ADAPTATION_RECORD, ENCODER_FILES, read_json
from featbert.errors import FeatbertError, InputError, MissingError, check_known
from featbert.text import counted, json_text, listed, printable
from featbert.units import size

if TYPE_CHECKING:
    from featbert.runs.run import Run

cache_app = typer.Typer(cls=Group, rich_markup_mode=None)
app.add_typer(cache_app, name="cache", invoke_without_command=True)


def _in_cache(folder: Path) -> list[str]:
    """Feature stores and adapted encoders in the cache, by their paths in it."""
    encoders = [path.parent for path in folder.glob("models/*/adaptation.json")]
    return sorted(str(path.relative_to(folder)) for path in (*folder.glob("*.h5"), *encoders))


def _cached(ctx: typer.Context) -> list[str]:
    return _in_cache(completion.folder_of(ctx, "cache_dir"))


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
    from featbert.runs.run import find_runs

    runs = list(find_runs(runs_dir)) if runs_dir.is_dir() else []
    items = [_about(cache_dir, name, runs) for name in _in_cache(cache_dir)]
    if format == "json":
        typer.echo(json_text(items))
        return
    rows = [
        (i["name"], [size(i["bytes"]), i.get("keep", ""), i["made"][:10], str(len(i["runs"]))])
        for i in items
    ]
    table, total = f"{cache_dir}: ", "no feature stores or adapted encoders"
    if rows:
        from featbert.report.grid import grid

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
    from featbert.features.index import SHARD_FILES, shards_folder

    items = _in_cache(cache_dir)
    matches = {part: [name for name in items if part in name] for part in names if len(part) > 3}
    for part, matching in matches.items():
        if len(matching) > 1 and part not in items:
            several = f"{len(matching)} items of {cache_dir}: {listed(matching, 4, width=255)}"
            raise InputError(f"{part!r} is {several}; give more of one name")
    names = [matches[part][0] if len(matches.get(part, ())) == 1 else part for part in names]
    check_known(f"item of {cache_dir}", names, items)
    paths = [cache_dir / name for name in dict.fromkeys(names)]
    remove(
        [
            {path: ENCODER_FILES, shards_folder(path): SHARD_FILES}  # the first may be a file
            for path in paths
        ],
        "item",
        yes=yes,
    )


def _about(cache_dir: Path, name: str, runs: Sequence[Run]) -> dict[str, Any]:
    """Facts about a store or an adapted encoder, with the names of the runs that use it."""
    from featbert.features.index import shards_folder
    from featbert.features.store import FeatureStore

    path = cache_dir / name
    facts: dict[str, Any] = {"name": name, "bytes": disk(path) + disk(shards_folder(path))}
    try:
        if path.is_dir():
            about = read_json(path / ADAPTATION_RECORD)
            made = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat()
            signed = {"encoder_weights": about["weights"]}
        else:
            about = vars(manifest := FeatureStore(path).manifest)
            made = about["created"]
            facts |= {"keep": manifest.keep, "kinds": list(manifest.kinds)}
            keys = ("encoder_weights", "encoder_files", "context", "casing", "pooling", "packing")
            signed = {key: about[key] for key in keys} | {
                "encoder_precision": about["precision"],
                "store_dtype": about["dtype"],
                "texts": {split: stored.text for split, stored in about["splits"].items()},
            }
    except (ValueError, LookupError, TypeError, MissingError) as error:
        return facts | {"made": "damaged", "runs": [], "reason": str(error)}
    except (FeatbertError, OSError) as error:  # an error of the system may pass
        return facts | {"made": "unreadable", "runs": [], "reason": str(error)}
    users = []
    for run in runs:
        signature = run.record.signature
        texts = {split: identity.text for split, identity in signature.splits.items()}
        if signed.items() <= (vars(signature) | {"texts": texts}).items():
            users.append(run.name)
    return facts | {"corpus": about["corpus"], "model": about["model"], "made": made, "runs": users}

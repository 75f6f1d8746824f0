"""featbert cache: ls, rm"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.main import Command, Group, app
from featbert.cli.showing import disk, grid, remove
from featbert.encoders.source import ADAPTATION_RECORD
from featbert.errors import FeatbertError, check_known
from featbert.io import owning
from featbert.report.units import size
from featbert.text import counted, json_text, printable

if TYPE_CHECKING:
    from featbert.features.store import Manifest
    from featbert.runs.record import RunRecord

cache_app = typer.Typer(cls=Group, rich_markup_mode=None, no_args_is_help=True)
app.add_typer(cache_app, name="cache")


@cache_app.callback(epilog="Example: featbert cache ls")
def cache() -> None:
    """List and remove feature stores and adapted encoders."""


@cache_app.command(cls=Command, epilog="Example: featbert cache ls")
def ls(
    cache_dir: Path = o.CACHE_DIR,
    runs_dir: Path = o.RUNS_DIR,
    format: o.TableFormat = o.TABLE_FORMAT,
) -> None:
    """List feature stores and adapted encoders: size, date, and how many runs read them."""
    found = list(_objects(cache_dir, runs_dir))
    if format == "json":
        typer.echo(json_text(found))
        return
    rows = [
        (one["name"], [size(one["bytes"]), one["made"][:10], str(len(one["runs"]))])
        for one in found
    ]
    total = f"{counted(len(rows), 'item')}, {size(sum(one['bytes'] for one in found))}"
    table = grid([str(cache_dir), "size", "made", "runs"], rows) if rows else f"{cache_dir}: "
    typer.echo(printable(table + total, keep="\n"))


@cache_app.command(cls=Command, epilog="Example: featbert cache rm NAME")
def rm(
    names: list[str] = o.argument("NAME", "Names as cache ls has them.", completion.cached),
    cache_dir: Path = o.CACHE_DIR,
    yes: bool = o.flag("--yes", "Do not ask."),
) -> None:
    """Remove feature stores and adapted encoders; asks first. Runs stay."""
    check_known("name", names, completion.in_cache(cache_dir))
    paths = [cache_dir / name for name in dict.fromkeys(names)]
    for path in paths:
        with owning(path):  # which is refused while it is made
            pass
    whole = [path / ADAPTATION_RECORD if path.is_dir() else path for path in paths]
    found = [(first, path, _shards(path)) for first, path in zip(whole, paths, strict=True)]
    remove(found, "item", yes=yes)


def _shards(path: Path) -> Path:
    from featbert.features.store import shards_folder

    return shards_folder(path)


def _objects(cache_dir: Path, runs_dir: Path) -> Iterator[dict[str, Any]]:
    from featbert.features.store import FeatureStore
    from featbert.runs.run import find_runs

    runs = list(find_runs(runs_dir)) if runs_dir.is_dir() else []
    for name in completion.in_cache(cache_dir):
        path = cache_dir / name
        one = {"name": name, "bytes": disk(path) + disk(_shards(path))}
        read: list[str] = []
        try:
            if path.is_dir():
                about = json.loads((path / ADAPTATION_RECORD).read_text("utf-8"))
                read = [
                    r.name for r in runs if r.record.signature.encoder_weights == about["weights"]
                ]
                about["created"] = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat()
            else:
                m = FeatureStore(path).manifest
                about = vars(m)
                read = [r.name for r in runs if _reads(r.record, m)]
            one |= {key: about[key] for key in ("corpus", "source", "model")}
            yield one | {"made": about["created"], "runs": read}
        except (FeatbertError, OSError, ValueError) as error:
            yield one | {"made": "damaged", "runs": [], "reason": str(error)}


def _reads(record: RunRecord, m: Manifest) -> bool:
    """Whether a run was trained on a store with this manifest."""
    signature = record.signature
    same = ("encoder_weights", "encoder_files", "context", "casing", "pooling", "packing")
    theirs = [getattr(signature, name) for name in same]
    theirs += [signature.encoder_precision, signature.store_dtype]
    texts = {name: split.text for name, split in signature.splits.items()}
    return theirs == [*(getattr(m, name) for name in same), m.precision, m.dtype] and texts == {
        name: split.text for name, split in m.splits.items()
    }

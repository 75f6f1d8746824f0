"""featbert inspect"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.app import Watched, app
from featbert.cli.text import count, grid, json_lines, printable_lines
from featbert.report.units import duration, size
from featbert.text import counted, unusual

if TYPE_CHECKING:
    from featbert.features.store.manifest import StoredSplit


@app.command(
    cls=Watched,
    epilog="Example: featbert inspect cache/sample--all-MiniLM-L6-v2--1a2b3c4d.h5",
)
def inspect(
    store: Annotated[
        Path,
        typer.Argument(
            metavar="STORE", help="Feature store (.h5).", autocompletion=completion.stores
        ),
    ],
    format: o.TableFormat = "text",
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare every block with its checksum.")
    ] = False,
    quiet: o.Quiet = False,
) -> None:
    """Show what a feature store holds: manifest, layers, sizes."""
    from featbert.features.store.reader import FeatureStore, StoreError

    opened = FeatureStore(store)
    m = opened.manifest
    if verify and (damage := opened.verify()):
        raise StoreError(f"an intact store expected, {store} is damaged in {'; '.join(damage)}")
    if format == "json":
        manifest = dataclasses.asdict(m) | {"path": str(store), "file_bytes": opened.file_bytes}
        typer.echo(json_lines(manifest))
        return
    rows = [
        ("corpus", [f"{m.corpus} ({m.source})"]),
        ("encoder", [f"{m.model}{', uncased' if m.uncased else ''}"]),
        ("weights", [m.encoder_weights[:16]]),
        ("layers", [f"{', '.join(map(str, m.layers))} of 0 to {m.num_layers} (0: embeddings)"]),
        ("vectors", [f"{m.hidden_size} numbers, {m.dtype}, {m.pooling} wordpiece, {m.context}"]),
        ("computed", [f"{m.precision} on {m.device_name}, {m.threads} threads, {m.created}"]),
        (
            "took",
            [f"{duration(m.seconds)}, {count(round(m.words / max(m.seconds, 1e-9)))} words/s"],
        ),
        ("size", [size(opened.file_bytes)]),
        *(
            (
                name,
                [_size_of(split)],
            )
            for name, split in m.splits.items()
        ),
        *([("verified", ["every block matches its checksum"])] if verify else []),
    ]
    table = grid(["", ""], rows, justify="left")
    typer.echo(printable_lines(f"{store}\n" + table.lstrip("\n")), nl=False)


def _size_of(split: StoredSplit) -> str:
    """Sentences and words of a split, and what was unusual in it."""
    sizes = [counted(split.sentences, "sentence"), counted(split.words, "word")]
    return ", ".join([*sizes, *filter(None, [unusual(split.counts)])])

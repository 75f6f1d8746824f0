"""featbert inspect and verify"""

import dataclasses
from pathlib import Path

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.showing import terminal_width
from featbert.errors import FeatbertError, InputError
from featbert.text import counted, json_text, printable
from featbert.units import size

EXAMPLE = "cache/sample--all-MiniLM-L6-v2--1a2b3c4d.h5"


@o.command(f"inspect {EXAMPLE}")
def inspect(
    store: Path = o.argument("STORE", "Feature store (.h5).", completion.stores),
    format: o.TableFormat = o.TABLE_FORMAT,
) -> None:
    """Show the content of a feature store: text, encoder, layers, sizes."""
    from featbert.features.store import FeatureStore
    from featbert.report.grid import grid
    from featbert.report.listings import store_facts

    opened = FeatureStore(store)
    m = opened.manifest
    if format == "json":
        manifest = dataclasses.asdict(m) | {"path": str(store), "file_bytes": opened.file_bytes}
        typer.echo(json_text(manifest))
        return
    typer.echo(printable(str(store)))
    facts = [(name, [text]) for name, text in store_facts(opened)]
    typer.echo(grid(["", ""], facts, justify="left", width=terminal_width()))


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

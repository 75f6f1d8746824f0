"""featbert verify"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.app import Watched, app
from featbert.cli.text import count, printable
from featbert.errors import FeatbertError, InputError
from featbert.report.units import size

if TYPE_CHECKING:
    from featbert.encoders.source import EncoderSource
    from featbert.features.store.reader import FeatureStore


@app.command(
    cls=Watched,
    epilog="Example: featbert verify cache/sample--all-MiniLM-L6-v2--1a2b3c4d.h5",
)
def verify(
    stores: Annotated[
        list[Path],
        typer.Argument(
            metavar="STORE...", help="Feature stores (.h5).", autocompletion=completion.stores
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="CORPUS",
            help="Also ask whether they are of this text.  [default: not asked]",
            autocompletion=completion.corpora,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="ENCODER",
            help="Also ask whether they are of this encoder.  [default: not asked]",
            autocompletion=completion.models,
        ),
    ] = None,
    quiet: o.Quiet = False,
) -> None:
    """Compare every block of feature stores with its checksum.

    Reads each store once and names what is damaged; exit code 1 where anything is.
    """
    from featbert.encoders.source import find_encoder
    from featbert.features.store.reader import FeatureStore

    source = None if model is None else find_encoder(model)
    wrong = 0
    for path in stores:
        try:
            store = FeatureStore(path)
            found = [f"damaged: {line}" for line in store.verify()]
        except FeatbertError as error:
            if len(stores) == 1:
                raise
            found = [str(error)]
        else:
            # Outside: a text that cannot be read is no fault of the store.
            found += _foreign(store, data, source)
        for line in found:
            typer.echo(printable(f"{path}: {line}"))
        if found:
            wrong += 1
        else:
            typer.echo(printable(f"{path}: intact; {_compared(store, data, source)}"))
    if wrong:
        raise InputError(
            f"intact stores expected, {wrong} of {len(stores)} cannot be used as they are; "
            "delete what is damaged and extract again"
        )


def _foreign(store: FeatureStore, data: str | None, source: EncoderSource | None) -> list[str]:
    """What the store is of that was not asked for."""
    from featbert.data.load import load_corpus
    from featbert.features.verification import encoder_differences, text_differences

    found = []
    if data is not None:
        corpus = load_corpus(data, **store.manifest.reading)
        found += text_differences(store.manifest, corpus)
    if source is not None:
        found += encoder_differences(store.manifest, source)
    return [f"foreign: {line}" for line in found]


def _compared(store: FeatureStore, data: str | None, source: EncoderSource | None) -> str:
    """What was read and found right."""
    m = store.manifest
    layers = f"{len(m.layers)} layer{'s' if len(m.layers) > 1 else ''}"
    told = f"{layers} x {count(m.words)} words, {size(m.data_bytes)} match their checksums"
    if data is not None:
        told += f"; of the text of {data}"
    if source is not None:
        told += f"; of the encoder {source.name}"
    return told

"""featbert embed"""

from pathlib import Path

import typer

from featbert import api
from featbert.cli import options as o
from featbert.errors import InputError
from featbert.text import counted, printable


@o.command(
    "embed reviews.txt -o vectors.npy",
    arguments=("texts",),
)
def embed(
    request: api.EmbedRequest,
    out: Path = o.option(
        "FILE",
        "File to write, whole or not at all: .npy, .parquet or .h5.",
        None,
        "--out",
        "-o",
        default=...,
    ),
) -> None:
    """Write a vector for each text of a file, in one pass. Nothing else is stored.

    Row i of the file is the vector of text i, in float32. A blank line is an empty text. With a
    sentence-transformers checkpoint, its modules give the defaults of pooling and normalisation. A
    text is never cut: windows cover a text that is longer than the encoder's positions.
    """
    from featbert.features.vectors import check_vectors_file, write_vectors

    check_vectors_file(out)
    if out.exists() and Path(request.texts).exists() and out.samefile(request.texts):
        raise InputError(f"--out {out} is the file with the texts; name another one")
    vectors = api.embed(request)
    about = {"model": request.source.name, "layer": request.layer}
    write_vectors(out, vectors, about)
    shape = f"{counted(len(vectors), 'vector')} of {counted(vectors.shape[1], 'number')}"
    typer.echo(printable(f"{out}: {shape}, float32"))

"""featbert predict and embed"""

import os
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

import typer

from featbert import api
from featbert.cli import options as o
from featbert.data.files import writing
from featbert.errors import InputError
from featbert.io import is_other
from featbert.progress import report
from featbert.text import counted, printable


@o.command("predict RUN notes.txt --format jsonl --out notes.jsonl", arguments=("run", "file"))
def predict(
    request: api.PredictRequest,
    out: Path | None = o.output(
        "File to write, whole or not at all.  [default: standard output]", default=None
    ),
) -> None:
    """Tag text with a finished run, in one pass.

    Raw text has one sentence per line and is split into words. Blank lines stay: they separate
    documents for a run that reads whole documents. Tokenised text keeps its words. For a run that
    answers whole texts, a line is a text, or a pair of texts with a tab between them. Questions are
    read from SQuAD's JSON or JSONL, or given with --question and --passage. Columns have the names
    from training if the file has these, and else their usual names.
    """
    if out is not None:
        sources = (s for s in (Path(request.file), request.passage) if s and os.path.exists(s))
        is_text = out.exists() and any(map(out.samefile, sources))
        if is_text or is_other(out) or not out.parent.is_dir():
            raise InputError(
                f"--out {out} must be a new file in an existing folder; without --out, answers go "
                "to standard output"
            )
    # No bar if the tags are written to the same terminal.
    bar = out is not None or not sys.stdout.isatty()
    _write(api.predict(request, bar=bar), out)
    if out is not None:
        report(f"written: {out}")


def _write(rows: Iterable[str], out: Path | None) -> None:
    """Writes each row to a file, or as UTF-8 to standard output, as soon as it is computed."""
    # A terminal would execute control characters of the data. Files get them unchanged.
    terminal = out is None and sys.stdout.isatty()
    with nullcontext() if out is None else writing(out) as stream:
        for row in rows:
            if stream is None:
                shown = printable(row, keep="\n\t\u200c\u200d") if terminal else row
                typer.echo(shown.encode(), nl=False)
            else:
                stream.write(row)


@o.command("embed reviews.txt -o vectors.npy", arguments=("texts",))
def embed(
    request: api.EmbedRequest,
    out: Path = o.output("File to write, whole or not at all: .npy, .parquet or .h5."),
) -> None:
    """Write a vector for each text of a file, in one pass. Nothing else is stored.

    Row i of the file is the vector of text i, in float32. A blank line is an empty text. With a
    sentence-transformers checkpoint, its modules give the defaults of pooling and normalisation. A
    text is never cut: windows cover a text that is longer than the encoder's positions.
    """
    from featbert.features.vectors import check_vectors_file, write_vectors

    check_vectors_file(out)
    if out.exists() and os.path.exists(request.texts) and out.samefile(request.texts):
        raise InputError(f"--out {out} is the file with the texts; name another one")
    vectors = api.embed(request)
    write_vectors(out, vectors, {"model": request.source.name, "layer": request.layer})
    shape = f"{counted(len(vectors), 'vector')} of {counted(vectors.shape[1], 'number')}"
    typer.echo(printable(f"{out}: {shape}, float32"))

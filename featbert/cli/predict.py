"""featbert predict"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

import typer

from featbert import api
from featbert.cli import options as o
from featbert.data.files import writing
from featbert.errors import InputError
from featbert.progress import report
from featbert.text import printable


@o.command(
    "predict RUN notes.txt --format jsonl --out notes.jsonl",
    api.PredictRequest,
    arguments=("run", "file"),
    values={"data": ("TEXT", None), "question": ("TEXT", None)},
)
def predict(
    request: api.PredictRequest,
    out: Path | None = o.option(
        "FILE", "File to write, whole or not at all.  [default: standard output]"
    ),
) -> None:
    """Tag text with a finished run, in one pass.

    Raw text has a sentence a line and is split into words. Blank lines stay; they separate
    documents for a run that reads whole documents. Tokenised text keeps its words. A run that
    answers whole texts has a line for each; a tab separates the texts of a pair. Questions are read
    from SQuAD's JSON or JSONL, or given with --question and --passage. Columns are those that the
    run was trained with where the file has them, else have their usual names.
    """
    if out is not None:
        is_text = out.exists() and Path(request.file).exists() and out.samefile(request.file)
        if is_text or out.is_dir() or not out.parent.is_dir():
            raise InputError(f"--out {out} must be a new file in an existing folder")
    # No bar where the tags are written to the same terminal.
    bar = out is not None or not sys.stdout.isatty()
    _write(api.predict(request, bar=bar), out)
    if out is not None:
        report(f"written: {out}")


def _write(rows: Iterable[str], out: Path | None) -> None:
    """To a file, or as UTF-8 to standard output, each row as it comes."""
    # Data is written as it is, but a terminal would obey what is in it.
    terminal = out is None and sys.stdout.isatty()
    with nullcontext() if out is None else writing(out) as stream:
        for row in rows:
            if stream is None:
                shown = printable(row, keep="\n\t\u200c\u200d") if terminal else row
                typer.echo(shown.encode(), nl=False)
            else:
                stream.write(row)

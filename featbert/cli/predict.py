"""featbert predict"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.app import Watched, app
from featbert.cli.evaluate import RunModel, RunName
from featbert.cli.meter import Meter
from featbert.cli.text import harmless_to_terminals
from featbert.errors import InputError, MissingError, nearest
from featbert.text import counted

if TYPE_CHECKING:
    from featbert.runs.predict import TaggedPiece

STDIN = "-"


@app.command(
    cls=Watched,
    epilog="Example: featbert predict RUN notes.txt --format jsonl --out notes.jsonl",
)
def predict(
    run: RunName,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What to tag; - is standard input.")
    ] = STDIN,
    input: Annotated[
        Literal["auto", "text", "conll", "jsonl"],
        typer.Option(
            "--input",
            help="What is read: raw text, a sentence a line, or tokenised text; auto goes by the "
            "file's suffix and takes standard input as raw text.",
        ),
    ] = "auto",
    format: Annotated[
        Literal["conll", "jsonl"],
        typer.Option("--format", help="What is written; jsonl has offsets and probabilities."),
    ] = "conll",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="File to write, whole or not at all.  [default: standard output]",
        ),
    ] = None,
    model: RunModel = None,
    runs_dir: o.RunsDir = Path("experiments/runs"),
    device: o.Device = "auto",
    encoding: Annotated[
        str,
        typer.Option(
            "--encoding",
            metavar="NAME",
            help="Text encoding of the input.",
            autocompletion=completion.encodings,
        ),
    ] = "utf-8",
    token_column: o.TokenColumn = None,
    quiet: o.Quiet = False,
) -> None:
    """Tag text with a finished run, in one pass.

    Raw text has a sentence a line and is split into words; a blank line stays one, and parts
    documents for a run that reads whole documents. Tokenised text keeps its words.
    """
    _check_out(out, file)
    from featbert.data.files import codec_name
    from featbert.data.streaming import kind_of, read_pieces
    from featbert.runs.load import check_usable, find_run

    codec_name(encoding)
    name = "standard input" if file == STDIN else file
    kind = (kind_of(file) if file != STDIN else "text") if input == "auto" else input
    if token_column is not None and kind != "conll":
        raise InputError(f"column files expected for --token-column, {name} is read as {kind}")
    column = o.column(token_column)
    if isinstance(column, str):
        raise InputError(f"a column from 1 upwards expected for --token-column, found {column!r}")
    found = find_run(run, runs_dir)
    usable = check_usable(found, model=model)
    meter = Meter(quiet=quiet)
    with ExitStack() as stack:
        stream = stack.enter_context(_input(file))
        meter.load_torch()

        from featbert.runs.load import load_run
        from featbert.runs.predict import predict_stream, rows_of

        loaded = load_run(usable, device=device)
        meter.say(f"tagging {name} with {found.name}")
        if file == STDIN and sys.stdin.isatty():
            meter.say("a sentence a line, an end of file (Ctrl-D) at the end")
        tally = _Tally()
        try:
            on_bytes = None
            # No bar where the tags are written to the same terminal.
            if Path(file).is_file() and (out is not None or not sys.stdout.isatty()):
                bar = stack.enter_context(meter.measure("reading", "bytes"))
                on_bytes = _bytes_of(os.fstat(stream.fileno()).st_size, bar.update)
            pieces = read_pieces(
                stream,
                kind,
                name=name,
                encoding=encoding,
                token_column=column,
                on_bytes=on_bytes,
            )
            _write(rows_of(tally(predict_stream(loaded, pieces)), format), out)
        except KeyboardInterrupt:
            stack.close()
            meter.say(f"{counted(tally.sentences, 'sentence')} tagged")
            raise
    meter.say(
        f"{counted(tally.sentences, 'sentence')}, {counted(tally.words, 'word')}, "
        f"{counted(tally.entities, 'entity', 'entities')}" + (f": {out}" if out else "")
    )


class _Tally:
    """What went through."""

    sentences = words = entities = 0

    def __call__(self, pieces: Iterable[TaggedPiece]) -> Iterator[TaggedPiece]:
        """The pieces, counted."""
        for tagged in pieces:
            self.sentences += bool(tagged.tags)
            self.words += len(tagged.tags)
            self.entities += len(tagged.entities)
            yield tagged


def _check_out(out: Path | None, file: str) -> None:
    """Refuses what cannot be written to, or is the text itself, before any work."""
    if out is None:
        return
    if file != STDIN and out.exists() and Path(file).exists() and out.samefile(file):
        raise InputError(f"another file expected for --out, {out} is the text to tag")
    if out.is_dir():
        raise InputError(f"a file expected for --out, {out} is a folder; name a file in it")
    if not out.parent.is_dir():
        raise MissingError(f"{out} cannot be written: the folder {out.parent} does not exist")


@contextmanager
def _input(file: str) -> Iterator[io.BufferedReader]:
    """The bytes of a file, or of standard input."""
    if file == STDIN:
        yield sys.stdin.buffer  # type: ignore[misc]
        return
    path = Path(file)
    if path.is_dir() or not path.exists():
        found = "is a folder" if path.is_dir() else "does not exist"
        near = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise MissingError(
            f"a file of text expected, {file} {found}{nearest(path.name, near)}; "
            "- reads standard input"
        )
    with path.open("rb") as stream:
        yield stream


def _bytes_of(total: int, show: Callable[[int, int], None]) -> Callable[[int], None]:
    return lambda done: show(done, total)


def _write(rows: Iterable[str], out: Path | None) -> None:
    """To a file, or as UTF-8 to standard output, each row as it comes."""
    from featbert.data.files import writing

    if out is not None:
        with writing(out) as stream:
            stream.writelines(rows)
        return
    sys.stdout.flush()
    # Data is written as it is, but a terminal would obey what is in it.
    as_shown = harmless_to_terminals if sys.stdout.isatty() else str
    for row in rows:
        sys.stdout.buffer.write(as_shown(row).encode())
        sys.stdout.buffer.flush()

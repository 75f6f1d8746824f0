"""featbert predict"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal

import typer

from featbert.cli import options as o
from featbert.cli.progress import load_torch
from featbert.config import Compute, Data
from featbert.data.examples import TextReader
from featbert.data.files import codec_name, opened, read_file, read_lines, writing
from featbert.data.options import ReadingOptions
from featbert.data.tags import target_kind
from featbert.errors import InputError, MissingError
from featbert.progress import Advance, report, stage
from featbert.text import printable

STDIN = "-"
# Characters of a line of a stream, which may never end; a file may have all of its JSON on one.
LONGEST = 1 << 26
DIALECT = ("delimiter", "quoting", "escape")
# The texts that --question and --passage give.
ASKED = ("question", "context")
COLUMNS = {"text", "pair", "token_column", *DIALECT}


@o.command(
    "predict RUN notes.txt --format jsonl --out notes.jsonl",
    (Data, Compute),
    only=("encoding", "token_column", *DIALECT, "text", "pair", "device", "threads"),
)
def predict(
    *,
    run: str = o.RUN,
    file: str = o.argument("FILE", "What to tag; - is standard input.", default=STDIN),
    input: Literal["auto", "text", "conll", "jsonl", "tsv", "csv"] = o.option(
        None,
        "What is read: raw text, a sentence a line, tokenised text, or columns of texts (tsv, csv, "
        "jsonl); auto goes by the file's suffix and takes standard input as raw text.",
        default="auto",
    ),
    format: Literal["conll", "jsonl"] = o.option(
        None, "What is written: columns, or jsonl with offsets and probabilities.", default="conll"
    ),
    out: Path | None = o.option(
        "FILE", "File to write, whole or not at all.  [default: standard output]"
    ),
    question: list[str] | None = o.option(
        "TEXT", "Question that the passage answers; may be given several times."
    ),
    passage: Path | None = o.option("FILE", "Text file with the passage of the questions."),
    best: bool = o.BEST,
    data: str | None = o.RUN_DATA,
    model: str | None = o.RUN_MODEL,
    given: dict[str, Any],
    runs_dir: Path = o.RUNS_DIR,
) -> None:
    """Tag text with a finished run, in one pass.

    Raw text has a sentence a line and is split into words. Blank lines stay; they separate
    documents for a run that reads whole documents. Tokenised text keeps its words. A run that
    answers whole texts has a line for each; a tab separates the texts of a pair. Questions are read
    from SQuAD's JSON or JSONL, or given with --question and --passage. Columns are those that the
    run was trained with where the file has them, else have their usual names.
    """
    is_text = out is not None and out.exists() and Path(file).exists() and out.samefile(file)
    if out is not None and (is_text or out.is_dir() or not out.parent.is_dir()):
        raise InputError(f"--out {out} is the text to tag, a folder, or in none; name a file")
    from featbert.data.streaming import kind_of, read_pieces, read_texts
    from featbert.runs.run import check_usable

    text, compute = o.chosen(Data, given), o.chosen(Compute, given)
    own = text.model_dump(include=COLUMNS, exclude_none=True)
    columns = ReadingOptions(**own)
    codec_name(text.encoding)
    if " " in file and not Path(file).exists():
        how = f"for a text: echo {shlex.quote(file)} | featbert predict {shlex.quote(run)}"
        raise MissingError(f"{file!r:.80} is no file; {how}")
    asked = _asked(question, passage, file, text.encoding)
    name = "standard input" if file == STDIN else file
    if asked is not None:
        name, input = str(passage), "jsonl"
    usable = check_usable(o.find_run_called(run, runs_dir, best, data), model=model)
    of_texts = usable.task.of_texts
    kind: str = kind_of(file) if input == "auto" else input
    if of_texts and input == "auto" and (suffix := Path(file).suffix.lower()) in (".tsv", ".csv"):
        kind = suffix[1:]
    reader = target_kind(usable.task.targets).reader or TextReader
    kinds = (*(["text"] * reader.of_lines), *(["tsv", "csv"] if of_texts else ["conll"]), "jsonl")
    if kind not in kinds:
        wanted = " or ".join(kinds)
        how = "--question and --passage" if reader.names_of_texts == ASKED else "--input"
        raise InputError(f"{name} is {kind}, but {usable.name} reads {wanted}; give {how}")
    if kind == "text" and columns != ReadingOptions():
        raise InputError(f"{name} is read as raw text, which has no columns; give --input")
    if columns.name_texts and not of_texts:
        raise InputError(f"{usable.name} reads words, which --text and --pair do not name")
    with ExitStack() as stack:
        given_text = asked or (sys.stdin.buffer if file == STDIN else opened(Path(file)))
        stream: BinaryIO = stack.enter_context(given_text)
        load_torch(compute.threads)

        from featbert.inference.load import load
        from featbert.inference.predict import answer_rows, predict_stream, predict_texts, rows_of

        loaded = load(usable, device=compute.device)
        report(f"tagging {name} with {usable.name}")
        if asked is None and file == STDIN and sys.stdin.isatty():
            report(f"{'a text' if of_texts else 'a sentence'} a line; end with Ctrl-D")
        encoding = text.encoding if asked is None else "utf-8"
        returns = kind in ("text", "tsv", "csv")
        longest = None if Path(file).is_file() else LONGEST
        lines = read_lines(stream, encoding, name, returns=returns, longest=longest)
        # No bar where the tags are written to the same terminal.
        if Path(file).is_file() and (out is not None or not sys.stdout.isatty()):
            size = os.fstat(stream.fileno()).st_size
            lines = _advancing(lines, stream, stack.enter_context(stage("reading", "bytes", size)))
        if kind != "text":
            lines = chain([first := next(lines, "")], lines)
            columns = ReadingOptions(**_as_trained(usable.record.reading, first, kind) | own)
        if of_texts:
            pairs = usable.record.signature.packing is not None
            sentences = read_texts(
                lines, name, kind, pairs=pairs, options=columns, reader_type=reader
            )
            rows = answer_rows(predict_texts(loaded, sentences), format)
        else:
            pieces = read_pieces(lines, name, kind, columns)
            rows = rows_of(predict_stream(loaded, pieces), format)
        _write(rows, out)
    if out is not None:
        report(f"written: {out}")


def _as_trained(reading: Mapping[str, Any], first: str, kind: str) -> dict[str, Any]:
    """The columns that a run was trained with, as far as a file with this first line has them."""

    keys = re.findall(r'"([^"\\]+)"\s*:' if kind == "jsonl" else r'[^\t,;|"]+', first)
    names = {key.strip().casefold() for key in keys}

    def fits(name: str, column: Any) -> bool:
        if isinstance(column, int):  # keys of JSON have names alone
            return kind != "jsonl"
        if name in DIALECT:
            return column in first if name == "delimiter" else kind != "jsonl"
        return column.casefold() in names

    return {name: value for name, value in reading.items() if name in COLUMNS and fits(name, value)}


def _asked(
    questions: list[str] | None, passage: Path | None, file: str, encoding: str
) -> io.BytesIO | None:
    """A line of JSONL for each question that is asked of a passage; None without them."""
    if not questions and passage is None:
        return None
    if not questions or passage is None or file != STDIN:
        raise InputError("give --question with --passage, and no FILE, or a FILE alone")
    context = "\n".join(read_file(passage, encoding))
    rows = [dict(zip(ASKED, (question, context), strict=True)) for question in questions]
    return io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode())


def _advancing(lines: Iterator[str], stream: BinaryIO, advance: Advance) -> Iterator[str]:
    """The lines, while `advance` gets the number of bytes of the stream that were read for them."""
    before = 0
    for line in lines:
        advance(stream.tell() - before)
        before = stream.tell()
        yield line


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

"""Answers of a finished run to files and standard input.

Columns have the names from training if the file has these, and else their usual names.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice, tee
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from featbert.data.conll import has_columns
from featbert.data.corpus import Sentence
from featbert.data.examples import TextReader
from featbert.data.files import opened, read_file, read_lines
from featbert.data.options import ReadingOptions
from featbert.data.streaming import file_kind, read_pieces, read_texts
from featbert.data.tables import FIRST_LINES, SEPARATORS, Dialect, Table, is_header
from featbert.data.tags import target_kind
from featbert.errors import InputError, spelling
from featbert.inference.columns import (
    COLUMN_OPTIONS,
    TEXTS,
    read_as_trained,
    stream_as_trained,
    trained_columns,
)
from featbert.inference.predict import Format, answer_rows, predict_stream, predict_texts, rows_of
from featbert.progress import Advance, report, stage
from featbert.runs.run import UsableRun
from featbert.text import excerpt, listed

if TYPE_CHECKING:
    from featbert.inference.load import LoadedRun

STDIN = "-"
# Most characters in a line of a stream. Files have no limit: all JSON may be on one line.
LONGEST = 1 << 26
DIALECT = ("delimiter", "quoting", "escape")
COLUMNS = {"text", "pair", "token_column", *DIALECT}
# The texts of a question about a passage.
ASKED = ("question", "context")


class Input:
    """Input for a run: a file or stream, its kind, and the named columns.

    Attributes:
        kind: a result of `data.streaming.file_kind`, or "tsv" or "csv".
        questions: JSONL of questions about a passage, which replaces the file.
    """

    def __init__(
        self,
        run: UsableRun,
        file: str,
        kind: str,
        columns: Mapping[str, Any],
        encoding: str,
        questions: bytes | None = None,
        name: str | None = None,
    ) -> None:
        """The `kind` "auto" is inferred from the file's suffix, and raw text checked for columns.

        InputError for a kind or columns that the run does not read.
        """
        name = name or ("standard input" if file == STDIN else file)
        of_texts, suffix = run.task.of_texts, Path(file).suffix.lower()
        is_auto = kind == "auto"
        if questions is not None:
            kind, encoding = "jsonl", "utf-8"
        elif kind == "auto":
            kind = suffix[1:] if of_texts and suffix in (".tsv", ".csv") else file_kind(file)
        reader = target_kind(run.task.targets).reader or TextReader
        of_lines, tables = ["text"] * reader.of_lines, ["tsv", "csv"] if of_texts else ["conll"]
        kinds = (*of_lines, *tables, "jsonl")
        if kind not in kinds:
            names = ["question", "passage"] if reader.names_of_texts == ASKED else ["input"]
            readable, advice = " or ".join(kinds), " and ".join(map(spelling, names))
            raise InputError(f"{name} is {kind}, but {run.name} reads {readable}; give {advice}")
        self.options = _reading_options(name, kind, columns)
        text, pair = self.options.text, self.options.pair
        if not of_texts and (pair is not None or (text is not None and kind != "conll")):
            named = spelling("pair" if pair is not None else "text")
            raise InputError(f"{run.name} reads words or a text, which {named} does not name here")
        self.run, self.file, self.name, self.kind = run, file, name, kind
        self.encoding, self.reader, self.questions = encoding, reader, questions
        self.may_have_columns = is_auto and kind == "text"

    def rows(self, load: Callable[[], LoadedRun], format: Format, *, bar: bool) -> Iterator[str]:
        """The answers as lines of text, lazily. `bar` shows the progress in bytes of a file."""
        of_texts, is_file = self.run.task.of_texts, Path(self.file).is_file()
        with ExitStack() as stack:
            source: Any = sys.stdin.buffer if self.file == STDIN else opened(Path(self.file))
            if self.questions is not None:
                source = io.BytesIO(self.questions)
            stream: BinaryIO = stack.enter_context(source)
            loaded = load()
            report(f"tagging {self.name} with {self.run.name}")
            if self.questions is None and self.file == STDIN and sys.stdin.isatty():
                report(f"one {'text' if of_texts else 'sentence'} per line; end with Ctrl-D")
            returns = self.kind in ("text", "tsv", "csv")
            longest = None if is_file else LONGEST
            lines = read_lines(stream, self.encoding, self.name, returns=returns, longest=longest)
            if is_file and bar:
                size = os.fstat(stream.fileno()).st_size
                advance = stack.enter_context(stage("reading", "bytes", size))
                lines = _advancing(lines, stream, advance)
            lines, ahead = tee(lines)
            if self.may_have_columns and (of_texts or is_file):  # not to wait for many lines
                (check_first_text if of_texts else check_first_sentences)(ahead, self.name)
            trained = self._trained(ahead)
            del ahead
            sentences = stream_as_trained(lines, self._sentences, trained, self.options)
            del lines
            if of_texts:
                yield from answer_rows(predict_texts(loaded, sentences), format)
            else:
                yield from rows_of(predict_stream(loaded, sentences), format)

    def _sentences(self, lines: Iterator[str], options: ReadingOptions) -> Iterator[Sentence]:
        if not self.run.task.of_texts:
            return read_pieces(lines, self.name, self.kind, options)
        pairs = self.run.record.signature.packing is not None
        return read_texts(
            lines, self.name, self.kind, pairs=pairs, options=options, reader_type=self.reader
        )

    def _trained(self, lines: Iterator[str]) -> dict[str, Any]:
        """The options from training for this kind of input, with these lines."""
        record = self.run.record
        if self.kind == "text":
            return {}
        columns = trained_columns(record)
        if self.kind == "jsonl":  # keys of JSON have no numbers
            return columns
        reading = {n: v for n, v in record.reading.items() if n in (*COLUMN_OPTIONS, *DIALECT)}
        first = next(filter(str.strip, lines), "")
        if reading.get("delimiter", "") not in first:
            del reading["delimiter"]
        if self.kind not in ("tsv", "csv"):
            return record.columns | reading
        head, path = [first, *islice(lines, FIRST_LINES)], Path(self.name)
        dialect = {name: value for name, value in reading.items() if name in DIALECT}
        table = read_as_trained(
            lambda options: Table(iter(head), path, options, self.kind), dialect, self.options
        )
        if not table.has_header:
            is_named = not {*TEXTS, "target"}.isdisjoint(self.options.changed)
            shown = {} if is_named or not self.reader.in_columns else table.shown_columns()
            are_pairs = record.signature.packing is not None
            return record.columns | (shown if ("pair" in shown) == are_pairs else {}) | reading
        # Numbers are of a file without a header.
        header = {name.lower() for name in table.names}
        has_texts = all(columns[n].lower() in header for n in TEXTS if n in columns)
        return dialect | {
            option: column
            for option, column in columns.items()
            if (has_texts if option in TEXTS else column.lower() in header)
        }


def _reading_options(name: str, kind: str, columns: Mapping[str, Any]) -> ReadingOptions:
    options = ReadingOptions(**columns)
    if kind == "text" and options != ReadingOptions():
        raise InputError(f"{name} is raw text, which has no columns; give {spelling('input')}")
    return options


def read_raw_texts(
    file: str, kind: str, columns: Mapping[str, Any], encoding: str
) -> Iterator[tuple[str, ...]]:
    """The texts of a file or standard input, one or two each: lines, or columns of a table.

    The `kind` "auto" is inferred from the file's suffix. Lines are pairs if the first one has a
    tab. InputError for a file without any text.
    """
    name, suffix = ("standard input" if file == STDIN else file), Path(file).suffix.lower()
    is_auto = kind == "auto"
    if is_auto:
        kind = suffix[1:] if suffix in (".tsv", ".csv") else file_kind(file)
        kind = "text" if kind == "conll" else kind
    options = _reading_options(name, kind, columns)
    stream: Any = sys.stdin.buffer if file == STDIN else opened(Path(file))
    if file == STDIN and sys.stdin.isatty():
        report("one text per line; end with Ctrl-D")
    lines = read_lines(stream, encoding, name, returns=kind != "jsonl")
    if is_auto and kind == "text":
        lines, ahead = tee(lines)
        check_first_text(ahead, name)
        del ahead
    texts: tuple[str, ...] = ()
    for sentence in read_texts(lines, name, kind, pairs=None, options=options):
        # A blank line is an empty text, or two.
        texts = sentence.texts if sentence.words else ("",) * max(1, len(texts))
        yield texts
    if not texts:
        raise InputError(f"no text in {name}")


def check_first_text(lines: Iterator[str], name: str) -> None:
    """Raises InputError if the first line has names of columns, and so is no raw text."""
    first = next(lines, "")
    for sign in SEPARATORS:
        cells = [*Dialect(sign, quoted=True).first_rows([first]), []][0]
        if len(cells) > 1 and is_header(cells, ReadingOptions()):
            table, text = (spelling("input", k) for k in ("tsv" if sign == "\t" else "csv", "text"))
            raise InputError(
                f"line 1 of {name} has names of columns: {listed(cells)}; give {table}, or {text} "
                "if each line is a text"
            )


def check_first_sentences(lines: Iterator[str], name: str) -> None:
    """Raises InputError if the first lines are words with tags, and so no raw text."""
    first = [*islice(lines, FIRST_LINES)]
    if has_columns("\n".join(first)):
        line = next(filter(str.strip, first))
        raise InputError(
            f"the lines of {name} seem to be words with tags in columns: {excerpt(line)}; give "
            f"{spelling('input', 'conll')}, or {spelling('input', 'text')} if each is a sentence"
        )


def questions_of(questions: Sequence[str], passage: Path, encoding: str) -> bytes:
    """JSONL with a line for each question about a passage."""
    context = "\n".join(read_file(passage, encoding))
    rows = [dict(zip(ASKED, (question, context), strict=True)) for question in questions]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _advancing(lines: Iterator[str], stream: BinaryIO, advance: Advance) -> Iterator[str]:
    """Yields the lines. `advance` gets the number of bytes read for each."""
    before = 0
    for line in lines:
        advance(stream.tell() - before)
        before = stream.tell()
        yield line

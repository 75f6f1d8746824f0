"""Text read in one pass, a sentence at a time: raw lines, column files, JSONL.

What is read may be of any length and come through a pipe; memory is that of one sentence and of
a chunk of bytes. Column files and JSONL are read by the rules of `conll` and
`jsonl`, with two differences that one pass makes: separator and number of columns are those of the
first lines, and sentences before the first mark of a document do not know that there will be one.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Literal

from featbert.data.conll import Layout, column_sentences
from featbert.data.files import BOM, codec_name
from featbert.data.jsonl import jsonl_sentences
from featbert.data.words import split_words
from featbert.errors import InputError

Kind = Literal["text", "conll", "jsonl"]
CHUNK_BYTES = 1 << 16
# Lines of a column file that say how its columns are separated.
LAYOUT_LINES = 1000
_SUFFIXES: dict[str, Kind] = {
    **dict.fromkeys(("jsonl", "ndjson", "json"), "jsonl"),
    **dict.fromkeys(("conll", "conll03", "conllu", "conllx", "tsv", "col", "cols"), "conll"),
    **dict.fromkeys(("ner", "iob", "iob1", "iob2", "bio", "io", "bioes", "iobes"), "conll"),
    **dict.fromkeys(("bilou", "tags", "tagged"), "conll"),
}


@dataclass(frozen=True, slots=True)
class Piece:
    """One sentence of the input; a blank line of raw text is a piece without words.

    Attributes:
        words: (T,) as the input has them.
        document: number of its document, rising; None where none was marked yet.
        text: the line it was split from; None for tokenised input.
        offsets: (T,) places of the words in `text`, code points, end exclusive.
    """

    words: tuple[str, ...]
    document: int | None
    text: str | None = None
    offsets: tuple[tuple[int, int], ...] | None = None


def kind_of(name: str) -> Kind:
    """What a file holds by its suffix (`.jsonl`, `.conll`, `.tsv`, ...): raw text by default."""
    return _SUFFIXES.get(Path(name).suffix.lower().lstrip("."), "text")


def read_pieces(
    stream: io.BufferedIOBase,
    kind: Kind,
    *,
    name: str,
    encoding: str = "utf-8",
    token_column: int | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> Iterator[Piece]:
    """The sentences of a stream in order, read as they are asked for.

    Args:
        name: of the stream, for messages.
        token_column: of a column file, from 1; the first by default. Tags are passed over.
        on_bytes: called with the bytes read so far.

    Raises:
        InputError: bytes that are not in `encoding`, or an ill-formed line; names the line.
    """
    lines = _lines(stream, codec_name(encoding), name, on_bytes)
    if kind == "text":
        return _text_pieces(lines, name)
    if kind == "conll":
        return _conll_pieces(lines, Path(name), token_column)
    sentences = jsonl_sentences(lines, Path(name), tagged=False)
    return (Piece(sentence.words, sentence.document) for sentence in sentences)


def _text_pieces(lines: Iterator[str], name: str) -> Iterator[Piece]:
    """A piece a line; a blank line begins a document, and so does the first line."""
    document = 0
    for number, line in enumerate(lines, start=1):
        if "\0" in line:
            raise InputError(
                f"text expected, line {number} of {name} has a NUL; it is not text, or in another "
                "encoding (give --encoding, such as utf-16)"
            )
        offsets = tuple(split_words(line))
        document += not offsets
        yield Piece(tuple(line[a:b] for a, b in offsets), document, line, offsets)


def _conll_pieces(lines: Iterator[str], path: Path, token_column: int | None) -> Iterator[Piece]:
    """The sentences of a column file; see `read_conll`."""
    first = list(islice(lines, LAYOUT_LINES))
    if not first:
        return
    layout = Layout.of(first, path, token_column, None, False)
    for sentence in column_sentences(_clean(chain(first, lines), path), layout, tagged=False):
        yield Piece(sentence.words, sentence.document)


def _clean(lines: Iterable[str], path: Path) -> Iterator[str]:
    """The lines as they are; raises InputError for one with what no text file has inside."""
    for number, line in enumerate(lines, start=1):
        if "\r" in line or "\0" in line:
            what = "NUL" if "\0" in line else "carriage return"
            raise InputError(f"text expected, line {number} of {path} has a {what} inside")
        yield line


def _lines(
    stream: io.BufferedIOBase,
    encoding: str,
    name: str,
    on_bytes: Callable[[int], None] | None,
) -> Iterator[str]:
    """Lines without their ends, "\\n" or "\\r\\n"; one leading BOM is taken off."""
    decoder = codecs.getincrementaldecoder(encoding)()
    n_bytes = n_lines = 0
    pending = ""
    begun = False
    while True:
        data = stream.read1(CHUNK_BYTES)
        n_bytes += len(data)
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode(encoding, "ignore")
            number = n_lines + before.count("\n") + 1
            raise InputError(
                f"{encoding} text expected, line {number} of {name} has byte "
                f"0x{error.object[error.start]:02x}; give --encoding, for instance latin-1 or "
                "cp1252"
            ) from None
        except UnicodeError as error:  # such as UTF-16 without its mark
            raise InputError(f"{encoding} text expected in {name}: {error}") from None
        if not begun and text:
            text, begun = text.removeprefix(BOM), True
        if on_bytes is not None:
            on_bytes(n_bytes)
        *whole, pending = (pending + text).split("\n")
        for line in whole:
            n_lines += 1
            yield line.removesuffix("\r")
        if not data:
            break
    if pending:
        yield pending.removesuffix("\r")

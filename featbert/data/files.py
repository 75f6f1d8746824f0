"""Text files in and out: decoded with errors that say where, written whole or not at all.

Lines end at "\\n" and nowhere else: U+0085, U+2028 and their like are characters of words.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from encodings.aliases import aliases
from pathlib import Path
from typing import TextIO

from featbert.errors import FeatbertError, InputError, MissingError, nearest

BOM = "\ufeff"
# Codecs between texts, which Python keeps among its encodings; no file is written in them.
_NO_FILES = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")


def codec_name(encoding: str) -> str:
    """Python's name of a text encoding ("UTF8" -> "utf-8"); InputError for an unknown one."""
    try:
        "".encode(encoding)  # unlike codecs.lookup this refuses byte-to-byte codecs such as "hex"
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        name = ""
    if name in ("", *_NO_FILES):
        reason = "is no encoding of files" if name else "is not known"
        usual = [known.replace("_", "-") for known in aliases.values()]
        raise InputError(
            f"encoding {encoding!r} {reason}{nearest(encoding, sorted(set(usual)))}; give "
            "--encoding a name such as utf-8, latin-1, cp1252 or utf-16"
        )
    return name


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """The whole file as text: one leading BOM taken off, CRLF turned into LF.

    Raises:
        MissingError: there is no such file.
        InputError: it cannot be read, is empty, is not in `encoding` (with line and byte
            position), or holds NUL, a lone surrogate or a carriage return inside a line.
    """
    encoding = codec_name(encoding)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise MissingError(f"{path} does not exist") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if not data:
        raise InputError(f"sentences expected, {path} is empty (0 bytes)")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].decode(encoding, "ignore").count("\n") + 1
        utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        raise InputError(
            f"{encoding} text expected, line {line} of {path} has byte 0x{data[error.start]:02x} "
            f"at byte position {error.start}; give --encoding, "
            + ("the file begins like utf-16" if utf16 else "for instance latin-1 or cp1252")
        ) from None
    text = text.removeprefix(BOM).replace("\r\n", "\n").removesuffix("\r")
    if encoding != "utf-8":  # some others, utf-7 for one, decode to what no UTF-8 file can hold
        _check_encodable(text, path)
    for character, what, advice in (
        ("\0", "NUL", "it is not text, or in another encoding (give --encoding, such as utf-16)"),
        ("\r", "carriage return inside a line", "lines end in LF or CRLF; convert the file"),
    ):
        if (at := text.find(character)) >= 0:
            line = text.count("\n", 0, at) + 1
            raise InputError(f"text expected, line {line} of {path} has a {what}; {advice}")
    return text


def _check_encodable(text: str, path: Path) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise InputError(
            f"text expected, line {line} of {path} has a lone surrogate; is it in another encoding?"
        ) from None


@contextmanager
def writing(target: str | Path | TextIO) -> Iterator[TextIO]:
    """A UTF-8 text stream that appears under its path only when the block ends without error.

    A path is written under a temporary name in the same folder, flushed to disk and renamed,
    so that a reader never sees half a file. A stream is handed through as it is.
    Raises MissingError where the folder does not exist, FeatbertError where writing fails.
    """
    if not isinstance(target, str | Path):
        yield target
        return
    path = Path(target)
    if not path.parent.is_dir():
        raise MissingError(f"{path} cannot be written: the folder {path.parent} does not exist")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        if isinstance(error, FeatbertError):
            raise
        raise FeatbertError(f"{path} cannot be written: {error.strerror}") from error
    finally:  # after the rename there is nothing left to remove
        temporary.unlink(missing_ok=True)


DOCSTART = "-DOCSTART-"
_DOCSTART_WORD = re.compile(rf"{DOCSTART}(?: |$)")
# What a column file cannot hold inside a word; surrogates cannot be written as UTF-8.
_FORBIDDEN = re.compile("[\\t\\n\\r\\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class RawSentence:
    """Words and verbatim tags of one sentence.

    Attributes:
        words: (T,) never empty.
        tags: (T,) as the file has them, or None where they were not asked for.
        document: number of the document within the file, from 0, or None.
        line: line of the first word, from 1.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] | None
    document: int | None
    line: int


@dataclass(frozen=True)
class RawFile:
    """Sentences of one file in order, never empty.

    Attributes:
        encoding: encoding the file was read with, by Python's name.
        comment_lines: comment lines passed over.
        word_per_line: a column file (word i of a sentence stands i lines below its first),
            against a line a sentence.
        unit: what `line_of` counts, for messages: "line", or "row" of a dataset.
        empty_rows: rows without a word that were passed over; no file has any.
    """

    path: Path
    sentences: tuple[RawSentence, ...]
    encoding: str
    comment_lines: int = 0
    word_per_line: bool = True
    unit: str = "line"
    empty_rows: int = 0

    def line_of(self, sentence: RawSentence, word: int) -> int:
        """Line (from 1) of word `word` (from 0) of `sentence`."""
        return sentence.line + (word if self.word_per_line else 0)


def word_fault(word: str) -> str | None:
    """Why `word` cannot be a word of a corpus, or None where it can.

    A word holds any character but tab, line feed, carriage return, NUL and lone surrogates,
    is not blank, and is not the document mark -DOCSTART-: whatever is read can be written as
    a column file again.
    """
    if not word.strip(" "):
        return "is empty" if not word else "is blank"
    if _FORBIDDEN.search(word):
        return "holds a tab, line end, NUL or lone surrogate"
    if _DOCSTART_WORD.match(word):
        return f"is the document mark {DOCSTART}"
    return None


def excerpt(text: str, width: int = 60) -> str:
    """`text` quoted on one line for a message, cut at `width` characters."""
    return repr(text if len(text) <= width else text[: width - 1] + "…")

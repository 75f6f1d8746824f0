"""A file as read, before its tags are understood: between a reader and the `Corpus`.

The scheme of the tags is decided over all splits of a corpus together, so that readers hand on
the tags verbatim, with the line numbers that an error about them will need.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

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

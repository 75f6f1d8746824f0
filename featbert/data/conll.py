"""Column files, read and written: a word a line, a blank line after each sentence.

- Columns are separated by tabs if the lines of words have any tab (words may then hold spaces),
  by runs of spaces otherwise. Any other white space, such as U+00A0, is part of the word.
- A line that is `#` or begins with `# ` is a comment if it comes before the first word of a
  sentence and cannot be a word there: its number of columns differs from that of the words, or,
  where spaces separate, it reads `# key = …`, `# newdoc` or `# newpar`. So `# O` is a word.
- `-DOCSTART-`, with or without more columns, and the comment `# newdoc` begin a document. Sentences
  before the first such line are a document too; a file without any has no documents.
- CoNLL-U (ten columns separated by tabs, the first of which counts the words): the columns have
  names, FORM is the word. Ranges (`8-9`) and empty nodes (`8.1`) are not words.

What `write_conll` writes reads back with the same words, tags and documents.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from featbert.data.corpus import ReadingNotes, Sentence
from featbert.data.files import (
    BOM,
    DOCSTART,
    Documents,
    RawFile,
    RawSentence,
    codec_name,
    excerpt,
    read_file,
    word_fault,
    writing,
)
from featbert.errors import InputError, nearest
from featbert.progress import track
from featbert.text import counted

CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_FIRST_ID = re.compile(r"(1|1-\d+|0\.\d+)$")
_NON_WORD = re.compile(r"\d+[-.]\d+")
_DOCSTART = re.compile(rf"{DOCSTART}(?:[ \t]|$)")
_NEW_DOCUMENT = re.compile(r"# newdoc(?: |$)")
Column = int | str | None


def read_conll(
    path: str | Path,
    *,
    encoding: str = "utf-8",
    token_column: Column = None,
    tag_column: Column = None,
    tagged: bool = True,
    conllu_tags: str | None = "upos",
) -> RawFile:
    """Read a column file; time and memory are linear in its size.

    Args:
        token_column, tag_column: counted from 1, or by name in CoNLL-U.
        tagged: False reads words alone, from a file with or without tags.
        conllu_tags: column of the tags in CoNLL-U where `tag_column` is None.
    """
    path = Path(path)
    lines = read_file(path, encoding)
    layout = Layout.of(lines, path, token_column, tag_column, tagged, conllu_tags)
    skipped: Counter[str] = Counter()
    tracked = track(lines, f"reading {path.name}", "lines")
    sentences = tuple(column_sentences(tracked, layout, skipped))
    notes = ReadingNotes(
        encoding=codec_name(encoding),
        comment_lines=skipped["comment_lines"],
        non_words=skipped["non_words"],
    )
    return RawFile(path, sentences, notes)


def column_sentences(
    lines: Iterable[str], layout: Layout, skipped: Counter[str]
) -> Iterator[RawSentence]:
    """The sentences of column lines; `skipped` counts "comment_lines" and "non_words"."""
    documents = Documents()
    words: list[str] = []
    tags: list[str] = []
    numbers: list[int] = []

    def sentence() -> RawSentence:
        found = range(numbers[0], numbers[-1] + 1)
        return RawSentence(
            tuple(words),
            tuple(tags) if layout.tag >= 0 else None,
            documents.of_next(),
            lines=found if len(found) == len(numbers) else tuple(numbers),
        )

    for number, line in enumerate(lines, start=1):
        cells = layout.split(line)
        blank = not line.strip(" \t")
        mark = not blank and layout.is_docstart(line, cells)
        if (blank or mark) and words:
            yield sentence()
            for column in (words, tags, numbers):
                column.clear()
        if mark:
            documents.begin()
        elif not blank and not words and layout.is_comment(line, cells):
            skipped["comment_lines"] += 1
            if _NEW_DOCUMENT.match(line):
                documents.begin()
        elif not blank and layout.conllu and _NON_WORD.fullmatch(cells[0]):
            skipped["non_words"] += 1
        elif not blank:
            layout.check(line, cells, number)
            words.append(cells[layout.token])
            numbers.append(number)
            if layout.tag >= 0:
                tags.append(cells[layout.tag].strip(" "))
    if words:
        yield sentence()


@dataclass(frozen=True)
class Layout:
    """How the lines of one file are split, and which columns are read.

    Attributes:
        separator: a tab, or a space for runs of spaces.
        first: number of the line that `columns` was counted in.
        token, tag: columns from 0; tag is -1 where tags are not read.
    """

    path: Path
    separator: str
    columns: int
    first: int
    conllu: bool
    token: int = 0
    tag: int = -1

    @classmethod
    def of(
        cls,
        lines: Sequence[str],
        path: Path,
        token_column: Column,
        tag_column: Column,
        tagged: bool,
        conllu_tags: str | None = None,
    ) -> Layout:
        """Layout of a file by its lines (or its first lines); InputError for other columns."""
        data = _word_lines(lines)
        if not data:
            return cls(path, " ", 0, 1, conllu=False)
        separator = "\t" if any("\t" in lines[i] for i in data) else " "
        line = lines[data[0]]
        cells = _split(line, separator)
        conllu = separator == "\t" and len(cells) == len(CONLLU) and bool(_FIRST_ID.match(cells[0]))
        self = cls(path, separator, len(cells), data[0] + 1, conllu)
        if tagged and tag_column is None:
            tag_column = conllu_tags if conllu else len(cells)
            if tag_column is None:
                raise InputError(
                    f"no column of entities in {path}: it is CoNLL-U; name a column with "
                    "--tag-column, or read parts of speech (task labels)"
                )
        if token_column is None:
            token_column = "form" if conllu else 1
        token = self._place("token", token_column, line)
        tag = self._place("tag", tag_column, line) if tagged and tag_column is not None else -1
        if token == tag:
            if len(cells) > 1:
                self._fail(f"token and tag column are both {token + 1}", line, self.first)
            advice = "is the file untagged, or are its columns separated by something else?"
            if " " in line:
                advice = "other lines hold tabs; use one separator in all lines"
            self._fail("1 column, no tag", line, self.first, advice)
        return replace(self, token=token, tag=tag)

    def _place(self, what: str, column: int | str, line: str) -> int:
        """A column from 0; `line` is the first line of words."""
        if isinstance(column, str):
            if self.conllu and column.lower() in CONLLU:
                return CONLLU.index(column.lower())
            has = "; its columns have numbers, from 1"
            if self.conllu:
                has = f"{nearest(column, CONLLU)}; CoNLL-U has {', '.join(CONLLU)}"
            raise InputError(f"{what} column {column!r} is not a column of {self.path}{has}")
        if column < 1:
            raise InputError(f"{what} column {column} is not a column; they are counted from 1")
        if column > self.columns:
            self._fail(f"no {what} column {column}, only {self._columns()}", line, self.first)
        return column - 1

    def split(self, line: str) -> list[str]:
        return _split(line, self.separator)

    def is_docstart(self, line: str, cells: list[str]) -> bool:
        return bool(_DOCSTART.match(line)) or cells[self.token : self.token + 1] == [DOCSTART]

    def is_comment(self, line: str, cells: list[str]) -> bool:
        """Whether a line before the first word of a sentence is a comment."""
        if not (line.startswith("# ") or line.rstrip(" ") == "#"):
            return False
        if len(cells) != self.columns:
            return True
        key_value = cells[2:3] == ["="] or cells[1:2] in (["newdoc"], ["newpar"])
        return self.separator == " " and key_value

    def check(self, line: str, cells: list[str], number: int) -> None:
        """InputError unless the line has the columns of the file, a word and a tag."""
        if len(cells) != self.columns:
            found = f"{self._columns(len(cells))} instead of {self.columns} (line {self.first})"
            self._fail(found, line, number)
        if fault := word_fault(cells[self.token]):
            self._fail(f"the word in column {self.token + 1} {fault}", line, number)
        if self.tag >= 0:
            tag = cells[self.tag].strip(" ")
            untagged = self.conllu and CONLLU[self.tag] in ("upos", "xpos") and tag == "_"
            if not tag or untagged:
                advice = "give --tag-column if the tags are in another"
                self._fail(f"no tag in column {self.tag + 1}", line, number, advice)

    def _columns(self, n: int | None = None) -> str:
        separator = "tab" if self.separator == "\t" else "space"
        return counted(self.columns if n is None else n, f"{separator}-separated column")

    def _fail(self, fault: str, line: str, number: int, advice: str = "") -> NoReturn:
        more = f"; {advice}" if advice else ""
        raise InputError(f"{fault}, line {number} of {self.path}: {excerpt(line)}{more}")


def _split(line: str, separator: str) -> list[str]:
    if separator == "\t":
        return line.split("\t")
    return [cell for cell in line.split(" ") if cell]


def _word_lines(lines: Iterable[str]) -> list[int]:
    """Indices of the lines that are surely words, or, if there are none, of those that may be."""
    maybe: list[int] = []
    sure: list[int] = []
    for i, line in enumerate(lines):
        if line.strip(" \t") and not _DOCSTART.match(line):
            maybe.append(i)
            if not (line.startswith("# ") or line.rstrip(" ") == "#"):
                sure.append(i)
    return sure or maybe


def write_conll(
    path: str | Path, sentences: Sequence[Sentence], *columns: Sequence[Sequence[str]]
) -> None:
    """Write `word tag`, `word gold predicted`, or words alone, as UTF-8.

    Columns are separated by a space, or by tabs where a word or tag holds a space. Tags that the
    sentences have come first; `columns` are further ones, each S rows of one tag a word.
    """
    rows = [
        _row(number, sentence, tags)
        for number, (sentence, *tags) in enumerate(zip(sentences, *columns, strict=True), start=1)
    ]
    width = len(rows[0]) if rows else 0
    if any(len(row) != width for row in rows):
        raise InputError("some sentences have tags and others have none")
    separator = "\t" if any(" " in cell for r in rows for cells in r for cell in cells) else " "
    if separator == "\t" and width == 1:
        raise InputError("words that hold spaces cannot be written to a column file without tags")
    mark = separator.join([DOCSTART] + ["O"] * (width - 1))
    document = None
    with writing(Path(path)) as stream:
        if rows and sentences[0].words[0].startswith(BOM):
            stream.write(BOM)  # the reader removes one
        for sentence, row in zip(sentences, rows, strict=True):
            if sentence.document != document:
                document = sentence.document
                stream.write(f"{mark}\n\n")
            stream.writelines(separator.join(c) + "\n" for c in zip(*row, strict=True))
            stream.write("\n")


def _row(number: int, sentence: Sentence, columns: list[Sequence[str]]) -> list[Sequence[str]]:
    """All columns of a sentence, each (T,)."""
    tags = [] if sentence.tags is None else [sentence.tags]
    row = [sentence.words, *tags, *columns]
    where = f"sentence {number} ({excerpt(' '.join(sentence.words))})"
    for k, cells in enumerate(row):
        if len(cells) != len(sentence):
            raise InputError(f"{len(cells)} tags for {len(sentence)} words of {where}")
        for cell in cells:
            fault = word_fault(cell)
            if fault or (k and cell != cell.strip(" ")):
                raise InputError(
                    f"{'tag' if k else 'word'} {excerpt(cell)} of {where} cannot be written: it "
                    f"{fault or 'begins or ends with a space'}"
                )
    return row

"""Column files read: a word a line, a blank line after a sentence, -DOCSTART- between documents.

- Columns are separated by tabs if the lines of words hold any tab (words may then hold spaces),
  by runs of spaces otherwise. Every other white space, such as U+00A0, belongs to the word.
- The first column is the word and the last the tag, unless told.
- Blank lines may hold spaces and tabs.
- A line that is `#` or begins with `# ` is a comment if it stands before the first word of a
  sentence and cannot be a word there: its number of columns differs from that of the words, or,
  where spaces separate, it reads `# key = …`, `# newdoc` or `# newpar`. So `# O` is a word.
- `-DOCSTART-` (never a word, therefore), with or without columns after it, and the comment
  `# newdoc` begin a document and are no sentences. Sentences before the first such line are a
  document too; a file without any has no documents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TextIO

from featbert.data.corpus import Sentence
from featbert.data.files import (
    BOM,
    DOCSTART,
    RawFile,
    RawSentence,
    codec_name,
    excerpt,
    read_text,
    word_fault,
    writing,
)
from featbert.errors import InputError
from featbert.progress import stage, told

_DOCSTART = re.compile(rf"{DOCSTART}(?:[ \t]|$)")
NEW_DOCUMENT = re.compile(r"# newdoc(?: |$)")


def read_conll(
    path: str | Path,
    *,
    encoding: str = "utf-8",
    token_column: int | None = None,
    tag_column: int | None = None,
    tagged: bool = True,
) -> RawFile:
    """Read a column file; time and memory are linear in its size.

    Args:
        token_column, tag_column: counted from 1; by default the first and the last.
        tagged: False reads words alone, from a file with or without tags.

    Raises:
        MissingError: no such file.
        InputError: not such a file; the message names the line.
    """
    path = Path(path)
    lines = read_text(path, encoding).split("\n")
    layout = Layout.of(lines, path, token_column, tag_column, tagged)

    comments: list[int] = []
    with stage(f"reading {path.name}", "lines", len(lines)) as tell:
        counted = told(lines, tell, every=10_000)
        read = column_sentences(counted, layout, tagged=tagged, on_comment=comments.append)
        sentences = list(read)
    if not sentences:
        raise InputError(f"sentences expected, {path} holds none")
    if sentences[-1].document is not None:  # those before the first mark are document 0
        sentences = [RawSentence(s.words, s.tags, s.document or 0, s.line) for s in sentences]
    return RawFile(path, tuple(sentences), codec_name(encoding), len(comments))


def column_sentences(
    lines: Iterable[str],
    layout: Layout,
    *,
    tagged: bool,
    on_comment: Callable[[int], object] | None = None,
) -> Iterator[RawSentence]:
    """The sentences of column lines in order, one at a time.

    Documents are numbered as they begin; sentences before the first mark have None, and are
    document 0 where a mark follows.

    Args:
        on_comment: called with the number of each comment line.
    """
    words: list[str] = []
    tags: list[str] = []
    start = 0
    document: int | None = None
    seen = new_document = False
    for number, line in enumerate(lines, start=1):
        cells = layout.split(line)
        blank = not line.strip(" \t")
        mark = not blank and layout.is_docstart(line, cells)
        if (blank or mark) and words:
            yield RawSentence(tuple(words), tuple(tags) if tagged else None, document, start)
            words.clear()
            tags.clear()
        if mark:
            new_document = True
        elif not blank and (words or not layout.is_comment(line, cells)):
            layout.check(line, cells, number)
            if new_document:
                document = (document or 0) + seen
            start = start if words else number
            seen, new_document = True, False
            words.append(cells[layout.token])
            if tagged:
                tags.append(cells[layout.tag].strip(" "))
        elif not blank:
            new_document = new_document or NEW_DOCUMENT.match(line) is not None
            if on_comment is not None:
                on_comment(number)
    if words:
        yield RawSentence(tuple(words), tuple(tags) if tagged else None, document, start)


@dataclass(frozen=True)
class Layout:
    """How the lines of one file are split, and which columns count (from 0)."""

    path: Path
    separator: str  # "\t", or " " for runs of spaces
    columns: int
    first: int  # number of the line that the number of columns was taken from
    token: int
    tag: int  # -1 where tags are not read

    @classmethod
    def of(
        cls,
        lines: list[str],
        path: Path,
        token_column: int | None,
        tag_column: int | None,
        tagged: bool,
    ) -> Layout:
        for option, value in (("token", token_column), ("tag", tag_column)):
            if value is not None and value < 1:
                raise InputError(f"{option} column from 1 upwards expected, found {value}")
        if tag_column is not None and not tagged:
            raise InputError(f"tag column {tag_column} given, but the text is read without tags")
        data = _word_lines(lines)
        separator = "\t" if any("\t" in lines[i] for i in data) else " "
        first = data[0] if data else 0
        columns = len(_split(lines[first], separator))
        self = cls(
            path,
            separator,
            columns,
            first + 1,
            (token_column or 1) - 1,
            (tag_column or columns) - 1 if tagged else -1,
        )
        for option, value in (("token", token_column), ("tag", tag_column)):
            if data and value is not None and value > columns:
                self._fail(f"{option} column {value}", lines[first], columns, self.first)
        if data and tagged and self.token == self.tag:
            what = "a tag column beside the word" if columns == 1 else "two different columns"
            if columns > 1:
                advice = f"token and tag column are both {self.token + 1}"
            elif " " in lines[first]:
                advice = "other lines hold tabs; use one separator in all"
            else:
                advice = "is the file untagged, or are its columns separated otherwise?"
            self._fail(what, lines[first], columns, self.first, advice)
        return self

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
        """Raise InputError unless the line has the file's columns, a word and a tag."""
        if len(cells) != self.columns:
            self._fail(f"{self.columns} columns as in line {self.first}", line, len(cells), number)
        if fault := word_fault(cells[self.token]):
            where = f"line {number} of {self.path}"
            raise InputError(
                f"word expected in column {self.token + 1}, in {where} it {fault}: {excerpt(line)}"
            )
        if self.tag >= 0 and not cells[self.tag].strip(" "):
            raise InputError(
                f"tag expected in column {self.tag + 1}, line {number} of {self.path} has none: "
                f"{excerpt(line)}; give --tag-column if the tag stands elsewhere"
            )

    def _fail(
        self, expected: str, line: str, columns: int, number: int, advice: str = ""
    ) -> NoReturn:
        plural = "" if columns == 1 else "s"
        tabs = "tab" if self.separator == "\t" else "space"
        raise InputError(
            f"{expected} expected, line {number} of {self.path} has {columns} {tabs}-separated "
            f"column{plural}: {excerpt(line)}" + (f"; {advice}" if advice else "")
        )


def _split(line: str, separator: str) -> list[str]:
    if separator == "\t":
        return line.split("\t")
    return [cell for cell in line.split(" ") if cell]


def _word_lines(lines: Iterable[str]) -> list[int]:
    """Places of the lines that are surely words; of all that may be, where no line is sure."""
    maybe: list[int] = []
    sure: list[int] = []
    for i, line in enumerate(lines):
        if line.strip(" \t") and not _DOCSTART.match(line):
            maybe.append(i)
            if not (line.startswith("# ") or line.rstrip(" ") == "#"):
                sure.append(i)
    return sure or maybe


Column = Sequence[Sequence[str]]


def write_conll(
    target: str | Path | TextIO, sentences: Sequence[Sentence], *columns: Column
) -> None:
    """Write sentences as a column file, UTF-8.

    Args:
        target: a path (written under a temporary name, then renamed), or a text stream.
        sentences: S sentences; their tags are the second column, unless they have none.
        columns: further columns, each S rows of one tag a word, such as the predictions.

    Raises:
        InputError: a column has not exactly the words of the sentences, a word or tag cannot
            stand in a column file, or some sentences have tags and some not.
        MissingError: the folder of `target` does not exist.
    """
    rows = _rows(sentences, columns)
    width = len(rows[0]) if rows else 0
    separator = "\t" if any(" " in cell for r in rows for cells in r for cell in cells) else " "
    if separator == "\t" and width == 1:
        raise InputError(
            "words with spaces need a second column in a column file, the sentences have no "
            "tags; write them as JSONL"
        )
    mark = separator.join([DOCSTART] + ["O"] * (width - 1))
    document = None
    with writing(target) as stream:
        if rows and sentences[0].words[0].startswith(BOM):
            stream.write(BOM)  # the reader takes one off
        for sentence, row in zip(sentences, rows, strict=True):
            if sentence.document != document:
                document = sentence.document
                stream.write(f"{mark}\n\n")
            stream.writelines(separator.join(c) + "\n" for c in zip(*row, strict=True))
            stream.write("\n")


def _rows(sentences: Sequence[Sentence], columns: Sequence[Column]) -> list[list[Sequence[str]]]:
    """By sentence its columns, each (T,), checked."""
    for column in columns:
        if len(column) != len(sentences):
            raise InputError(
                f"a column of {len(sentences)} sentences expected, found one of {len(column)}"
            )
    rows: list[list[Sequence[str]]] = []
    for i, sentence in enumerate(sentences):
        row: list[Sequence[str]] = [sentence.words]
        if sentence.tags is not None:
            row.append(sentence.tags)
        row.extend(column[i] for column in columns)
        where = f"sentence {i + 1}, {excerpt(' '.join(sentence.words))}"
        if len(row) != len(rows[0] if rows else row):
            raise InputError(f"all sentences with tags or none expected, {where}, differs")
        for cells in row:
            if len(cells) != len(sentence):
                raise InputError(f"{len(sentence)} tags expected for {where}, found {len(cells)}")
        for k, cells in enumerate(row):
            for cell in cells:
                fault = word_fault(cell)
                if fault or (k and cell != cell.strip(" ")):
                    raise InputError(
                        f"{'tag' if k else 'word'} {excerpt(cell)} of {where}, cannot be "
                        f"written: it {fault or 'begins or ends with a space'}"
                    )
        rows.append(row)
    return rows

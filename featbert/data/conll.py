"""Column files, read and written: a word a line, a blank line after each sentence.

- Columns are separated by tabs if the lines of words have any tab (words may then hold spaces),
  by runs of spaces otherwise, or by the character that is given, in .csv by commas. Any other white
  space, such as U+00A0, is part of the word.
- The first line is a header if columns are named that it has, or if it has usual names of words and
  of tags (`rows`, `tags`).
- In a column `sentence_id` or `Sentence #` of a header, each new value begins a sentence, too.
- A line that is `#` or begins with `# ` is a comment if it comes before the first word of a
  sentence and cannot be a word there: its number of columns differs from that of the words, or,
  where spaces separate, it reads `# key = …`, `# newdoc` or `# newpar`. So `# O` is a word.
- `-DOCSTART-`, with or without more columns, and the comment `# newdoc` begin a document. Sentences
  before the first such line are a document too; a file without any has no documents.
- CoNLL-U (ten columns separated by tabs, the first of which counts the words): the columns have
  names, FORM is the word. Ranges (`8-9`) and empty nodes (`8.1`) are skipped.

What `write_conll` writes reads back with the same words, tags and documents.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from featbert.data.corpus import ReadingNotes, Sentence
from featbert.data.examples import Columns, column_names, table_cells
from featbert.data.files import (
    BOM,
    DOCSTART,
    Documents,
    RawFile,
    excerpt,
    lower_names,
    read_file,
    usual_column,
    word_fault,
    writing,
)
from featbert.data.rows import WORD_KEYS
from featbert.data.tags import TAG_KEYS, TARGETS, Targets
from featbert.errors import InputError
from featbert.progress import track
from featbert.text import counted

SENTENCE_KEYS = ("sentence_id", "sentence_idx", "sent_id", "sentence #", "sentence#")
CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_FIRST_ID = re.compile(r"(1|1-\d+|0\.\d+)$")
_NON_WORD = re.compile(r"\d+[-.]\d+")
_DOCSTART = re.compile(rf"{DOCSTART}(?:[ \t]|$)")
_NEW_DOCUMENT = re.compile(r"# newdoc(?: |$)")


class Layout:
    """How the lines of one file are split, and which columns are read, from 0.

    `tag` is -1 where tags are not read, `sentence` where no column has the sentence of a word;
    `header` is the line of the names, from 1, or 0.
    """

    def __init__(self, lines: Sequence[str], path: Path, columns: Columns, kind: Targets) -> None:
        """By the lines of a file, or its first ones; InputError for other columns."""
        words = _word_lines(lines)
        line = lines[words[0]] if words else ""
        self.path, self.token, self.tag, self.header, self.sentence = path, 0, -1, 0, -1
        self.is_csv = path.suffix.lower() == ".csv"
        blank = "\t" if any("\t" in lines[i] for i in words) else " "
        self.separator = columns.delimiter or ("," if self.is_csv else blank)
        self.first = words[0] + 1 if words else 1
        cells = self.split(line, self.first)
        self.columns = len(cells)
        tabs = self.separator == "\t"
        self.conllu = tabs and len(cells) == len(CONLLU) and bool(_FIRST_ID.match(cells[0]))
        if not words:
            return
        names: Sequence[str] = CONLLU
        if not self.conllu:
            lower = lower_names(cells).keys()
            usual = lower & {*WORD_KEYS} and lower & TAG_KEYS
            self.header = self.first if usual or columns.in_header(cells) else 0
            names = column_names(cells, path, has_header=bool(self.header))
            numbers = [i for i, name in enumerate(names) if name.lower() in SENTENCE_KEYS]
            self.sentence = numbers[0] if numbers else -1
        where = f"{path}, line {self.first}: {excerpt(line)}"
        # Columns with usual names, else those that usually have words and tags.
        words_at, tags_at = (["form"], kind.conllu) if self.conllu else (WORD_KEYS, names[-1])
        token = usual_column(columns.token_column, words_at, names, "token-column", where)
        self.token = names.index(token or names[0])
        if kind.keys is None:
            return
        keys = () if self.conllu else kind.keys
        tag = usual_column(columns.tag_column, keys, names, "tag-column", where) or tags_at
        if tag is None:
            raise InputError(
                f"no column of entities in {path}: it is CoNLL-U; name a column with "
                "--tag-column, or read parts of speech with --task labels"
            )
        self.tag = names.index(tag)
        if self.token == self.tag:
            sign = next((sign for sign in ",;|" if sign in line), ";")
            advice = f"columns are separated by tabs or spaces; else give --delimiter '{sign}'"
            if columns.delimiter:
                advice = f"there is no {columns.delimiter!r} in it; leave out --delimiter"
            self._fail(f"token and tag column are both {self.token + 1}", line, self.first, advice)

    def split(self, line: str, number: int) -> list[str]:
        """The cells of a line; `number` is for messages."""
        if self.is_csv:
            rows = table_cells([line], self.path, self.separator, number)
            return next((cells for _, cells in rows), [])
        cells = line.split(self.separator)
        return [cell for cell in cells if cell] if self.separator == " " else cells

    def is_comment(self, line: str, cells: list[str]) -> bool:
        """Whether a line before the first word of a sentence is a comment."""
        if not _is_hash(line):
            return False
        if len(cells) != self.columns:
            return True
        key_value = cells[2:3] == ["="] or cells[1:2] in (["newdoc"], ["newpar"])
        return self.separator == " " and key_value

    def check(self, line: str, cells: list[str], number: int) -> None:
        """InputError unless the line has the columns of the file, a word and a tag."""
        if len(cells) != self.columns:
            found = f"{counted(len(cells), 'column')} separated by {self.separator!r}"
            self._fail(f"{found} instead of {self.columns} (line {self.first})", line, number)
        if fault := word_fault(cells[self.token]):
            self._fail(f"the word in column {self.token + 1} {fault}", line, number)
        if self.tag >= 0:
            tag = cells[self.tag].strip(" ")
            untagged = self.conllu and CONLLU[self.tag] in ("upos", "xpos") and tag == "_"
            if not tag or untagged:
                advice = "give --tag-column if the tags are in another"
                self._fail(f"no tag in column {self.tag + 1}", line, number, advice)

    def _fail(self, fault: str, line: str, number: int, advice: str = "") -> NoReturn:
        more = f"; {advice}" if advice else ""
        raise InputError(f"{fault}, line {number} of {self.path}: {excerpt(line)}{more}")


def read_conll(
    path: Path,
    columns: Columns = Columns(),  # noqa: B008
    kind: Targets = TARGETS["entities"],
    *,
    encoding: str = "utf-8",
    limit: int | None = None,
) -> RawFile:
    """The sentences of a column file, or the first `limit`; time and memory are linear in it."""
    lines = read_file(path, encoding)
    layout = Layout(lines, path, columns, kind)
    skipped: dict[str, Any] = Counter()
    tracked = track(lines, f"reading {path.name}", "lines")
    sentences = tuple(islice(column_sentences(tracked, layout, skipped), limit))
    return RawFile(path, sentences, ReadingNotes(**skipped))


def column_sentences(
    lines: Iterable[str], layout: Layout, skipped: dict[str, Any]
) -> Iterator[Sentence]:
    """The sentences of column lines; `skipped` is a counter of `ReadingNotes`."""
    documents, before = Documents(), ""
    rows: list[tuple[int, str, str]] = []

    def sentence() -> Sentence:
        numbers, words, tags = zip(*rows, strict=True)
        run = range(numbers[0], numbers[-1] + 1)
        return Sentence(
            words,
            tags if layout.tag >= 0 else None,
            documents.of_next(),
            lines=run if len(run) == len(numbers) else numbers,
        )

    for number, line in enumerate(lines, start=1):
        if number == layout.header:
            skipped["header_lines"] += 1
            continue
        cells = layout.split(line, number)
        blank = not any(cell.strip(" \t") for cell in cells)
        mark = bool(_DOCSTART.match(line)) or cells[layout.token :][:1] == [DOCSTART]
        if (blank or mark) and rows:
            yield sentence()
            rows.clear()
        if mark:
            documents.begin()
        elif not blank and not rows and layout.is_comment(line, cells):
            skipped["comment_lines"] += 1
            if _NEW_DOCUMENT.match(line):
                documents.begin()
        elif not blank and layout.conllu and _NON_WORD.fullmatch(cells[0]):
            skipped["non_words"] += 1
        elif not blank:
            layout.check(line, cells, number)
            own = cells[layout.sentence] if layout.sentence >= 0 else ""
            if rows and own not in ("", before):  # Kaggle's has it in the first word's line alone
                yield sentence()
                rows.clear()
            before = own or before
            rows.append((number, cells[layout.token], cells[layout.tag].strip(" ")))
    if rows:
        yield sentence()


def _word_lines(lines: Iterable[str]) -> list[int]:
    """Indices of the lines that are surely words, or, if there are none, of those that may be."""
    found = [(i, s) for i, s in enumerate(lines) if s.strip(" \t") and not _DOCSTART.match(s)]
    return [i for i, line in found if not _is_hash(line)] or [i for i, _ in found]


def _is_hash(line: str) -> bool:
    """Whether a line may be a comment."""
    return line.startswith("# ") or line.rstrip(" ") == "#"


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

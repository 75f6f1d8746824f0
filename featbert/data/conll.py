"""Column files, read and written: a word per line, a blank line after each sentence.

- Columns are separated by tabs if all lines of words have one (words may then hold spaces), by
  spaces if none has, by commas in .csv, or by the character that the caller gives. If only some
  lines have tabs, tabs and spaces separate, if all lines then have equally many columns. Any other
  white space, such as U+00A0, is part of the word.
- If all cells of a line consist of equally many parts with `|` or `/` between them
  (`Rome|NNP|B-LOC is|VBZ|O`), the line is a sentence and each cell a word and its columns.
- The first line is a header if it has a column that the caller names, or a usual name of words and
  one of tags (`columns`). Unless labels are read, its last cell may have any name if all other
  lines end with a tag of entities. If tags are not read, also if all its cells are usual names.
- In a column with a usual name of sentences or documents, each new value begins one, too.
- In .csv fields may be in quotation marks, as in tables (`tables`), in .tsv if that is sure, and in
  other files if the caller says it. Otherwise quotation marks are part of the words.
- A line that begins with a mark of comments (`# `, `##`, `#id:`, `#begin`, `%%`, `<doc>`, ...) is a
  comment if it comes before the first word of a sentence and cannot be a word there: it has more or
  fewer columns than the words, or a form that words do not have (`is_comment`). So `# O` is a word.
  Markup of sentences and documents (`<s>`, `</doc>`, `#end document`) also ends a sentence.
- `-DOCSTART-`, with or without more columns, `# newdoc`, `#begin document`, `###MEDLINE:1`, `<doc>`
  and another `# doc_id = 1` than the last one begin a document. Sentences before the first such
  line are a document, too. A file without such lines has no documents.
- In files of characters, a line with a space as its word is skipped, unless an entity begins there.
- CoNLL-U (ten columns separated by tabs, the first of which counts the words): the columns have
  names, FORM is the word. Ranges (`8-9`) and empty nodes (`8.1`) are skipped. Entities are read
  from a key of MISC with a usual name (`NER=B-PER`), or from the key that the caller names. A word
  with `_` as part of speech or relation has no label, like a word with a missing value.
  CoNLL-U Plus names other columns in a comment, `# global.columns = ID FORM X:NE`.
- CoNLL-2012 (it begins with `#begin document`): the columns have names, and the number of the last
  ones differs between sentences.
- Otherwise the first column has the words and the last one the tags. Columns that count the words
  or have tags of entities are no words. A last column without any O has no tags of entities if
  another column has some. If another column has entities of the same types, as nested or predicted
  ones are, a notice says it.

Files of `write_conll` are read back with the same words, tags and documents.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from featbert.data.answers import count_missing
from featbert.data.columns import (
    DOCUMENT_KEYS,
    SENTENCE_KEYS,
    TAG_KEYS,
    USUAL_NAMES,
    WORD_KEYS,
    lower_names,
    only_column,
)
from featbert.data.corpus import UNLABELLED, ReadingNotes, Sentence
from featbert.data.files import (
    BOM,
    DOCSTART,
    Documents,
    RawFile,
    extension,
    read_file,
    word_fault,
    writing,
)
from featbert.data.notation import OUTSIDE, notation_of
from featbert.data.options import ReadingOptions
from featbert.data.tables import column_names, dialect_of, quoted_dialect, table_cells
from featbert.data.tags import TAG, TARGETS, TargetKind
from featbert.errors import FormError, InputError, other_task, spelling
from featbert.progress import track
from featbert.text import counted, excerpt

CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
CONLL2012 = (
    *("document", "part", "number", "word", "pos", "parse", "lemma", "frameset", "sense"),
    *("speaker", "ner"),
)
# Keys of MISC that hold tags of entities, in lower case.
MISC_KEYS = ("ner", "ne", "name", "entity", "namedentity", "named_entity")
TABS_OR_SPACES = "\t "
_SEPARATORS = {"\t": "tabs", " ": "spaces", TABS_OR_SPACES: "tabs or spaces"}
_FIRST_ID = re.compile(r"(1|1-\d+|0\.\d+)$")
_NON_WORD = re.compile(r"\d+[-.]\d+")
_DOCSTART = re.compile(rf"{DOCSTART}(?:[ \t]|$)")
_MARKUP = r"</?(?:doc|document|text|article|file|p|s|sent|sentence)\b[^<>]*> *$"
# Marks of comments, and forms of comments that have as many columns as words.
_COMMENT = re.compile(
    r"#(?:[ \t#]|$|\w*[ \t]*[:=]|(?:begin|end|newdoc|newpar|doc|sent|(?:\w+_)?id)[ \t])"
    rf"|%%|{_MARKUP}",
    re.IGNORECASE,
)
_SIGNS = ("#", "%", "<")
_KEY_VALUE = re.compile(r"# +(?:\S+ += |newdoc(?: |$)|newpar(?: |$))|#(?:begin|end) document\b")
_ITEM = re.compile(rf"#{{1,2}} ?(?:(?:\w+_)?id|doc(?:ument)?)\b|## |%%|{_MARKUP}", re.IGNORECASE)
# So few lines do not show that the first one is a header, or a column has texts. So many do.
_FEW, _SHOWING = 5, 100
_LIST = re.compile(r"\[.*['\" ].*\]", re.DOTALL)
# Columns without tags have "-" and "_", too.
_OUTSIDE = {*OUTSIDE, "*"} - {"-", "_"}
_NO_LABEL = re.compile(r".*[\s=]|\d+$")
_NEW_DOCUMENT = re.compile(
    r"# ?newdoc(?: |$)|#begin document\b|###MEDLINE:|<(?:doc|document|text|article)\b", re.I
)
# Each sentence of a document has the same line before it.
_DOCUMENT_ID = re.compile(r"# ?(?:[\w.]+:)?doc(?:ument)?(?:[_ ]?id)?(?: *[:=] *| +)\S", re.I)
_BOUNDARY = re.compile(rf"#(?:begin|end) document\b|{_MARKUP}", re.IGNORECASE)


class ColumnFormat:
    """How the lines of one file are split, and which columns are read, from 0.

    Attributes:
        first: number of the first line of words, from 1.
        header: number of the line of names, from 1, or 0.
        token, tag: columns of words and tags, -1 for a column that is not read.
        units: columns of documents and sentences, -1 for a column that is not in the file.
        key: key of MISC that has the tags.
        dialects: deviations from the plainest form, for people.
    """

    def __init__(
        self, lines: Sequence[str], path: Path, options: ReadingOptions, kind: TargetKind
    ) -> None:
        """Finds the format in the lines of a file, or its first ones. InputError without tags."""
        self.path, self.options, self.kind = path, options, kind
        if lines and lines[0].startswith("#FORMAT=WebAnno"):
            raise InputError(
                f"{path} is WebAnno's TSV, which is not read; export CoNLL 2002 instead"
            )
        self.token, self.tag, self.units, self.header = 0, -1, (-1, -1), 0
        self.key, self.missing = "", frozenset[str]()
        self.dialects: list[str] = []
        self._find_separator(lines)
        self.first, line = self._words[0] if self._words else (1, "")
        cells, head = self.split(line, self.first), lines[: self.first]
        self.columns = len(cells)
        treebank = next(filter(None, map(_columns_of_plus, head)), CONLLU)
        has_ids = len(cells) == len(treebank) and treebank[0] == "id" and _FIRST_ID.match(cells[0])
        self.conllu = self.separator == "\t" and bool(has_ids)
        self.misc = treebank.index("misc") if "misc" in treebank else len(treebank)
        is_2012 = any(comment.startswith("#begin document") for comment in head)
        self.conll2012 = not self.conllu and is_2012 and len(cells) > len(CONLL2012)
        if not self._words:
            return
        names, tag_keys = self._names(cells, treebank)
        place = f"{path}, line {self.first}: {excerpt(line)}"
        self._find_words(names, place)
        if kind.keys is None:
            return
        self._find_tags(names, tag_keys, place)
        if self.token == self.tag:
            sign = next((sign for sign in ",;|" if sign in line), None)
            advice = "columns are separated by tabs or spaces"
            if options.delimiter:
                advice = f"it has no {options.delimiter!r}; leave out {spelling('delimiter')}"
            elif sign and len(cells) == 1:
                advice += f"; else give {spelling('delimiter', sign)}"
            fault = f"token and tag column are both {self.token + 1}"
            fault = fault if len(cells) > 1 else "one column: no tag next to the word"
            self._fail(fault, line, self.first, advice)

    def _find_separator(self, lines: Sequence[str]) -> None:
        is_csv = extension(self.path) == "csv"
        self.dialect = dialect_of(lines, ",", self.options) if is_csv else None
        self.separator = self.dialect.separator if self.dialect else self.options.delimiter or ""
        self.parts = 0
        self._words = _word_lines([*enumerate(lines, start=1)])
        if not self.separator:
            self.separator, self.parts = _separator([line for _, line in self._words])
        if self.parts:
            self.dialects.append(f"a sentence a line, its columns separated by {self.separator}")
            self._words = _word_lines([*self.numbered(lines)])
        elif self.dialect is None and self.separator in ("\t", " "):
            self.dialect = quoted_dialect(self.separator, lines, self.path, self.options)
        elif self.separator == TABS_OR_SPACES:
            self.dialects.append("columns separated by tabs or spaces")

    def _names(
        self, cells: Sequence[str], treebank: Sequence[str]
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Names of the columns, and usual names of the tags. Finds header and sentences."""
        if self.conllu:
            keys = self._misc_keys() if self.kind.has_scheme else {}
            tag_keys = [key.lower() for key, is_usual in keys.items() if is_usual]
            if self.kind.has_scheme:  # of CoNLL-U Plus: `X:NE`
                tag_keys += [n for n in treebank if n.rpartition(":")[2] in MISC_KEYS]
            return (*treebank, *keys), tag_keys
        if self.conll2012:
            self.columns = len(CONLL2012)
            self.dialects.append("columns of CoNLL-2012")
            numbers = (str(i + 1) for i in range(len(CONLL2012), len(cells)))
            return (*CONLL2012, *numbers), self.kind.keys or ()
        lower = lower_names(cells).keys()
        are_usual = self.kind.keys is None and lower <= USUAL_NAMES
        are_usual = are_usual and 1 < len(lower) == len(cells)
        has_names = lower & {*WORD_KEYS} and (lower & TAG_KEYS or are_usual or self._names_tags)
        if has_names or self.options.are_in(cells):
            self.header = self.first
        names = column_names(cells, self.path, has_header=bool(self.header))
        lower_columns = [name.lower() for name in names]
        document, sentence = (
            next((i for i, name in enumerate(lower_columns) if name in keys), -1)
            for keys in (DOCUMENT_KEYS, SENTENCE_KEYS)
        )
        self.units = document, sentence
        return names, self.kind.keys or ()

    def _find_words(self, names: Sequence[str], where: str) -> None:
        keys, column = ["form"] if self.conllu else WORD_KEYS, self.options.token_column
        name = only_column(column, keys, names, "token_column", where)
        if name:
            self.token = names.index(name)
            self._check_words()
            return
        if column := self._column_of_sentences():
            raise FormError(
                f"{self.path} has texts in column {column}, so its lines are no words; if they "
                f"are, name the column of words with {spelling('token_column')}"
            )
        last = len(self.split(self._words[0][1], self.first)) - 1
        self.token = self._usual_token(last)
        if self.token:
            self.dialects.append(f"words from column {self.token + 1}")

    def _check_words(self) -> None:
        """Raises InputError if the first word is a list of words, as pandas writes it."""
        number, line = self._words[min(bool(self.header), len(self._words) - 1)]
        word = [*self.split(line, number)[self.token :], ""][0]
        if _LIST.fullmatch(word):
            advice = "write JSONL: lists of words and tags"
            self._fail("a list in a column of words", line, number, advice)

    def _column_of_sentences(self) -> int:
        """The last column with several words in most lines, from 1, or 0.

        The first one of two may have expressions of several words.
        """
        rows = [self.split(line, number) for number, line in self._words[:_SHOWING]]
        columns = [*zip(*rows, strict=False)] if len(rows) > _FEW and self.separator != " " else []
        n_long = [sum(cell.count(" ") > 1 for cell in cells) for cells in columns]
        place = max((place for place, n in enumerate(n_long, 1) if 2 * n > len(rows)), default=0)
        return place if place > 1 or len(columns) > 2 else 0

    def _find_tags(self, names: Sequence[str], keys: Sequence[str], where: str) -> None:
        kind, last = self.kind, len(names) - 1
        tag = only_column(self.options.tag_column, keys, names, "tag_column", where)
        if tag is None and not self.conllu:
            column, rival = last, None
            if kind.has_scheme and not self.header:
                column = self._usual_tag(last)
                rival = self._rival(column, last)
            tag = names[column]
            also = ""
            if rival is not None:
                option = spelling("tag_column", rival + 1)
                also = f", though column {rival + 1} has some, too ({option})"
            if column != last or also:
                self.dialects.append(f"tags from column {tag}{also}")
        tag = tag or kind.conllu
        if tag is None or tag not in names:
            raise InputError(
                f"no column of {kind.name} in {self.path}: it is CoNLL-U; name a column or a key "
                f"of MISC with {spelling('tag_column')}, or use {other_task('labels')}"
            )
        self.tag = names.index(tag)
        is_blank_label = self.conllu and tag in ("upos", "xpos", "deprel")
        values = self.options.missing_values
        self.missing = frozenset(["_"] * is_blank_label) if values is None else values
        if self.conllu and self.tag >= self.columns:
            self.key, self.tag = tag, self.misc
            self.dialects.append(f"tags from {tag} in MISC")

    def numbered(self, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
        """Lines with their numbers, from 1. A line with a sentence becomes a line per word."""
        for number, line in enumerate(lines, start=1):
            cells = _between_blanks(line) if self.parts else []
            if cells and all(cell.count(self.separator) >= self.parts for cell in cells):
                yield from ((number, cell) for cell in cells)
                yield number, ""
            else:
                yield number, line

    def split(self, line: str, number: int) -> list[str]:
        """The cells of a line. `number` is for messages."""
        if self.dialect is not None:
            rows = table_cells([line], self.path, self.dialect, number)
            return next((cells for _, cells in rows), [])
        if self.parts:
            return line.rsplit(self.separator, self.parts)
        if self.separator == TABS_OR_SPACES:
            return _between_blanks(line)
        cells = line.split(self.separator)
        return [cell for cell in cells if cell] if self.separator == " " else cells

    def is_comment(self, line: str, cells: list[str]) -> bool:
        """Whether a line before the first word of a sentence is a comment."""
        if not _COMMENT.match(line):
            return False
        if len(cells) != self.columns or ("\t" in line and self.separator == " "):
            return True
        if self.separator in (" ", TABS_OR_SPACES) and _KEY_VALUE.match(line):
            return True
        label = cells[-1]
        no_label = _NO_LABEL.match(label) or (self.kind.has_scheme and not _may_be_tag(label))
        return bool(_ITEM.match(line) and no_label) and label not in self._last_cells

    def is_mark(self, line: str, cells: Sequence[str]) -> bool:
        """Whether a line is `-DOCSTART-`."""
        return DOCSTART in line and (
            bool(_DOCSTART.match(line)) or cells[self.token :][:1] == [DOCSTART]
        )

    def skipped_as(self, cells: Sequence[str]) -> str:
        """The field of `ReadingNotes` that counts a line without a word, or "" for a word."""
        if self.conllu and _NON_WORD.fullmatch(cells[0]):
            return "non_words"
        if self.separator == "\t" and len(cells) == self.columns and cells[self.token] == " ":
            return "spaces" if self._tag(cells)[:2] in ("O", "I-", "E-") else ""
        return ""

    def _tag(self, cells: Sequence[str]) -> str:
        """The tag of a line, O for a word of CoNLL-U without the key of the tags."""
        if self.key:
            return _pairs(cells[self.misc]).get(self.key, "O")
        return cells[self.tag].strip(" ")

    def _usual_token(self, last: int) -> int:
        """The first column that neither counts the words nor has tags of entities.

        The very first column if the cells of that one are all equal.
        """
        columns = (i for i in range(last) if not (self._counts(i) or self._has_tags(i)))
        token = 0 if self.header else next(columns, last if self._has_tags(0) else 0)
        differ = len(self._words) == 1 or len({cell for _, cell in self._cells(token)}) > 1
        return token if differ else 0

    def _usual_tag(self, last: int) -> int:
        """The last column, or another one if only that has tags of entities."""
        if self.token != last and (last < 2 or any(_may_be_tag(c) for _, c in self._cells(last))):
            return last
        columns = (i for i in reversed(range(last + 1)) if i != self.token and self._has_tags(i))
        return next(columns, last)

    def _rival(self, tag: int, last: int) -> int | None:
        """A column with entities of the types of the tags, such as nested or predicted ones."""

        def types(column: int) -> set[str]:
            return {match[2] for _, cell in self._cells(column) if (match := TAG.fullmatch(cell))}

        columns = (i for i in range(last + 1) if i not in (self.token, tag) and self._has_tags(i))
        return next((i for i in columns if types(i) & types(tag)), None)

    def _cells(self, column: int) -> Iterator[tuple[int, str]]:
        """The cells of a column with the numbers of their lines."""
        rows = ((number, self.split(line, number)[column:]) for number, line in self._words)
        return ((number, row[0]) for number, row in rows if row)

    def _counts(self, column: int) -> bool:
        """Whether a column counts the words of each sentence, from 0 or 1."""
        numbers = ((n, int(cell) if cell.isdecimal() else -1) for n, cell in self._cells(column))
        before, goes_on = (0, -1), False
        for line, count in numbers:
            follows = (line - 1, count - 1) == before
            if not follows and count not in (0, 1):
                return False
            before, goes_on = (line, count), goes_on or (follows and line > 1)
        return goes_on

    def _has_tags(self, column: int) -> bool:
        """Whether a column has O and other tags of entities, and nothing else."""
        values: set[str] = set()
        for _, cell in self._cells(column):
            if cell != "O" and not TAG.fullmatch(cell):
                return False
            values.add(cell)
        return len(values) > 1 and "O" in values

    @cached_property
    def _last_cells(self) -> set[str]:
        return {self.split(line, number)[-1] for number, line in self._words}

    @property
    def _names_tags(self) -> bool:
        """Whether all lines but the first end with a tag of entities, unless labels are read."""
        if self.kind.keys is not None and not self.kind.has_scheme:
            return False
        (number, line), *lines = self._words
        first = self.split(line, number)[-1]
        tags = {self.split(line, number)[-1] for number, line in lines}
        return "O" in tags and _are_tags(tags) and not _are_tags({*tags, first})

    def _misc_keys(self) -> dict[str, bool]:
        """The keys of MISC, and whether they have a usual name and tags of entities."""
        values: dict[str, set[str]] = {}
        for _, cell in self._cells(self.misc):
            for key, value in _pairs(cell).items():
                values.setdefault(key, set()).add(value)

        return {key: key.lower() in MISC_KEYS and _are_tags(tags) for key, tags in values.items()}

    def word_and_tag(self, line: str, cells: list[str], number: int) -> tuple[str, str]:
        """The word and tag in a line. InputError without one of them or with other columns."""
        if len(cells) != self.columns and not (self.conll2012 and len(cells) > self.columns):
            separator = _SEPARATORS.get(self.separator, repr(self.separator))
            columns = f"{counted(len(cells), 'column')} separated by {separator}"
            place = f"{columns} instead of {self.columns} (line {self.first})"
            advice = "add the word or tag that is missing" if len(cells) < self.columns else ""
            if self.separator == " " and min(len(cells), self.columns) > 4:  # more than CoNLL-2003
                advice = (
                    "if each line is a text, make a table of it with the columns text and label"
                )
            self._fail(place, line, number, advice=advice)
        if fault := word_fault(word := cells[self.token]):
            self._fail(f"the word in column {self.token + 1} {fault}", line, number)
        tag = self._tag(cells) if self.tag >= 0 else ""
        if self.tag >= 0 and not tag and "" not in self.missing:
            advice = f"give {spelling('tag_column')} if the tags are in another"
            self._fail(f"no tag in column {self.tag + 1}", line, number, advice)
        return word, tag

    def _fail(self, fault: str, line: str, number: int, advice: str = "") -> NoReturn:
        advice = f"; {advice}" if advice else ""
        raise InputError(f"{fault}, line {number} of {self.path}: {excerpt(line)}{advice}")


def read_conll(
    path: Path,
    options: ReadingOptions = ReadingOptions(),  # noqa: B008
    kind: TargetKind = TARGETS["entities"],
) -> RawFile:
    """The sentences of a column file, or the first ones. Time and memory are linear in it."""
    lines = read_file(path, options.encoding)
    columns = ColumnFormat(lines, path, options, kind)
    skipped: dict[str, Any] = Counter()
    tracked = track(lines, f"reading {path.name}", "lines")
    sentences = tuple(islice(column_sentences(tracked, columns, skipped), options.limit))
    notes = ReadingNotes(dialects=tuple(columns.dialects), **skipped)
    tag = -1 if columns.tag == columns.columns - 1 else columns.tag
    return RawFile(path, sentences, notes, columns=(columns.columns, columns.token, tag))


def column_sentences(
    lines: Iterable[str], columns: ColumnFormat, skipped: dict[str, Any]
) -> Iterator[Sentence]:
    """The sentences of column lines. `skipped` counts lines for `ReadingNotes`."""
    documents, comment = Documents(), ""
    units = ["", ""]  # the document and the sentence of the last word, where columns name them
    rows: list[tuple[int, str, str]] = []

    def finished() -> Iterator[Sentence]:
        if rows:
            numbers, words, tags = zip(*rows, strict=True)
            run = range(numbers[0], numbers[-1] + 1)
            yield Sentence(
                words,
                tags if columns.tag >= 0 else None,
                documents.of_next(units[0] or None),
                lines=run if len(run) == len(numbers) else numbers,
            )
            rows.clear()

    for number, line in columns.numbered(lines):
        if number == columns.header:
            skipped["header_lines"] += 1
            continue
        cells = columns.split(line, number)
        is_mark = columns.is_mark(line, cells)
        if is_mark or not any(cell.strip(" \t") for cell in cells):
            yield from finished()
            if is_mark:
                documents.begin()
            continue
        may_be_comment = line[:1] in _SIGNS and (not rows or _BOUNDARY.match(line))
        if may_be_comment and columns.is_comment(line, cells):
            yield from finished()
            skipped["comment_lines"] += 1
            if _NEW_DOCUMENT.match(line) or (_DOCUMENT_ID.match(line) and line != comment):
                documents.begin()
                comment = line
        elif field := columns.skipped_as(cells):
            skipped[field] += 1
        else:
            word, tag = columns.word_and_tag(line, cells, number)
            # Kaggle's file names a sentence only in its first line.
            names = [cells[i] if i >= 0 else "" for i in columns.units]
            names = [name or last for name, last in zip(names, units, strict=True)]
            if names != units:
                yield from finished()
                units = names
            if tag in columns.missing:
                count_missing(skipped, tag or "empty")
                tag = UNLABELLED
            rows.append((number, word, tag))
    yield from finished()


def _are_tags(tags: set[str]) -> bool:
    """Whether all are tags of entities in one notation, or O."""
    usual = notation_of(tags).usual
    return all(TAG.fullmatch(tag) or tag == "O" for tag in (usual.get(t, t) for t in tags))


def has_columns(text: str) -> bool:
    """Whether a text has several lines, each with a tab, or with a tag at its end.

    Most of the tags have a letter or digit, unlike the last words of tokenised sentences. The first
    line may be a header.
    """
    lines = [line for line in text.split("\n") if line.strip() and line[0] != "#"]
    words = [line.split() for line in lines]
    tagged = words[len(words) > _FEW :]
    tags = [cells[-1] for cells in tagged if any(map(str.isalnum, cells[-1]))]
    are_tags = 2 * len(tags) > len(tagged) and all(t.isupper() or TAG.fullmatch(t) for t in tags)
    may_be_words = all("\t" in line for line in lines) or (are_tags and not text.isupper())
    return len(lines) > 1 and min(map(len, words)) > 1 and may_be_words


def _word_lines(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """The numbered lines that are surely words, else those that may be words or comments."""
    candidates = [(n, s) for n, s in lines if s.strip(" \t") and not _DOCSTART.match(s)]
    return [(n, line) for n, line in candidates if not _COMMENT.match(line)] or candidates


def _separator(lines: Sequence[str]) -> tuple[str, int]:
    """The separator of columns, and how often each cell has it if a line is a sentence, else 0."""
    for sign in "|/":
        if all(sign in line for line in lines):
            rows = [_between_blanks(line) for line in lines]
            parts = min((cell.count(sign) for cells in rows for cell in cells), default=0)
            if parts and any(len(cells) > 1 for cells in rows):
                return sign, parts
    tabs = sum("\t" in line for line in lines)
    if 0 < tabs < len(lines) and len({len(_between_blanks(line)) for line in lines}) == 1:
        return TABS_OR_SPACES, 0
    return ("\t" if tabs else " "), 0


def _may_be_tag(cell: str) -> bool:
    return cell.lower() in _OUTSIDE or bool(TAG.fullmatch(cell))


def _between_blanks(line: str) -> list[str]:
    return [cell for cell in line.replace("\t", " ").split(" ") if cell]


def _pairs(misc: str) -> dict[str, str]:
    """The values in a cell of MISC by their keys."""
    return dict(pair.split("=", 1) for pair in misc.split("|") if "=" in pair)


def _columns_of_plus(line: str) -> tuple[str, ...]:
    """The columns that a first line of CoNLL-U Plus names, in lower case."""
    key, _, names = line.partition("=")
    return tuple(names.lower().split()) if key.split() == ["#", "global.columns"] else ()


def write_conll(
    path: str | Path, sentences: Sequence[Sentence], *columns: Sequence[Sequence[str]]
) -> None:
    """Write `word tag`, `word gold predicted`, or only words, as UTF-8.

    Columns are separated by a space, or by tabs if a word or tag holds a space or a word has no
    tag, which is an empty cell. The sentences' own tags come first, then `columns`, each S rows
    with a tag per word.
    """
    rows = [
        _columns_to_write(number, sentence, tags)
        for number, (sentence, *tags) in enumerate(zip(sentences, *columns, strict=True), start=1)
    ]
    width = len(rows[0]) if rows else 0
    if any(len(row) != width for row in rows):
        raise InputError("some sentences have tags and others have none")
    by_tabs = any(" " in cell or not cell for row in rows for cells in row for cell in cells)
    separator = "\t" if by_tabs else " "
    if by_tabs and width == 1:
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


def _columns_to_write(
    number: int, sentence: Sentence, columns: list[Sequence[str]]
) -> list[Sequence[str]]:
    """All columns of a sentence, each (T,)."""
    tags = [] if sentence.tags is None else [sentence.tags]
    row = [sentence.words, *tags, *columns]
    place = f"sentence {number} ({excerpt(' '.join(sentence.words))})"
    for k, cells in enumerate(row):
        if len(cells) != len(sentence):
            raise InputError(f"{len(cells)} tags for {len(sentence)} words of {place}")
        for cell in cells:
            fault = None if k and cell == UNLABELLED else word_fault(cell)
            if fault or (k and cell != cell.strip(" ")):
                raise InputError(
                    f"{'tag' if k else 'word'} {excerpt(cell)} of {place} cannot be written: it "
                    f"{fault or 'begins or ends with a space'}"
                )
    return row

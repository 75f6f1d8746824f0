"""Column files, read and written: a word a line, a blank line after each sentence.

- Columns are separated by tabs if all lines of words have one (words may then hold spaces), by runs
  of spaces if none has, or by the character that is given, in .csv by commas. If only some lines
  have tabs, both separate, where all lines then have as many columns. Any other white space, such
  as U+00A0, is part of the word.
- Where all cells of a line are made of as many parts by `|` or `/` (`Rome|NNP|B-LOC is|VBZ|O`), the
  line is a sentence, each cell a word and its columns, the last parts.
- The first line is a header if columns are named that it has, or if it has usual names of words and
  of tags (`rows`, `tags`).
- In a column `sentence_id` or `Sentence #` of a header, each new value begins a sentence, too.
- A line that begins with a mark of comments (`# `, `##`, `#id:`, `#begin`, `%%`, `<doc>`, ...) is
  one if it comes before the first word of a sentence and cannot be a word there: its number of
  columns differs from that of the words, or it has a form that words do not have (`is_comment`). So
  `# O` is a word. Markup of sentences and documents (`<s>`, `</doc>`, `#end document`) also ends a
  sentence.
- `-DOCSTART-`, with or without more columns, `# newdoc`, `#begin document`, `###MEDLINE:1`, `<doc>`
  and another `# doc_id = 1` than the one before begin a document. Sentences before the first such
  line are a document too; a file without any has none.
- In files of characters a line whose word is a space is skipped, unless an entity begins there.
- CoNLL-U (ten columns separated by tabs, the first of which counts the words): the columns have
  names, FORM is the word. Ranges (`8-9`) and empty nodes (`8.1`) are skipped. Entities are read
  from a key of MISC with a usual name (`NER=B-PER`), or the key that is named. A word whose part of
  speech or relation is `_` is unlabelled, as one with a value of `Columns.missing` is.
  CoNLL-U Plus names other columns in a comment, `# global.columns = ID FORM X:NE`.
- CoNLL-2012 (it begins with `#begin document`): the columns have names, the number of the last ones
  differs between sentences.
- Else the last column has the tags, the first one the words. Columns that count the words or have
  tags of entities are no words, and a last column without any O has no tags of entities if another
  column has some.

What `write_conll` writes reads back with the same words, tags and documents.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from featbert.data.answers import count_missing
from featbert.data.corpus import UNLABELLED, ReadingNotes, Sentence
from featbert.data.examples import Columns
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
from featbert.data.notation import OUTSIDE, notation_of
from featbert.data.rows import WORD_KEYS
from featbert.data.tables import column_names, dialect_of, table_cells
from featbert.data.tags import TAG, TAG_KEYS, TARGETS, Targets
from featbert.errors import InputError
from featbert.progress import track
from featbert.text import counted

SENTENCE_KEYS = (
    *("sentence_id", "sentence_idx", "sentence_number", "sentence #", "sentence#", "sentence"),
    *("sent_id", "sent_idx", "sent"),
)
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
# What a comment may begin with; and what it looks like if it has as many columns as words.
_COMMENT = re.compile(
    r"#(?:[ \t#]|$|\w*[ \t]*[:=]|(?:begin|end|newdoc|newpar|doc|sent|(?:\w+_)?id)[ \t])"
    rf"|%%|{_MARKUP}",
    re.IGNORECASE,
)
_SIGNS = ("#", "%", "<")
_KEY_VALUE = re.compile(r"# +(?:\S+ += |newdoc(?: |$)|newpar(?: |$))")
_ITEM = re.compile(rf"#{{1,2}} ?(?:(?:\w+_)?id|doc(?:ument)?)\b|## |%%|{_MARKUP}", re.IGNORECASE)
# "-" and "_" alone are of columns without tags, too.
_OUTSIDE = {*OUTSIDE, "*"} - {"-", "_"}
_NO_LABEL = re.compile(r".*[\s=]|\d+$")
_NEW_DOCUMENT = re.compile(
    r"# ?newdoc(?: |$)|#begin document\b|###MEDLINE:|<(?:doc|document|text|article)\b", re.I
)
# The same line stands before each sentence of a document.
_DOCUMENT_ID = re.compile(r"# ?(?:[\w.]+:)?doc(?:ument)?(?:[_ ]?id)?(?: *[:=] *| +)\S", re.I)
_BOUNDARY = re.compile(rf"#(?:begin|end) document\b|{_MARKUP}", re.IGNORECASE)


class Layout:
    """How the lines of one file are split, and which columns are read, from 0.

    `tag` is -1 where tags are not read, `sentence` where no column has the sentence of a word;
    `header` is the line of the names, from 1, or 0; `key` is the key of MISC that has the tags;
    `dialects` say what is read otherwise than as it stands; `chosen` are columns that are neither
    named nor the usual ones.
    """

    def __init__(
        self,
        lines: Sequence[str],
        path: Path,
        columns: Columns,
        kind: Targets,
        chosen: tuple[int, ...] | None = None,
    ) -> None:
        """By the lines of a file, or its first ones; InputError for other columns.

        `chosen` are those of a longer file of the corpus, in place of what is in these lines.
        """
        self.path, self.token, self.tag, self.header, self.sentence = path, 0, -1, 0, -1
        self.key, self.parts = "", 0
        self.of_entities = kind.has_scheme
        self.dialects: list[str] = []
        self.missing: Collection[str] = ()
        is_csv = path.suffix.lower() == ".csv"
        self.dialect = dialect_of(lines, ",", columns) if is_csv else None
        self.separator = self.dialect.separator if self.dialect else columns.delimiter or ""
        self.chosen: tuple[int, ...] = ()
        words = _word_lines([*enumerate(lines, start=1)])
        if not self.separator:
            self.separator, self.parts = _separator([line for _, line in words])
        if self.parts:
            self.dialects.append(f"a sentence a line, its columns separated by {self.separator}")
            words = _word_lines([*self.numbered(lines)])
        elif self.separator == TABS_OR_SPACES:
            self.dialects.append("columns separated by tabs or spaces")
        self._words = words
        self.first, line = words[0] if words else (1, "")
        cells = self.split(line, self.first)
        self.columns = len(cells)
        tabs = self.separator == "\t"
        treebank = next(filter(None, map(_columns_of_plus, lines[: self.first])), CONLLU)
        fits = len(cells) == len(treebank) and treebank[0] == "id"
        self.conllu = tabs and fits and bool(_FIRST_ID.match(cells[0]))
        self.misc = treebank.index("misc") if "misc" in treebank else len(treebank)
        begins = any(one.startswith("#begin document") for one in lines[: self.first])
        self.conll2012 = begins and len(cells) > len(CONLL2012)
        if not words:
            return
        names: Sequence[str] = treebank
        tag_keys: Sequence[str] = kind.keys or ()
        if self.conllu:
            keys = self._misc_keys() if kind.has_scheme else {}
            names = (*treebank, *keys)
            tag_keys = [key.lower() for key, usual in keys.items() if usual]
            if kind.has_scheme:  # of CoNLL-U Plus: `X:NE`
                tag_keys += [n for n in treebank if n.rpartition(":")[2] in MISC_KEYS]
        elif self.conll2012:
            self.columns = len(CONLL2012)
            names = (*CONLL2012, *(str(i + 1) for i in range(len(CONLL2012), len(cells))))
            self.dialects.append("columns of CoNLL-2012")
        else:
            lower = lower_names(cells).keys()
            usual = lower & {*WORD_KEYS} and lower & TAG_KEYS
            self.header = self.first if usual or columns.in_header(cells) else 0
            names = column_names(cells, path, has_header=bool(self.header))
            numbers = [i for i, name in enumerate(names) if name.lower() in SENTENCE_KEYS]
            self.sentence = numbers[0] if numbers else -1
        where = f"{path}, line {self.first}: {excerpt(line)}"
        # Columns with usual names, else those that look like words and tags.
        words_at = ["form"] if self.conllu else WORD_KEYS
        token = usual_column(columns.token_column, words_at, names, "token-column", where)
        at = self._usual_token(len(cells) - 1) if chosen is None else [*chosen, 0][0]
        self.token = names.index(token) if token else at
        if not token and self.token:
            self.chosen = (self.token,)
            self.dialects.append(f"words from column {self.token + 1}")
        if kind.keys is None:
            return
        tag = usual_column(columns.tag_column, tag_keys, names, "tag-column", where)
        if tag is None and not self.conllu:
            last = len(cells) - 1
            if chosen is not None:
                last = chosen[1] if len(chosen) > 1 else last
            elif kind.has_scheme and not self.header:
                last = self._usual_tag(last)
            tag = names[last]
            if tag != names[-1]:
                self.chosen = self.token, names.index(tag)
                self.dialects.append(f"tags from column {tag}")
        tag = tag or kind.conllu
        if tag is None or tag not in names:
            raise InputError(
                f"no column of {kind.name} in {path}: it is CoNLL-U; name a column or a key of "
                "MISC with --tag-column, or read parts of speech with --task labels"
            )
        self.tag = names.index(tag)
        unlabelled = ("_",) if self.conllu and tag in ("upos", "xpos", "deprel") else ()
        self.missing = unlabelled if columns.missing is None else columns.missing
        if self.conllu and self.tag >= len(treebank):
            self.key, self.tag = tag, self.misc
            self.dialects.append(f"tags from {tag} in MISC")
        if self.token == self.tag:
            sign = next((sign for sign in ",;|" if sign in line), None)
            advice = "columns are separated by tabs or spaces"
            if columns.delimiter:
                advice = f"there is no {columns.delimiter!r} in it; leave out --delimiter"
            elif sign and len(cells) == 1:
                advice += f"; else give --delimiter '{sign}'"
            fault = f"token and tag column are both {self.token + 1}"
            fault = fault if len(cells) > 1 else "one column: no tag beside the word"
            self._fail(fault, line, self.first, advice)

    def numbered(self, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
        """Lines with their numbers, from 1; a sentence on one line as a line a word."""
        return self._words_of(lines) if self.parts else enumerate(lines, start=1)

    def _words_of(self, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
        for number, line in enumerate(lines, start=1):
            cells = _between_blanks(line)
            if cells and all(cell.count(self.separator) >= self.parts for cell in cells):
                yield from ((number, cell) for cell in cells)
                yield number, ""
            else:
                yield number, line

    def split(self, line: str, number: int) -> list[str]:
        """The cells of a line; `number` is for messages."""
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
        no_label = _NO_LABEL.match(label) or (self.of_entities and not _may_be_tag(label))
        return bool(_ITEM.match(line) and no_label) and label not in self._last_cells

    def is_blank(self, line: str, cells: Sequence[str]) -> bool:
        """Whether no cell of a line has more than spaces."""
        if self.separator in _SEPARATORS and self.dialect is None:
            return not line.strip(" \t")
        return not any(cell.strip(" \t") for cell in cells)

    def is_mark(self, line: str, cells: Sequence[str]) -> bool:
        """Whether a line is `-DOCSTART-`."""
        if DOCSTART not in line:
            return False
        return bool(_DOCSTART.match(line)) or cells[self.token :][:1] == [DOCSTART]

    def is_no_word(self, cells: Sequence[str]) -> str:
        """What a line has in place of a word: a field of `ReadingNotes`, "" for a word.

        In files of characters a space between words, unless an entity begins there.
        """
        if self.conllu and _NON_WORD.fullmatch(cells[0]):
            return "non_words"
        if self.separator == "\t" and len(cells) == self.columns and cells[self.token] == " ":
            return "spaces" if self.tag_of(cells)[:2] in ("O", "I-", "E-") else ""
        return ""

    def tag_of(self, cells: Sequence[str]) -> str:
        """The tag of a line; O for a word of CoNLL-U without the key that has the tags."""
        return (
            _pairs(cells[self.misc]).get(self.key, "O") if self.key else cells[self.tag].strip(" ")
        )

    def _usual_token(self, last: int) -> int:
        """The first column that neither counts the words nor has tags of entities.

        The first of all if these are all the same.
        """
        others = (i for i in range(last) if not (self._counts(i) or self._has_tags(i)))
        token = 0 if self.header else next(others, last if self._has_tags(0) else 0)
        cells = (cell for _, cell in self._cells(token))
        first = next(cells, "")
        differ = len(self._words) == 1 or any(cell != first for cell in cells)
        return token if differ else 0

    def _usual_tag(self, last: int) -> int:
        """The last column, or another one that alone has tags of entities."""
        if self.token != last and (last < 2 or any(_may_be_tag(c) for _, c in self._cells(last))):
            return last
        others = (i for i in reversed(range(last + 1)) if i != self.token and self._has_tags(i))
        return next(others, last)

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

    def _misc_keys(self) -> dict[str, bool]:
        """The keys of MISC, and whether they have a usual name and tags of entities."""
        values: dict[str, set[str]] = {}
        for _, cell in self._cells(self.misc):
            for key, value in _pairs(cell).items():
                values.setdefault(key, set()).add(value)

        def has_tags(found: set[str]) -> bool:
            usual = notation_of(found).usual
            return all(TAG.fullmatch(tag) or tag == "O" for tag in (usual.get(t, t) for t in found))

        return {key: key.lower() in MISC_KEYS and has_tags(found) for key, found in values.items()}

    def word_and_tag(self, line: str, cells: list[str], number: int) -> tuple[str, str]:
        """Of a line; InputError unless it has the columns of the file, a word and a tag."""
        if len(cells) != self.columns and not (self.conll2012 and len(cells) > self.columns):
            by = _SEPARATORS.get(self.separator, repr(self.separator))
            found = f"{counted(len(cells), 'column')} separated by {by}"
            self._fail(f"{found} instead of {self.columns} (line {self.first})", line, number)
        if fault := word_fault(word := cells[self.token]):
            self._fail(f"the word in column {self.token + 1} {fault}", line, number)
        tag = self.tag_of(cells) if self.tag >= 0 else ""
        if self.tag >= 0 and not tag and "" not in self.missing:
            advice = "give --tag-column if the tags are in another"
            self._fail(f"no tag in column {self.tag + 1}", line, number, advice)
        return word, tag

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
    chosen: tuple[int, ...] | None = None,
) -> RawFile:
    """The sentences of a column file, or the first `limit`; time and memory are linear in it.

    `chosen` is as of `Layout`.
    """
    lines = read_file(path, encoding)
    layout = Layout(lines, path, columns, kind, chosen)
    skipped: dict[str, Any] = Counter()
    tracked = track(lines, f"reading {path.name}", "lines")
    sentences = tuple(islice(column_sentences(tracked, layout, skipped), limit))
    notes = ReadingNotes(dialects=tuple(layout.dialects), **skipped)
    own = None if layout.header else (layout.columns, *layout.chosen)
    return RawFile(path, sentences, notes, columns=own)


def column_sentences(
    lines: Iterable[str], layout: Layout, skipped: dict[str, Any]
) -> Iterator[Sentence]:
    """The sentences of column lines; `skipped` is a counter of `ReadingNotes`."""
    documents, before, document = Documents(), "", ""
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

    for number, line in layout.numbered(lines):
        if number == layout.header:
            skipped["header_lines"] += 1
            continue
        cells = layout.split(line, number)
        mark, blank = layout.is_mark(line, cells), layout.is_blank(line, cells)
        may_be = line[:1] in _SIGNS and not (blank or mark)
        before_words = may_be and bool(not rows or _BOUNDARY.match(line))
        comment = before_words and layout.is_comment(line, cells)
        if blank or mark or comment:
            if rows:
                yield sentence()
                rows.clear()
            if mark:
                documents.begin()
            elif comment:
                skipped["comment_lines"] += 1
                if _NEW_DOCUMENT.match(line) or (_DOCUMENT_ID.match(line) and line != document):
                    documents.begin()
                    document = line
        elif no_word := layout.is_no_word(cells):
            skipped[no_word] += 1
        else:
            word, tag = layout.word_and_tag(line, cells, number)
            if layout.sentence >= 0:
                own = cells[layout.sentence]
                if rows and own not in ("", before):  # Kaggle's has it in the first line alone
                    yield sentence()
                    rows.clear()
                before = own or before
            if tag in layout.missing:
                count_missing(skipped, tag or "empty")
                tag = UNLABELLED
            rows.append((number, word, tag))
    if rows:
        yield sentence()


def _word_lines(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """The numbered lines that are surely words, or, if there are none, those that may be."""
    found = [(n, s) for n, s in lines if s.strip(" \t") and not _DOCSTART.match(s)]
    return [(n, line) for n, line in found if not _COMMENT.match(line)] or found


def _separator(lines: Sequence[str]) -> tuple[str, int]:
    """What separates the columns of lines of words; and how often in each cell of a sentence.

    The number is 0 where a line is a word.
    """
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
    """The columns that a first line of CoNLL-U Plus names, in lower case; none of another line."""
    key, _, names = line.partition("=")
    return tuple(names.lower().split()) if key.split() == ["#", "global.columns"] else ()


def write_conll(
    path: str | Path, sentences: Sequence[Sentence], *columns: Sequence[Sequence[str]]
) -> None:
    """Write `word tag`, `word gold predicted`, or words alone, as UTF-8.

    Columns are separated by a space, or by tabs where a word or tag holds a space or a word has no
    tag, which is an empty cell. Tags that the sentences have come first; `columns` are further
    ones, each S rows of one tag a word.
    """
    rows = [
        _row(number, sentence, tags)
        for number, (sentence, *tags) in enumerate(zip(sentences, *columns, strict=True), start=1)
    ]
    width = len(rows[0]) if rows else 0
    if any(len(row) != width for row in rows):
        raise InputError("some sentences have tags and others have none")
    tabs = any(" " in cell or not cell for r in rows for cells in r for cell in cells)
    separator = "\t" if tabs else " "
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
            fault = None if k and cell == UNLABELLED else word_fault(cell)
            if fault or (k and cell != cell.strip(" ")):
                raise InputError(
                    f"{'tag' if k else 'word'} {excerpt(cell)} of {where} cannot be written: it "
                    f"{fault or 'begins or ends with a space'}"
                )
    return row

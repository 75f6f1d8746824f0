"""Text read in one pass, a sentence at a time: raw lines, column files, JSONL.

The input may have any length and come through a pipe. It is read as `conll` and `rows` read files,
with two differences: the first lines show separator and number of columns, and sentences before the
first mark of a document have none.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from featbert.data.columns import (
    EXAMPLE_KEYS,
    TAG_KEYS,
    WORD_ONLY_KEYS,
    columns_seen,
    named_column,
    usual_texts,
)
from featbert.data.conll import ColumnFormat, column_sentences
from featbert.data.corpus import Sentence
from featbert.data.examples import TextReader, text_of
from featbert.data.files import COLUMN_EXTENSIONS, SURROGATE, RawRow, extension, without_language
from featbert.data.jsonl import is_json, json_rows
from featbert.data.options import ReadingOptions
from featbert.data.rows import WordReader
from featbert.data.spans import json_questions
from featbert.data.tables import Table, without_labels
from featbert.data.tags import target_kind
from featbert.data.words import split_words
from featbert.errors import InputError, spelling
from featbert.progress import notice
from featbert.text import counted

# Lines of a column file that show how its columns are separated.
FORMAT_LINES = 1000
# If more than this part of the cells of a column have spaces, it has texts.
_SPACED = 0.3


def texts_column(lines: Sequence[str], path: Path, options: ReadingOptions) -> str | None:
    """The column of texts in the first lines of a table, or None if they have words.

    Words are in a table with a usual name of words or tags, or with blank lines between sentences.
    InputError if it is not clear which column has the texts, or if the named one is missing.
    """
    if options.token_column is not None:
        return None
    try:
        table = Table(lines, path, options)
    except InputError:  # of words
        return None
    if options.text is not None:
        return named_column(options.text, table.names, "text", path)
    is_cut = table.width > 1 and "" in map(str.strip, "\n".join(lines).strip().split("\n"))
    names = {name.lower() for name in table.names}
    if is_cut or not names.isdisjoint({*WORD_ONLY_KEYS, *TAG_KEYS} - {*EXAMPLE_KEYS}):
        return None
    usual = usual_texts(table.names)
    rows, places = table.first_rows, [i for i, name in enumerate(table.names) if name in usual]
    cells = [cell for row in rows for i in places if (cell := row[i].strip())]
    if sum(" " in cell for cell in cells) > _SPACED * len(cells):
        if len(usual) == 1:
            return usual[0]
    elif not table.texts or not all(
        i in table.texts or all(map(str.isdecimal, (row[i].strip() for row in rows)))
        for i in range(table.width)
    ):
        return None
    columns = columns_seen(dict(zip(table.names, table.first_row, strict=False)))
    raise InputError(
        f"{path} has texts, not words; it has {columns}; name the column of texts with "
        f"{spelling('text')}"
    )


def file_kind(name: str) -> str:
    """The content of a file by its suffix: "jsonl", "conll" (`.conll`, `.tsv`, ...) or "text"."""
    if is_json(Path(name)):
        return "jsonl"
    return "conll" if extension(Path(name)) in (*COLUMN_EXTENSIONS, "csv") else "text"


def read_pieces(
    lines: Iterator[str], name: str, kind: str, options: ReadingOptions
) -> Iterator[Sentence]:
    """The sentences of a stream in order, lazily, with `name` for messages and a `file_kind`.

    A line of raw text is a sentence. A blank one has no words. Tags are skipped. A table with a
    column of texts has one in each row (`texts_column`).
    """
    if kind == "text":
        document = 0  # which begins with the first line, and after each blank one
        for line in lines:
            piece = piece_of(line, document)
            document += not piece.words
            yield replace(piece, document=document)
        return
    path = Path(name)
    if kind == "conll" and (extension(path) in ("tsv", "csv") or options.text is not None):
        first = list(islice(lines, FORMAT_LINES))
        lines = chain(first, lines)
        if (column := texts_column(first, path, options)) is not None:
            notice(f"read texts from column {column} of {name}")
            for row in Table(lines, path, options).rows(blank=True):
                yield piece_of(text_of(row, column), row.number)
            return
    code, sentences = without_language(_words(lines, path, kind, options))
    if code:
        notice(f"read words without {code} before each")
    yield from sentences


def _words(
    lines: Iterator[str], path: Path, kind: str, options: ReadingOptions
) -> Iterator[Sentence]:
    """The sentences of JSONL or of a column file. A row of JSONL without a word is one, too."""
    if kind == "jsonl":
        reader = WordReader(options, None, path)
        for row in json_rows(lines, path):
            # Without a list, it is a text in which nothing is annotated.
            has_list = any(isinstance(value, list) for value in row.values.values())
            reader.has_spans = options.token_column is None and not has_list
            yield from (replace(sentence, **reader.cut) for sentence in reader(row))
            if reader.notes.pop("empty_rows", 0):
                yield replace(piece_of("", None), **reader.cut)
        return
    first = list(islice(lines, FORMAT_LINES))
    columns = ColumnFormat(first, path, options, target_kind(None))
    for dialect in columns.dialects:
        notice(f"read {dialect}")
    yield from column_sentences(chain(first, lines), columns, Counter())


def piece_of(text: str | Sequence[str], document: int | None) -> Sentence:
    """A line of raw text, split into words, or words as they are. InputError for anything else."""
    # A text is a sequence, too: of characters.
    fits = isinstance(text, Sequence) and all(isinstance(w, str) and w for w in text)
    if not fits or not (text or text == "") or SURROGATE.search("".join(text)):
        raise InputError(f"{text!r:.60} is neither a text nor a list of words")
    if isinstance(text, str):
        places = tuple(split_words(text))
        words = tuple(text[a:b] for a, b in places)
        return Sentence(words, document=document, texts=(text,), places=places)
    return Sentence(tuple(text), document=document)


def read_texts(
    lines: Iterator[str],
    name: str,
    kind: str = "text",
    *,
    pairs: bool | None,
    options: ReadingOptions = ReadingOptions(),  # noqa: B008
    reader_type: type[TextReader] = TextReader,
) -> Iterator[Sentence]:
    """Texts or pairs of a stream in order, lazily. Answers are skipped.

    `kind` is "text", a line each with a tab between the texts of a pair and a blank line a text
    without words, or "tsv", "csv" or "jsonl" with columns. A row of empty cells is an empty
    text. If `pairs` is None, they are pairs if the first line has a tab, or if there are columns of
    two texts.
    """
    path = Path(name)
    if kind == "text":
        if pairs is None:
            lines = chain(first := [*islice(lines, 1)], lines)
            pairs = "\t" in "".join(first)
        rows = _text_rows(lines, name, pairs=pairs)
        options = ReadingOptions(text="text", pair="pair" if pairs else None)
    elif kind == "jsonl":
        rows = json_questions(json_rows(lines, path), path)
    else:
        rows = Table(lines, path, options, kind).rows(blank=reader_type.of_lines)
    reader = reader_type(options, None, path)
    for row in rows:
        if kind == "text" and not (line := "\t".join(row.values.values())).strip():
            yield Sentence((), texts=(line,))
            continue
        for sentence in reader(row):
            if pairs is not None and (sentence.pair is None) == pairs:
                form = "pairs of texts" if pairs else "single texts"
                advice = f"give {spelling('text')}, {spelling('pair')}"
                raise InputError(f"the run reads {form}, {row.where}; {advice}")
            yield sentence


def _text_rows(lines: Iterable[str], name: str, *, pairs: bool) -> Iterator[RawRow]:
    has_tab = False
    for number, line in enumerate(lines, start=1):
        place, texts = f"line {number} of {name}", line.split("\t")
        if not pairs:
            line = without_labels(line)
            texts = [line]
            if "\t" in line and not has_tab:
                advice = f"if it has columns, give {spelling('input', 'tsv')}"
                notice(f"{place} is read whole, as one text; {advice}")
            has_tab = has_tab or "\t" in line
        elif line.strip() and len(texts) != 2:
            raise InputError(f"{counted(len(texts), 'text')} instead of two with a tab, {place}")
        yield RawRow(dict(zip(("text", "pair"), texts, strict=False)), place, number)

"""Text read in one pass, a sentence at a time: raw lines, column files, JSONL.

The input may be of any length and come through a pipe. The rules are those of `conll` and `rows`,
with two differences: separator and number of columns are those of the first lines, and sentences
before the first mark of a document have none.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from featbert.data.conll import Layout, column_sentences
from featbert.data.corpus import Sentence
from featbert.data.examples import Columns, Examples
from featbert.data.files import (
    COLUMN_EXTENSIONS,
    SURROGATE,
    Row,
    is_json,
    json_rows,
    without_language,
)
from featbert.data.rows import Words
from featbert.data.spans import json_questions
from featbert.data.tables import Table, without_labels
from featbert.data.tags import targets_of
from featbert.data.words import split_words
from featbert.errors import InputError
from featbert.progress import notice
from featbert.text import counted

# Lines of a column file that say how its columns are separated.
LAYOUT_LINES = 1000


def kind_of(name: str) -> str:
    """What a file holds by its suffix: "jsonl", "conll" (`.conll`, `.tsv`, ...) or else "text"."""
    if is_json(Path(name)):
        return "jsonl"
    suffix = Path(name).suffix.lower().lstrip(".")
    return "conll" if suffix in (*COLUMN_EXTENSIONS, "csv") else "text"


def read_pieces(lines: Iterator[str], name: str, kind: str, columns: Columns) -> Iterator[Sentence]:
    """The sentences of a stream in order, read as they are asked for; `name` is for messages.

    A line of raw text is one, also a blank one, which has no words.
    `kind` is as of `kind_of`; tags are skipped.
    """
    if kind == "text":
        document = 0  # which begins with the first line, and after each blank one
        for line in lines:
            piece = piece_of(line, document)
            document += not piece.words
            yield replace(piece, document=document)
        return
    path = Path(name)
    code, sentences = without_language(_words(lines, path, kind, columns))
    if code:
        notice(f"read words without {code} before each")
    yield from sentences


def _words(lines: Iterator[str], path: Path, kind: str, columns: Columns) -> Iterator[Sentence]:
    """The sentences of JSONL or of a column file."""
    if kind == "jsonl":
        read = Words(columns, None, path)
        for row in json_rows(lines, path):
            yield from read(row)
            if read.notes:
                raise InputError(f"no token, {row.where}")
        return
    first = list(islice(lines, LAYOUT_LINES))
    layout = Layout(first, path, columns, targets_of(None))
    for dialect in layout.dialects:
        notice(f"read {dialect}")
    yield from column_sentences(chain(first, lines), layout, Counter())


def piece_of(given: str | Sequence[str], document: int | None) -> Sentence:
    """A line of raw text, split into words, or words as they are; InputError for anything else."""
    # A text is a sequence, too: of characters.
    fits = isinstance(given, Sequence) and all(isinstance(w, str) and w for w in given)
    if not fits or not (given or given == "") or SURROGATE.search("".join(given)):
        raise InputError(f"{given!r:.60} is neither a text nor a list of words")
    if isinstance(given, str):
        places = tuple(split_words(given))
        words = tuple(given[a:b] for a, b in places)
        return Sentence(words, document=document, texts=(given,), places=places)
    return Sentence(tuple(given), document=document)


def read_texts(
    lines: Iterator[str],
    name: str,
    kind: str = "text",
    *,
    pairs: bool,
    columns: Columns | None = None,
    form: type[Examples] = Examples,
) -> Iterator[Sentence]:
    """Texts or pairs of a stream in order, read as they are asked for; answers are skipped.

    `kind` is "text", a line each with a tab between the texts of a pair and a blank line a text
    without words, or "tsv", "csv" or "jsonl" with columns.
    """
    path, columns = Path(name), columns or Columns()
    if kind == "text":
        rows = _text_rows(lines, name, pairs=pairs)
        columns = Columns(text="text", pair="pair" if pairs else None)
    elif kind == "jsonl":
        rows = json_questions(json_rows(lines, path), path)
    else:
        rows = Table(lines, path, columns, kind).rows()
    read = form(columns, None, path)
    for row in rows:
        if kind == "text" and not (line := "\t".join(row.values.values())).strip():
            yield Sentence((), texts=(line,))
            continue
        for sentence in read(row):
            if (sentence.pair is None) == pairs:
                wanted = "pairs of texts" if pairs else "single texts"
                raise InputError(f"the run reads {wanted}, {row.where}; give --text, --pair")
            yield sentence


def _text_rows(lines: Iterable[str], name: str, *, pairs: bool) -> Iterator[Row]:
    said = pairs
    for number, line in enumerate(lines, start=1):
        line = line if pairs else without_labels(line)
        if not said and "\t" in line:
            notice(
                f"line {number} of {name} is read whole, as one text; if it has columns, give "
                "--input tsv"
            )
            said = True
        texts = line.split("\t") if pairs else [line]
        where = f"line {number} of {name}"
        if pairs and line.strip() and len(texts) != 2:
            raise InputError(f"{counted(len(texts), 'text')} instead of two with a tab, {where}")
        yield Row(dict(zip(("text", "pair"), texts, strict=False)), where, number)

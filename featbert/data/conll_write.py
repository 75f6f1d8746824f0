"""Column files written: `word tag`, `word gold predicted`, or the words alone.

What is written here reads back (`read_conll`) with the same words, tags and documents. Columns
are separated by one space, or by tabs in a file where a word or a tag holds a space.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from featbert.data.files import BOM, writing
from featbert.data.raw import DOCSTART, excerpt, word_fault
from featbert.data.sentence import Sentence
from featbert.errors import InputError

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

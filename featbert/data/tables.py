"""Tables: examples in columns, with or without a header, in TSV, CSV and the like.

    sentence1<TAB>sentence2<TAB>label

What separates columns, and whether fields are quoted, is told by the lines: all rows, or most, then
have equally many columns, and more than one. If tabs separate with and without quoting, quotation
marks are part of the text (GLUE), unless they are doubled inside a quoted field, or all fields of a
column are quoted; other separators then have quoted fields.

The first row is the header if it has a usual name, or a column that the caller names. Rows without
a cell and repeated headers are skipped. A row with more columns than the header is read where it is
clear what is more: row names before the first column, empty cells after the last, separators inside
the only column of text, and what tabs separate after columns that the caller names by number.

Lines of fastText are read as labels and a text:

    __label__pos __label__new a text
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

from featbert.data.examples import Columns, looks_like_choices, n_words, usual_texts
from featbert.data.files import Row
from featbert.errors import InputError
from featbert.progress import notice, track
from featbert.text import counted, listed

SEPARATORS = ("\t", ",", ";", "|")
# Lines of a stream that show its dialect.
FIRST_LINES = 1000
# Share of the lines that must have as many columns as the first one.
MOST = 0.5
# Lines that say little.
_FEW = 3
_FASTTEXT = re.compile(r"^\s*(?:__label__\S+\s+)+")
_SAID = re.compile(r'"?sep=(.)"?')  # the first line of some that Excel reads


@dataclass(frozen=True)
class Dialect:
    """How the cells of a line are told apart.

    Attributes:
        quoted: whether a field may be in quotation marks, which are doubled inside of it.
        quote: the quotation mark.
        escape: a character that takes their meaning from separators, quotation marks, line ends
            and itself; before others it is part of the text.
        spaced: whether spaces after a separator are not of the next field.
    """

    separator: str
    quoted: bool
    escape: str | None = None
    spaced: bool = False
    quote: str = '"'

    def __str__(self) -> str:
        name = {"\t": "tabs", " ": "spaces"}.get(self.separator, repr(self.separator))
        quotes = "quoted fields" if self.quoted else "quotation marks that are part of the text"
        quotes = "fields in single quotes" if self.quote == "'" else quotes
        escape = f", escaped by {self.escape}" if self.escape else ""
        return f"columns separated by {name}, {quotes}{escape}"

    def reader(self, lines: Iterable[str]) -> Any:
        """A reader of `csv`, which raises csv.Error for what is ill-formed."""
        csv.field_size_limit(1 << 30)
        if self.escape:  # which `csv` drops before any character
            sign = re.escape(self.escape)
            before = re.compile(
                rf"{sign}([{sign}{self.quote}{re.escape(self.separator)}]|$)|{sign}"
            )
            twice = self.escape * 2
            lines = (before.sub(lambda m: twice if m[1] is None else m[0], s) for s in lines)
        return csv.reader(
            (f"{line}\n" for line in lines),
            delimiter=self.separator,
            quotechar=self.quote,
            quoting=csv.QUOTE_MINIMAL if self.quoted else csv.QUOTE_NONE,
            escapechar=self.escape,
            skipinitialspace=self.spaced,
            strict=True,
        )

    def fit(self, lines: Sequence[str]) -> float:
        """Share of the lines in rows with as many columns as the first, and more than one.

        All others may begin with their number or end with an empty cell. What is ill-formed fits
        not.
        """
        reader, first, number = self.reader(lines), 0, 0
        same = more = total = 0
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return max(same, more) / total if first > 1 else 0.0
            except csv.Error:
                row = []
            used = sum(map(bool, map(str.strip, lines[number : reader.line_num])))
            number, total = reader.line_num, total + used
            if used == total:
                first = len(row)
            same += used * (len(row) == first)
            more += used * (used == total or (len(row) == first + 1 and _has_more(row)))


def usual_separator(name: str) -> str:
    """What separates columns in a file with such an ending, where its lines fit others, too."""
    return "," if name.lower().endswith("csv") else "\t"


def dialect_of(lines: Sequence[str], usual: str, columns: Columns) -> Dialect:
    """The dialect of a table that begins so, as far as the caller does not give it.

    `usual` is the separator that is tried first.
    """
    separators = [usual, *(sign for sign in SEPARATORS if sign != usual)]
    if columns.delimiter:
        separators = [columns.delimiter]
    head = next(filter(str.strip, lines), "")
    spaces = [" "] * ('"' in head and not columns.delimiter)  # as R writes tables
    for separator in (*separators, *spaces):
        if _names_columns(Dialect(separator, True), head, columns):
            return _dialect_with(separator, lines, usual, columns)[0]
    best, best_fit = None, (MOST, True)
    for separator in separators:
        dialect, share = _dialect_with(separator, lines, usual, columns)
        # A space after each one is of prose rather than of a table.
        prose = all(f"{separator} " in line for line in lines if separator in line)
        if (share, not prose) > best_fit:
            best, best_fit = dialect, (share, not prose)
        if best_fit == (1, True):
            break
    return best or _dialect_with(separators[0], lines, usual, columns)[0]


def _dialect_with(
    separator: str, lines: Sequence[str], usual: str, columns: Columns
) -> tuple[Dialect, float]:
    """The dialect with this separator that fits best, and its fit."""
    plain, quoted = [Dialect(separator, quoting, columns.escape) for quoting in (False, True)]
    some_plain, some_quoted = [plain], [quoted]
    if columns.escape is None and any(f"\\{separator}" in line for line in lines):
        some_plain.append(replace(plain, escape="\\"))
    spaced = replace(quoted, spaced=True)
    if any(cell[:2] == ' "' for row in _rows(quoted, lines) for cell in row):
        some_quoted[:0] = [spaced] * (spaced.fit(lines) == 1)
    if columns.escape is None and any('\\"' in line for line in lines):
        some_quoted.append(replace(quoted, escape="\\"))
    if len(lines) > _FEW and all(line.strip()[-1:] in ("'", "") for line in lines[1:]):
        single = replace(quoted, quote="'")
        escaped = replace(single, escape="\\")
        some_quoted[:0] = [d for d in (single, escaped) if d.fit(lines) == 1][:1]
    tabs = separator == usual == "\t"
    choice = {"none": some_plain, "double": some_quoted}.get(columns.quoting)
    dialects = [*some_plain, *some_quoted] if tabs else [*some_quoted, *some_plain]
    best, best_share = (choice or dialects)[0], -1.0
    for dialect in choice or dialects:
        if (share := dialect.fit(lines)) > best_share:
            best, best_share = dialect, share
        if share == 1:
            break
    if tabs and best == plain and not choice:
        shown = (d for d in some_quoted if d.fit(lines) == 1 and _is_quoted(lines, plain, d))
        return next(shown, best), best_share
    return best, best_share


def _has_more(row: Sequence[str]) -> bool:
    """Whether a row begins with its number, or ends with an empty cell."""
    return row[0].isdecimal() or not row[-1].strip()


def _names_columns(dialect: Dialect, head: str, columns: Columns) -> bool:
    """Whether a line is a header of several columns."""
    cells = _rows(dialect, [head])
    return bool(cells) and len(cells[0]) > 1 and is_header(cells[0], columns)


def _rows(dialect: Dialect, lines: Iterable[str]) -> list[list[str]]:
    """The first rows that are not blank, up to an ill-formed one."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(row for row in islice(dialect.reader(lines), FIRST_LINES) if row)
    return rows


def _is_quoted(lines: Sequence[str], plain: Dialect, quoted: Dialect) -> bool:
    """Whether quotation marks that could be of the texts surely are not."""
    rows, bare = _rows(plain, lines), _rows(quoted, lines)
    if len(rows) != len(bare):
        return False
    if any(
        cell[:1] == '"' and cell != inner and '"' in inner
        for row, inside in zip(rows, bare, strict=True)
        for cell, inner in zip(row, inside, strict=False)
    ):
        return True
    if any(map(_in_quotes, rows[0])) and usual_texts(bare[0]):
        return True
    return any(  # the first may be a name
        sum(map(_in_quotes, column)) > 2 and all(_in_quotes(cell) for cell in column[1:] if cell)
        for column in zip(*rows, strict=False)
    )


def _in_quotes(cell: str) -> bool:
    return len(cell) > 1 and cell[0] == cell[-1] == '"'


def is_header(cells: Sequence[str], columns: Columns) -> bool:
    """Whether the cells of a first row are names of columns."""
    usual = bool(usual_texts(cells)) or looks_like_choices(cells)
    return usual or columns.in_header(cells)


def column_names(first: Sequence[str], path: Path, *, has_header: bool) -> list[str]:
    """The names in a header, each once, or else numbers; a column without a name has its number."""
    names = [
        cell.strip() if has_header and cell.strip() else str(i) for i, cell in enumerate(first, 1)
    ]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"column {twice[0]!r} occurs twice in the header of {path}")
    return names


def table_cells(
    lines: Iterable[str], path: Path, dialect: Dialect, start: int = 1
) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, each with the number of its first line, from `start` on."""
    reader = dialect.reader(lines)
    before, number = start - 1, start
    try:
        for row in reader:
            if row:
                yield number, row
            number = before + reader.line_num + 1
    except csv.Error as error:
        fault = f"not a table ({error})"
        advice = "is a quotation mark left open? --quoting none takes them as they are"
        if "new-line" in str(error):
            fault, advice = "carriage return inside a line", "put the field in quotation marks"
        elif not dialect.quoted:
            advice = "give --escape if it is another"
        where = f"line {number} of {path}"
        raise InputError(f"{fault}, {where}, read as {dialect}; {advice}") from None


class Table:
    """The rows of a table.

    Attributes:
        names: of its columns, in the header, or else numbers from 1.
        has_header: whether the first row has them.
        width: columns of the first row.
    """

    def __init__(
        self, lines: Iterable[str], path: Path, columns: Columns, kind: str | None = None
    ) -> None:
        """Of lines without their ends: a list, which is seen whole, or a stream.

        `kind` is "csv" or "tsv", by default as `path` ends.
        """
        cut = _cut_at_returns(iter(lines))
        first = [*(cut if isinstance(lines, list) else islice(cut, FIRST_LINES))]
        self.path, self._start, self._usual = path, 1, usual_separator(kind or path.name)
        if first and not columns.delimiter and (said := _SAID.fullmatch(first[0])):
            columns, self._start = replace(columns, delimiter=said[1]), 2
            del first[0]
        while first and not first[0].strip():
            del first[0]
            self._start += 1
        self.dialect = dialect_of(first, self._usual, columns)
        self._lines: Iterable[str] = first if isinstance(lines, list) else chain(first, cut)
        head, *rows = _rows(self.dialect, first) or [[]]
        self.width, self.has_header = len(head), is_header(head, columns)
        self.names = column_names(head, path, has_header=self.has_header)
        wider = bool(rows) and all(len(row) == self.width + 1 for row in rows)
        numbers = [int(row[0]) for row in rows if row[0].isdecimal()] if wider else []
        counted_on = all(b - a == 1 for a, b in pairwise(numbers))
        if self.has_header and wider and len(numbers) == len(rows) and counted_on:
            self.names.insert(0, "0")  # of the rows, whose names R writes without one of their own
        # Which columns hold texts, and so may hold separators.
        rows = [row for row in rows if len(row) == self.width]
        several = [sum(n_words(row[i]) > 1 for row in rows) for i in range(self.width)]
        self._texts = [i for i, number in enumerate(several) if 2 * number > len(rows)]
        self._joined: list[str] = []
        self._wide: list[str] = []  # rows with more columns than are read
        named = any(isinstance(column, str) for column in (columns.pair, columns.target))
        self._numbered = not self.has_header and isinstance(columns.text, int) and not named

    def rows(self, names: Sequence[str] = ()) -> Iterator[Row]:
        """The rows, by `names` of columns or those of the table; InputError names the line."""
        names, path, lines = names or self.names, self.path, self._lines
        usual = Dialect(self._usual, self.dialect.quoted, spaced=self.dialect.spaced)
        if self.dialect != usual:
            notice(f"{path} has {self.dialect}")
        if isinstance(lines, list):
            lines = track(lines, f"reading {path.name}", "lines")
        skipped = 0
        cells = table_cells(lines, path, self.dialect, self._start)
        for number, row in islice(cells, int(self.has_header), None):
            again = self.has_header and [cell.strip() for cell in row] == self.names
            if again or (len(names) > 1 and not any(map(str.strip, row))):
                skipped += 1
                continue
            where = f"line {number} of {path}"
            fitted = row if len(row) == len(names) else self._fitted(row, names, where)
            yield Row(dict(zip(names, fitted, strict=True)), where, number)
        if skipped:
            notice(f"rows of {path} that are empty, or the header again, are skipped: {skipped:,}")
        sign = repr(self.dialect.separator)
        for what, places in (
            (f"texts of {path} with {sign}, unquoted", self._joined),
            (f"rows of {path} with columns after the first {len(names)}, not read", self._wide),
        ):
            if places:
                line = places[0].removesuffix(f" of {path}")
                notice(f"{what}: {len(places):,}; the first in {line}")

    def _fitted(self, row: list[str], names: Sequence[str], where: str) -> list[str]:
        """A row with one cell for each column, where it is clear how."""
        n, more = len(names), len(row) - len(names)
        if more > 0 and not any(map(str.strip, row[n:])):
            return row[:n]
        texts = [0] if n == 1 else self._texts
        if more > 0 and len(texts) == 1:
            start, end = texts[0], texts[0] + more + 1
            if not any(self.dialect.separator in cell for cell in row[start:end]):
                self._joined.append(where)
                return [*row[:start], self.dialect.separator.join(row[start:end]), *row[end:]]
        if more > 0 and self._numbered and self.dialect.separator == "\t":
            self._wide.append(where)
            return row[:n]
        advice = f"; quote texts with {self.dialect.separator!r} in them" if more > 0 else ""
        if advice and not self.has_header and self.dialect.separator == "\t":
            advice = "; name the columns of text and answer by number to read these alone"
        raise InputError(
            f"{counted(len(row), 'column')}, {where}; the first has {n}: "
            f"{listed(names)}; read as {self.dialect}{advice}"
        )


def fasttext_rows(lines: Iterable[str], path: Path) -> Iterator[Row]:
    """The rows of fastText's lines, each with its labels and the text after them."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            text = without_labels(line)
            labels = line[: len(line) - len(text)].replace("__label__", "").split()
            yield Row({"text": text, "label": labels}, f"line {number} of {path}", number)


def without_labels(line: str) -> str:
    """A line of text without the labels that fastText has before it."""
    return _FASTTEXT.sub("", line)


def _cut_at_returns(lines: Iterator[str]) -> Iterator[str]:
    """The lines, also where their ends are carriage returns."""
    for first in lines:
        # None is inside a header, except in quotation marks.
        if "\r" in "".join(first.split('"')[::2]):
            return (part for line in chain([first], lines) for part in line.split("\r"))
        return chain([first], lines)
    return iter(())

"""Tables: examples in columns, with or without a header, in TSV, CSV and the like.

    sentence1<TAB>sentence2<TAB>label

The lines show the separator and whether fields are quoted: all or most rows then have the same
number of columns, more than one. If tabs separate both with and without quoting, quotation marks
are part of the text (GLUE), unless they are doubled inside a quoted field, or all fields of a
column are quoted, or another part of the corpus has quoted fields and this part fits them. With
other separators fields are then quoted.

The first row is the header if it has a usual name, or a column that the caller names. A usual name
that recurs below it is a class or a text of an example. A row of other names is the header, too, if
it is unlike all rows below it: it has one or two words where they have a text, and no number and no
value that recurs in them. Five rows of train must show it, and the other parts of the corpus must
begin with the same names.

Rows with only empty cells and repeated headers are skipped, unless each row gets an answer: they
are texts then. A row with more columns than the header is read if it is clear which are too many:
row names before the first column, empty cells after the last, separators inside the only column of
text, and columns after those that the caller names by number.

Lines of fastText are read as labels and a text:

    __label__pos __label__new a text
"""

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from math import isfinite, isnan
from pathlib import Path
from typing import Any

from featbert.data.answers import number_of
from featbert.data.columns import USUAL_NAMES, looks_like_choices, usual_texts
from featbert.data.examples import n_words
from featbert.data.files import BOM, RawRow
from featbert.data.options import ReadingOptions
from featbert.errors import InputError, spelling
from featbert.progress import notice, track
from featbert.text import counted, listed

SEPARATORS = ("\t", ",", ";", "|")
# Lines of a stream that show its dialect.
FIRST_LINES = 1000
# Share of the lines that must have as many columns as the first one.
MOST = 0.5
# So few lines do not show that single quotation marks are quotes.
_FEW = 3
# Rows that show that the first one is unlike them, and the most words of a name.
_SHOWING, _NAME = 5, 2
_FASTTEXT = re.compile(r"^\s*(?:__label__\S+\s+)+")
_EXCEL_SEPARATOR = re.compile(r'"?sep=(.)"?')  # in the first line of files for Excel


@dataclass(frozen=True)
class Dialect:
    """How the cells of a line are separated.

    Attributes:
        quoted: whether a field may be in quotation marks, which are doubled inside of it.
        quote: the quotation mark.
        escape: a character that makes a separator, quotation mark, line end or itself after it
            part of the text. Before other characters it is itself part of the text.
        spaced: whether spaces after a separator are skipped.
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
        """A reader of `csv`, which raises csv.Error for ill-formed lines."""
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

    def first_rows(self, lines: Iterable[str]) -> list[list[str]]:
        """The first rows that are not blank, up to an ill-formed one."""
        rows: list[list[str]] = []
        with suppress(csv.Error):
            rows.extend(row for row in islice(self.reader(lines), FIRST_LINES) if row)
        return rows

    def fit(self, lines: Sequence[str]) -> float:
        """Share of the lines in rows with as many columns as the first, and more than one.

        All rows after the first may instead have one column more: their number in front, or an
        empty cell at the end. Ill-formed lines do not fit.
        """
        reader, width, number = self.reader(lines), 0, 0
        n_equal = n_wider = n_lines = 0
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return max(n_equal, n_wider) / n_lines if width > 1 else 0.0
            except csv.Error:
                row = []
            in_row = sum(map(bool, map(str.strip, lines[number : reader.line_num])))
            number, is_first = reader.line_num, not n_lines
            n_lines += in_row
            if is_first and in_row:
                width = len(row)
            is_wider = len(row) == width + 1 and (row[0].isdecimal() or not row[-1].strip())
            n_equal += in_row * (len(row) == width)
            n_wider += in_row * (is_first or is_wider)


def dialect_of(lines: Sequence[str], usual: str, options: ReadingOptions) -> Dialect:
    """The dialect of a table by its first lines. The separator `usual` is tried first."""
    separators = [usual, *(sign for sign in SEPARATORS if sign != usual)]
    if options.delimiter:
        separators = [options.delimiter]
    head = next(filter(str.strip, lines), "")
    spaces = [" "] * ('"' in head and not options.delimiter)  # as R writes tables
    for separator in (*separators, *spaces):
        cells = [*Dialect(separator, True).first_rows([head]), []][0]
        if len(cells) > 1 and is_header(cells, options):
            return _dialect_with(separator, lines, usual, options)[0]
        if len(cells) > 1 and separator == usual:
            break  # other signs are of texts
    best, best_fit = None, (MOST, True)
    for separator in separators:
        dialect, share = _dialect_with(separator, lines, usual, options)
        # A space after each separator is a sign of prose.
        is_prose = all(f"{separator} " in line for line in lines if separator in line)
        if (share, not is_prose) > best_fit:
            best, best_fit = dialect, (share, not is_prose)
        if best_fit == (1, True):
            break
    return best or _dialect_with(separators[0], lines, usual, options)[0]


def _dialect_with(
    separator: str, lines: Sequence[str], usual: str, options: ReadingOptions
) -> tuple[Dialect, float]:
    """The dialect with this separator that fits best, and its fit."""
    plain, quoted = [Dialect(separator, quoting, options.escape) for quoting in (False, True)]
    plain_dialects, quoted_dialects = [plain], [quoted]
    if options.escape is None and any(f"\\{separator}" in line for line in lines):
        plain_dialects.append(replace(plain, escape="\\"))
    spaced = replace(quoted, spaced=True)
    if any(cell[:2] == ' "' for row in quoted.first_rows(lines) for cell in row):
        quoted_dialects[:0] = [spaced] * (spaced.fit(lines) == 1)
    if options.escape is None and any('\\"' in line for line in lines):
        quoted_dialects.append(replace(quoted, escape="\\"))
    if len(lines) > _FEW and all(line.strip()[-1:] in ("'", "") for line in lines[1:]):
        single = replace(quoted, quote="'")
        escaped = replace(single, escape="\\")
        quoted_dialects[:0] = [d for d in (single, escaped) if d.fit(lines) == 1][:1]
    by_tabs = separator == usual == "\t"
    by_option = {"none": plain_dialects, "double": quoted_dialects}.get(options.quoting)
    orders = [plain_dialects, quoted_dialects] if by_tabs else [quoted_dialects, plain_dialects]
    dialects = by_option or [*orders[0], *orders[1]]
    best, best_share = dialects[0], -1.0
    for dialect in dialects:
        if (share := dialect.fit(lines)) > best_share:
            best, best_share = dialect, share
        if share == 1:
            break
    if by_tabs and best == plain and not by_option:
        sure = (d for d in quoted_dialects if d.fit(lines) == 1 and _is_quoted(lines, plain, d))
        return next(sure, best), best_share
    return best, best_share


def quoted_dialect(
    separator: str, lines: Sequence[str], path: Path, options: ReadingOptions
) -> Dialect | None:
    """The dialect of words in columns if their fields surely are quoted, else None."""
    plain, quoted = [Dialect(separator, quoting, options.escape) for quoting in (False, True)]
    is_tsv = separator == "\t" and path.name.lower().endswith("tsv")
    may_be_quoted = is_tsv and options.quoting == "auto"
    is_quoted = may_be_quoted and _is_quoted(lines, plain, quoted) and quoted.fit(lines) == 1
    return quoted if is_quoted or options.quoting == "double" else None


def _is_quoted(lines: Sequence[str], plain: Dialect, quoted: Dialect) -> bool:
    """Whether quotation marks surely are not part of the texts."""
    rows, bare = plain.first_rows(lines), quoted.first_rows(lines)
    if len(rows) != len(bare):
        return False
    cells = (pair for row in zip(rows, bare, strict=True) for pair in zip(*row, strict=False))
    if any(cell[:1] == '"' and cell != inner and '"' in inner for cell, inner in cells):
        return True
    if any(map(_in_quotes, rows[0])) and usual_texts(bare[0]):
        return True
    return any(  # the first may be a name
        sum(map(_in_quotes, column)) > 2 and all(_in_quotes(cell) for cell in column[1:] if cell)
        for column in zip(*rows, strict=False)
    )


def _in_quotes(cell: str) -> bool:
    return len(cell) > 1 and cell[0] == cell[-1] == '"'


def is_header(
    cells: Sequence[str], options: ReadingOptions, rows: Sequence[Sequence[str]] = ()
) -> bool:
    """Whether the cells of a first row are names of columns, given the `rows` after it.

    Not if all usual names among them are classes or texts: they recur in their columns, or are the
    name of a text in the column of answers.
    """
    if looks_like_choices(cells) or options.are_in(cells):
        return True
    texts = usual_texts(cells)
    other_rows = [row for row in rows if [*row] != [*cells]]
    return bool(texts) and not all(
        (number == options.target and cell in texts)
        or any(row[number - 1 : number] == [cell] for row in other_rows)
        for number, cell in enumerate(cells, 1)
        if cell.strip().lower() in USUAL_NAMES
    )


def column_names(first: Sequence[str], path: Path, *, has_header: bool) -> list[str]:
    """The names in a header, each once, or numbers. An empty second cell is `column 2`."""
    names = [str(i) for i in range(1, len(first) + 1)]
    if has_header:
        names = [cell.strip() or f"column {i}" for i, cell in enumerate(first, 1)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"column {twice[0]!r} occurs twice in the header of {path}")
    return names


def table_cells(
    lines: Iterable[str], path: Path, dialect: Dialect, start: int = 1
) -> Iterator[tuple[int, list[str]]]:
    """Rows, each with the number of its first line, from `start` on. A blank line has no cells."""
    reader, number = dialect.reader(lines), start
    try:
        for row in reader:
            yield number, row
            number = start + reader.line_num
    except csv.Error as error:
        fault = f"not a table ({error})"
        advice = f"is another separator than {dialect.separator!r} meant, or a quotation mark left "
        advice += f"open? {spelling('quoting', 'none')} keeps them"
        if "new-line" in str(error):
            fault, advice = "carriage return inside a line", "put the field in quotation marks"
        elif not dialect.quoted:
            advice = f"give {spelling('escape')} if it is another"
        raise InputError(f"{fault}, line {number} of {path}, read as {dialect}; {advice}") from None


def corpus_tables(lines: Mapping[Path, list[str]], options: ReadingOptions) -> dict[Path, "Table"]:
    """The tables of a corpus, without fastText's lines.

    If one of them has quoted fields, so have others that fit this.
    """
    tables = {
        path: Table(part, path, options) for path, part in lines.items() if not is_fasttext(part)
    }
    quoted = {t.dialect.separator: t for t in tables.values() if t.dialect.quoted}
    for path, table in tables.items():
        model = None if table.dialect.quoted else quoted.get(table.dialect.separator)
        if model and model.dialect.fit(lines[path]) >= table.dialect.fit(lines[path]):
            tables[path] = Table(lines[path], path, replace(options, quoting="double"))
        elif model:
            notice(
                f"{path} has {table.dialect}, but {model.path} has {model.dialect}; if they should "
                f"be read alike, give {spelling('quoting')}"
            )
    by_number = any(isinstance(column, int) for column in (options.text, options.target))
    if not by_number and not any(table.has_header for table in tables.values()):
        _find_other_headers([*tables.values()])
    return tables


def _find_other_headers(tables: Sequence["Table"]) -> None:
    """Takes the first rows of all parts of a corpus as names, if they can only be names.

    The first part is train. Others may lack some of its columns, or have further ones.
    """
    if not tables or not tables[0].is_headed:
        return
    names = {*tables[0].first_cells}
    cells_of_parts = ({*table.first_cells} for table in tables)
    if all(cells <= names or cells >= names for cells in cells_of_parts):
        for table in tables:
            table.take_header()


class Table:
    """The rows of a table.

    Attributes:
        names: of its columns, from the header, or else numbers from 1.
        has_header: whether the first row has them.
        has_other_names: whether no name of the header is usual or given.
        width: number of columns in the first row.
        texts: numbers from 0 of columns in which most of the first rows have several words.
        first_row, first_rows: the cells of the first row, and those below it that are as wide.
    """

    def __init__(
        self, lines: Iterable[str], path: Path, options: ReadingOptions, kind: str | None = None
    ) -> None:
        """Reads lines without their ends: a list, of which all are looked at, or a stream.

        `kind` is "csv" or "tsv", by default as `path` ends.
        """
        line_parts = _cut_at_returns(iter(lines))
        first = [*(line_parts if isinstance(lines, list) else islice(line_parts, FIRST_LINES))]
        self.path, self._start = path, 1
        self._usual = "," if (kind or path.name).lower().endswith("csv") else "\t"
        if first and not options.delimiter and (sign := _EXCEL_SEPARATOR.fullmatch(first[0])):
            options, self._start = replace(options, delimiter=sign[1]), 2
            del first[0]
        while first and not first[0].strip():
            del first[0]
            self._start += 1
        self.dialect = dialect_of(first, self._usual, options)
        self._lines: Iterable[str] = first if isinstance(lines, list) else chain(first, line_parts)
        head, *rows = self.dialect.first_rows(first) or [[]]
        self.width, self.has_header = len(head), is_header(head, options, rows)
        self.names = column_names(head, path, has_header=self.has_header)
        is_wider = bool(rows) and all(len(row) == self.width + 1 for row in rows)
        numbers = [int(row[0]) for row in rows if row[0].isdecimal()] if is_wider else []
        are_counted = len(numbers) == len(rows) and all(b - a == 1 for a, b in pairwise(numbers))
        if self.has_header and is_wider and are_counted:
            self.names.insert(0, "column 0")  # R writes numbers of rows in a column without a name
        # Which columns hold texts, and so may hold separators.
        rows = [row for row in rows if len(row) == self.width]
        n_texts = [sum(n_words(row[i]) > 1 for row in rows) for i in range(self.width)]
        self.texts = [i for i, number in enumerate(n_texts) if 2 * number > len(rows)]
        self.first_row, self.first_rows, self.has_other_names = head, rows, False
        self._unusual: dict[str, list[str]] = defaultdict(list)  # places of rows, by their kind
        by_name = any(isinstance(column, str) for column in (options.pair, options.target))
        self._numbered = not self.has_header and isinstance(options.text, int) and not by_name

    def take_header(self) -> None:
        """Takes the first row as names of the columns."""
        self.has_header = self.has_other_names = True
        self.names = column_names(self.first_row, self.path, has_header=True)

    @property
    def first_cells(self) -> list[str]:
        """The first row, in lower case."""
        return [cell.strip().lower() for cell in self.first_row]

    @property
    def is_headed(self) -> bool:
        """Whether the first row is unlike all others, and so has names of columns."""
        rows, names = self.first_rows, [cell.strip() for cell in self.first_row]
        filled = [name for name in names if name]
        are_names = len({*filled}) == len(filled) and all(isnan(number_of(n)) for n in filled)
        if len(rows) < _SHOWING or not self.texts or not are_names:
            return False
        for place in self.texts:
            usual_length = sorted(len(row[place]) for row in rows)[len(rows) // 2]
            if n_words(names[place]) > _NAME or 2 * len(names[place]) > usual_length:
                return False
        columns = {
            names[place]: [row[place].strip() for row in rows]
            for place in {*range(self.width)} - {*self.texts}
        }
        recur = {name: cells for name, cells in columns.items() if 2 * len({*cells}) < len(cells)}
        return any(map(any, recur.values())) and all(
            name not in cells for name, cells in recur.items() if name
        )

    def shown_columns(self) -> dict[str, Any]:
        """Numbers of the columns of texts and answers, by option, if the first rows show them.

        Most texts have several words, with spaces, as a Chinese word counts as several. Answers
        recur, or are numbers with a decimal point. Columns of distinct values may come with them,
        such as numbers of rows. Empty if it is not clear, or if the first answer is unlike the
        others and so might be a name.
        """
        answers = []
        rows = [self.first_row] * (not self.has_header) + self.first_rows
        for place in sorted({*range(self.width)} - {*self.texts}):
            values = [row[place].strip() for row in rows]
            n_values, first_value = len({*values[1:]}), values[0]
            if not any(values):
                continue
            are_points = all("." in value and isfinite(number_of(value)) for value in values)
            recur = first_value in values[1:] and 2 * n_values < len(values)
            if are_points or recur:
                answers.append(place + 1)
            elif n_values < len(values) - 1:
                return {}
        n_spaced = (sum(" " in row[i] for row in self.first_rows) for i in self.texts)
        are_texts = all(2 * number > len(self.first_rows) for number in n_spaced)
        is_clear = are_texts and len(self.texts) in (1, 2) and len(answers) == 1
        if (self.has_header and not self.has_other_names) or not is_clear:
            return {}
        texts = zip(("text", "pair"), self.texts, strict=False)
        return {option: place + 1 for option, place in texts} | {"target": answers[0]}

    def rows(self, names: Sequence[str] = (), *, blank: bool = False) -> Iterator[RawRow]:
        """The rows, with `names` of columns or the table's own. InputError names the line.

        `blank` keeps rows with only empty cells, and then repeated headers, too.
        """
        names, path, lines = names or self.names, self.path, self._lines
        usual = Dialect(self._usual, self.dialect.quoted, spaced=self.dialect.spaced)
        if self.dialect != usual:
            notice(f"{path} has {self.dialect}")
        if isinstance(lines, list):
            lines = track(lines, f"reading {path.name}", "lines")
        cells = table_cells(lines, path, self.dialect, self._start)
        for number, row in islice(cells, int(self.has_header), None):
            again = [cell.removeprefix(BOM).strip() for cell in row]
            is_header_again = self.has_header and again == self.names
            is_blank = not row or (len(names) > 1 and not any(map(str.strip, row)))
            place = f"line {number} of {path}"
            # A blank line is a row of a table of one column only.
            if (not row and len(names) > 1) or (not blank and (is_header_again or is_blank)):
                if row:
                    kind = f"rows of {path} that are empty, or the header again, skipped"
                    self._unusual[kind].append(place)
                continue
            if is_blank:
                row += [""] * (len(names) - len(row))
            fitted = row if len(row) == len(names) else self._fitted(row, names, place)
            yield RawRow(dict(zip(names, fitted, strict=True)), place, number)
        for rows, places in self._unusual.items():
            line = places[0].removesuffix(f" of {path}")
            notice(f"{rows}: {len(places):,}; the first in {line}")

    def _fitted(self, row: list[str], names: Sequence[str], where: str) -> list[str]:
        """A row with one cell for each column. InputError if it is not clear how."""
        n, excess, sign = len(names), len(row) - len(names), self.dialect.separator
        if excess > 0 and not any(map(str.strip, row[n:])):
            return row[:n]
        texts = [0] if n == 1 else self.texts
        if excess > 0 and len(texts) == 1:
            start, end = texts[0], texts[0] + excess + 1
            if not any(sign in cell for cell in row[start:end]):
                self._unusual[f"texts of {self.path} with {sign!r}, unquoted"].append(where)
                return [*row[:start], sign.join(row[start:end]), *row[end:]]
        if excess > 0 and self._numbered and sign == "\t":
            kind = f"rows of {self.path} with columns after the first {n}, not read"
            self._unusual[kind].append(where)
            return row[:n]
        advice = f"; quote texts with {sign!r} in them" if excess > 0 else ""
        if advice and not self.has_header and sign == "\t":
            advice = "; name the columns of text and answer by number to read only these"
        raise InputError(
            f"{counted(len(row), 'column')}, {where}; the first has {n}: "
            f"{listed(names)}; read as {self.dialect}{advice}"
        )


def is_fasttext(lines: Sequence[str]) -> bool:
    """Whether lines have labels of fastText."""
    return bool(lines) and lines[0].lstrip().startswith("__label__")


def fasttext_rows(lines: Iterable[str], path: Path) -> Iterator[RawRow]:
    """The rows of fastText's lines, each with its labels and the text after them."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            text = without_labels(line)
            labels = line[: len(line) - len(text)].replace("__label__", "").split()
            yield RawRow({"text": text, "label": labels}, f"line {number} of {path}", number)


def without_labels(line: str) -> str:
    """A line of text without the labels of fastText before it."""
    return _FASTTEXT.sub("", line)


def _cut_at_returns(lines: Iterator[str]) -> Iterator[str]:
    """The lines, also if their ends are carriage returns."""
    for first in lines:
        # A header has none inside, except in quotation marks.
        if "\r" in "".join(first.split('"')[::2]):
            return (part for line in chain([first], lines) for part in line.split("\r"))
        return chain([first], lines)
    return iter(())

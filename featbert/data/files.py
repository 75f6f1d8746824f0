"""Text files: decoded with errors that name the place, and what readers share.

A line ends at "\\n" and nowhere else: U+0085, U+2028 and the like are characters of words. Readers
return raw labels; `tags` interprets them for all splits of a corpus together.
"""

import ast
import codecs
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from featbert.data.corpus import ReadingNotes, Sentence
from featbert.errors import InputError, MissingError, nearest, nearest_path
from featbert.io import explaining, regular_file, replacing
from featbert.text import shortened

BOM = "\ufeff"
DOCSTART = "-DOCSTART-"
# Names of streams that a process has open, such as those of `<(command)` in a shell.
STREAMS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
JSON_EXTENSIONS = ("jsonl", "ndjson", "json")
COLUMN_EXTENSIONS = (
    *(
        "conll",
        "conll03",
        "conllu",
        "conllup",
        "conllx",
        "tsv",
        "col",
        "cols",
        "ner",
        "iob",
        "iob1",
        "iob2",
    ),
    *("bio", "io", "bioes", "iobes", "bilou", "bmes", "bmeso", "char", "tags", "tagged"),
)
EXTENSIONS = (
    *(*JSON_EXTENSIONS, *COLUMN_EXTENSIONS, "csv", "parquet", "arrow"),
    *("txt", "data", "annotated", "gold"),
)
_DOCSTART_WORD = re.compile(rf"{DOCSTART}(?: |$)")
# What a column file cannot hold inside a word; surrogates cannot be written as UTF-8.
_FORBIDDEN = re.compile("[\\t\\n\\r\\0\ud800-\udfff]")
_LANGUAGE = re.compile(r"[a-z]{2,3}:(?=.)")
LANGUAGE_SENTENCES = 1000
SURROGATE = re.compile("[\ud800-\udfff]")
# How numpy shows a list within another value, and strings that Python would join.
_ARRAY = re.compile(r"array\((\[[^\[\]]*\])(?:,\s*dtype=[^()]*)?\)")
_JOINED = re.compile(r"""['"]\s+['"]""")
Column = int | str  # by number, from 1, or by name


@dataclass(frozen=True)
class RawFile:
    """Sentences of one file in order, never empty, with their labels verbatim.

    Attributes:
        notes: all but those that follow from the whole corpus: scheme, repaired tags, encoding.
        unit: what `Sentence.lines` count: "line", or "row" of a dataset.
        columns: of a column file without a header, their number, and those of words and tags,
            from 0, if they were chosen by what is in them.
    """

    path: Path
    sentences: tuple[Sentence, ...]
    notes: ReadingNotes = field(default_factory=ReadingNotes)
    unit: str = "line"
    columns: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not self.sentences:
            raise InputError(f"no sentence or example in {self.path}")
        if self.sentences[-1].document is not None:  # those before the first mark are document 0
            numbered = (replace(s, document=s.document or 0) for s in self.sentences)
            object.__setattr__(self, "sentences", tuple(numbered))


class Documents:
    """Numbers documents from 0, as they begin: after a mark, or where the key changes."""

    def __init__(self) -> None:
        self.key: str | int | None = None
        self.seen = False  # whether there was a sentence
        self._number: int | None = None
        self._begins = False

    def begin(self) -> None:
        """The next sentence begins a document."""
        self._begins = True

    def of_next(self, key: str | int | None = None) -> int | None:
        """Document of the next sentence; None before the first mark or key."""
        if self._begins or key != self.key:
            self._number = (self._number or 0) + self.seen
        self.key, self.seen, self._begins = key, True, False
        return self._number


def word_fault(word: str) -> str | None:
    """Why `word` cannot be a word of a corpus, or None where it can.

    Whatever is read can be written as a column file: no tab, line feed, carriage return, NUL, lone
    surrogate, document mark or blank word.
    """
    if not word.strip(" "):
        return "is empty" if not word else "is blank"
    if _FORBIDDEN.search(word):
        return "holds a tab, line end, NUL or lone surrogate"
    if _DOCSTART_WORD.match(word):
        return f"is the document mark {DOCSTART}"
    return None


def without_language(sentences: Iterable[Sentence]) -> tuple[str, Iterator[Sentence]]:
    """The code of a language that every word begins with, `en:` of `en:Rome`, and bare words.

    The first `LANGUAGE_SENTENCES` tell; no more are read here than there are with such words.
    """
    rest, begin, code = iter(sentences), list[Sentence](), ""
    for sentence in islice(rest, LANGUAGE_SENTENCES):
        begin.append(sentence)
        match = _LANGUAGE.match(sentence.words[0]) if sentence.words else None
        code = code or (match.group() if match and len(begin) == 1 else "")
        if not code or not all(w.startswith(code) and w != code for w in sentence.words):
            return "", chain(begin, rest)
    if sum(map(len, begin)) < 2:
        return "", chain(begin, rest)
    every = chain(begin, rest)
    return code, (
        replace(s, words=tuple(word.removeprefix(code) for word in s.words)) for s in every
    )


def is_json(path: Path) -> bool:
    """Whether the name of a file says that it holds JSON."""
    return path.suffix.lower().lstrip(".") in JSON_EXTENSIONS


@dataclass(frozen=True)
class Row:
    """Named values of a line of a file or a row of a dataset.

    Attributes:
        where: for messages, such as "line 3 of dev.tsv".
        number: of its line or row, from 1.
        unit: what is counted: "line", "row" or "question".
    """

    values: Mapping[Any, Any]
    where: str
    number: int
    unit: str = "line"


def lower_names(names: Collection[str]) -> dict[str, str]:
    """Names of columns by how they are in lower case; the first of equals."""
    return {name.strip().lower(): name for name in reversed([*names])}


def named_column(column: Column, names: Sequence[str], option: str, where: object) -> str:
    """The column of this name, or of this number from 1; InputError where there is none."""
    if isinstance(column, int) and 1 <= column <= len(names):
        return names[column - 1]
    found = column if column in names else lower_names(names).get(str(column).lower())
    if found is None:
        raise InputError(
            f"--{option} {column} is no column of {where}{nearest(str(column), names)}; "
            f"it has {', '.join(names)}"
        )
    return str(found)


def usual_column(
    named: Column | None, usual: Sequence[str], names: Sequence[str], option: str, where: object
) -> str | None:
    """The column that is named, else the one with a usual name; None where there is no such one.

    InputError where several have one.
    """
    if named is not None:
        return named_column(named, names, option, where)
    by_lower = lower_names(names)
    found = [by_lower[name] for name in usual if name in by_lower]
    if len(found) > 1:
        raise InputError(f"several columns for --{option} in {where}: {', '.join(found)}; name one")
    return found[0] if found else None


def json_rows(lines: Iterable[str], path: Path) -> Iterator[Row]:
    """Rows of JSONL, as they are asked for; of a .json file those of its array, or of its "data".

    Blank lines are skipped. `["a text", {"entities": [...]}]`, as spaCy 2 has it, is a row with a
    text. Raises InputError for what is no JSON or no object.
    """
    if path.suffix.lower() == ".json":
        lines = list(lines)
        if (whole := _parsed(lines, path, 1) if lines else []) is not None:
            found = _rows_of(whole) if isinstance(whole, dict) else whole
            rows, unit = (found, "row") if isinstance(found, list) else ([whole], "line")
            yield from (_object(values, n, unit, path) for n, values in enumerate(rows, 1))
            return
    for number, line in enumerate(lines, start=1):
        if line.strip(" \t"):
            yield _object(_parsed([line], path, number), number, "line", path)


def _rows_of(whole: Mapping[str, Any]) -> Any:
    """The rows in an object; None where it is a row.

    Under "data", of a table as pandas writes it (columns, or orient="split"), LightTag's examples,
    and a list of spaCy's pairs under "annotations".
    """
    found, names = whole.get("data"), whole.get("columns")
    if isinstance(found, list) and isinstance(names, list):
        return [dict(zip(names, row, strict=False)) for row in found]
    first = next(iter(whole.values()), None)
    if len(whole) > 1 and isinstance(first, dict):
        columns = [c for c in whole.values() if isinstance(c, dict) and c.keys() == first.keys()]
        if len(columns) == len(whole):
            return [{name: column[n] for name, column in whole.items()} for n in first]
    for key in ("examples", "annotations") if found is None else ():
        values = whole.get(key)
        below = [row for row in values if row is not None] if isinstance(values, list) else []
        dicts = key == "examples" and all(isinstance(row, dict) for row in below)
        if below and (dicts or all(map(_is_pair, below))):
            return below
    return found


def _parsed(lines: Sequence[str], path: Path, first: int) -> Any:
    """What JSON says from line `first` on; None of several values, one a line."""
    try:
        return json.loads("\n".join(lines))
    except (ValueError, RecursionError) as error:
        reason, line = getattr(error, "msg", "cannot be parsed"), getattr(error, "lineno", 1)
        if len(lines) > 1 and reason == "Extra data":
            return None
        where = f"line {first + line - 1} of {path}"
        shown = excerpt(lines[line - 1])
        advice = _array_advice(lines, path)
        raise InputError(f"not JSON ({reason}), {where}: {shown}{advice}") from None


def _object(values: Any, number: int, unit: str, path: Path) -> Row:
    where = f"{unit} {number} of {path}"
    if _is_pair(values):
        values = {"text": values[0], **values[1]}
    if not isinstance(values, dict):
        shown = json.dumps(values)
        advice = _array_advice([shown], path)
        raise InputError(f"not a JSON object, {where}: {excerpt(shown)}{advice}")
    return Row(values, where, number, unit)


def _is_pair(value: Any) -> bool:
    """Whether a value is a text and what is known of it, as spaCy 2 has them."""
    return isinstance(value, list) and [*map(type, value)] == [str, dict]


def literal(value: Any) -> Any:
    """The list or dictionary that a text writes as JSON or Python; other values as they are."""
    if isinstance(value, str) and value[:1] + value[-1:] in ("[]", "{}"):
        text = _ARRAY.sub(r"\1", value)
        parsers: list[Callable[[str], Any]] = [json.loads, ast.literal_eval]
        for parse in parsers[: 1 if _JOINED.search(text) else 2]:
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                written = parse(text)
                return written if isinstance(written, list | dict) else value
    return value


def _array_advice(lines: Sequence[str], path: Path) -> str:
    """What to do where a file of JSON lines seems to be one array, or to have longer objects."""
    if lines[0].strip() == "{":
        return "; write each object on one line"
    is_array = lines[0].lstrip().startswith("[") and path.suffix.lower() != ".json"
    return "; if the file is one array, name it .json" if is_array else ""


def excerpt(text: str, width: int = 60) -> str:
    """`text` quoted on one line for a message, cut at `width` characters."""
    return repr(shortened(text, width))


def codec_name(encoding: str) -> str:
    """Python's name of a text encoding ("UTF8" -> "utf-8"); InputError for an unknown one."""
    try:
        "".encode(encoding)  # unlike codecs.lookup this refuses byte-to-byte codecs such as "hex"
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise InputError(
            f"encoding {encoding!r} is not known; use one such as utf-8, latin-1, cp1252 or utf-16"
        ) from None


def read_file(
    path: Path, encoding: str = "utf-8", most: int | None = None, *, returns: bool = False
) -> list[str]:
    """Lines of a file, all or the first, as `read_lines` gives them; MissingError without one."""
    with opened(path) as stream:
        return list(islice(read_lines(stream, encoding, str(path), returns=returns), most))


def opened(path: Path) -> BinaryIO:
    """A file to read; MissingError without one, InputError where it cannot be read.

    FIFOs and devices are refused, unless they are streams that this process has, as /dev/stdin.
    """
    try:
        return (path if str(path).startswith(STREAMS) else regular_file(path)).open("rb")
    except FileNotFoundError:
        raise MissingError(f"{path} does not exist{nearest_path(path)}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def read_lines(
    stream: BinaryIO,
    encoding: str,
    name: str,
    *,
    returns: bool = False,
    longest: int | None = None,
) -> Iterator[str]:
    """Lines of a stream without their ends, LF or CRLF; one leading BOM is removed.

    Closes the stream in the end. `returns`: whether carriage returns may be inside a line, as in
    raw text and in quoted fields. InputError for a line of `longest` characters.
    """
    codec, number = codec_name(encoding), 0
    try:
        with io.TextIOWrapper(stream, codec, newline="\n") as text:
            lines = text if longest is None else iter(partial(text.readline, longest), "")
            for number, line in enumerate(lines, 1):
                if len(line) == longest:
                    raise InputError(
                        f"line {number} of {name} is longer than {longest:,} characters; end each "
                        "text with a line end"
                    )
                bare = (line if number > 1 else line.removeprefix(BOM)).removesuffix("\n")
                yield _checked(bare.removesuffix("\r"), number, name, returns)
    except UnicodeError as error:  # not always a UnicodeDecodeError: UTF-16 without a mark
        before, byte, data = b"", "", b""
        if isinstance(error, UnicodeDecodeError):
            data, before = error.object, error.object[: error.start]
            byte = f" (byte 0x{data[error.start]:02x})"
        line_number = number + 1 + before.decode(codec, "ignore").count("\n")
        likely = _looks_like(data) or ("utf-16-le or utf-16-be" if codec == "utf-16" else "")
        some = "latin-1 or cp1252"
        if 3 * sum(byte > 127 for byte in data[:10_000]) > len(data[:10_000]):
            some = "gb18030, big5, shift_jis, euc-kr, cp1251 or cp874, by its language"
        advice = f"the text looks like {likely}" if likely else f"such as {some}"
        raise InputError(
            f"not {codec} text{byte}, line {line_number} of {name}; give --encoding, {advice}"
        ) from None


def _looks_like(data: bytes) -> str:
    """UTF-16 of which kind the beginning of a text looks like; "" for other encodings."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # The higher bytes of Latin letters, digits and signs are 0.
    even, odd = (data[start::2].count(0) * 4 > len(data) for start in (0, 1))
    return "utf-16-be" if even and not odd else "utf-16-le" if odd and not even else ""


def _checked(line: str, number: int, name: str, returns: bool) -> str:
    fault, advice = "", "give --encoding if it is another"
    if "\0" in line:
        likely = _looks_like(line.encode("utf-8", "surrogatepass"))
        fault, advice = "NUL", f"give --encoding {likely}" if likely else advice
    elif "\r" in line and not returns:
        fault, advice = "carriage return inside a line", "end lines by LF or CRLF"
    elif SURROGATE.search(line):  # utf-7 for one decodes to what UTF-8 cannot hold
        fault = "lone surrogate"
    if fault:
        raise InputError(f"{fault}, line {number} of {name}; {advice}")
    return line


@contextmanager
def writing(path: Path) -> Iterator[TextIO]:
    """A UTF-8 text stream; the file appears when the block ends without error."""
    if not path.parent.is_dir():
        raise MissingError(f"{path} cannot be written: the folder {path.parent} does not exist")
    with (
        explaining(path),
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as stream,
    ):
        yield stream

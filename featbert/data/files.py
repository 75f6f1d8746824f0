"""Text files: decoded with errors that name the place, and what all readers share.

A line ends only at "\\n": U+0085, U+2028 and the like are characters of words. Readers return the
labels as the file has them. `tags` interprets them for all splits of a corpus together.
"""

import codecs
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Self, TextIO

from featbert.data.corpus import ReadingNotes, Sentence
from featbert.errors import InputError, MissingError, nearest_path, spelling
from featbert.io import explaining, regular_file, replacing

BOM = "\ufeff"
DOCSTART = "-DOCSTART-"
# Names of streams that a process has open, such as a shell's `<(command)`.
STREAMS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
JSON_EXTENSIONS = ("jsonl", "ndjson", "json")
COLUMN_EXTENSIONS = (
    *("conll", "conll03", "conllu", "conllup", "conllx", "tsv", "col", "cols", "ner", "iob"),
    *("iob1", "iob2", "bio", "io", "bioes", "iobes", "bilou", "bmes", "bmeso", "char", "tags"),
    "tagged",
)
EXTENSIONS = (
    *(*JSON_EXTENSIONS, *COLUMN_EXTENSIONS, "csv", "parquet", "arrow"),
    *("txt", "data", "annotated", "gold"),
)
_DOCSTART_WORD = re.compile(rf"{DOCSTART}(?: |$)")
# Characters that a word in a column file cannot have. Surrogates cannot be written as UTF-8.
_FORBIDDEN = re.compile("[\\t\\n\\r\\0\ud800-\udfff]")
# How gzip, zip (and workbooks), bzip2, xz, zstd, 7z and older workbooks begin.
_PACKED = re.compile(
    rb"\x1f\x8b|PK\x03\x04|BZh\d1AY&SY|\xfd7zXZ\0|\x28\xb5\x2f\xfd|7z\xbc\xaf|\xd0\xcf\x11\xe0"
)
_LANGUAGE = re.compile(r"[a-z]{2,3}:(?=.)")
LANGUAGE_SENTENCES = 1000
SURROGATE = re.compile("[\ud800-\udfff]")


def extension(path: Path) -> str:
    """A file's last extension in lower case, without its point."""
    return path.suffix.lower().lstrip(".")


@dataclass(frozen=True)
class RawFile:
    """Sentences of one file in order, never empty, with their labels verbatim.

    Attributes:
        notes: all but scheme, repaired tags and encoding, which follow from the whole corpus.
        unit: what `Sentence.lines` count: "line", or "row" of a dataset.
        columns: of a column file, its number of columns, and the columns of words and tags, from 0.
            The last one is -1.
        split: of the corpus.
    """

    path: Path
    sentences: tuple[Sentence, ...]
    notes: ReadingNotes = field(default_factory=ReadingNotes)
    unit: str = "line"
    columns: tuple[int, ...] = ()
    split: str = ""

    def __post_init__(self) -> None:
        if not self.sentences:
            raise InputError(f"no sentence or example in {self.path}")
        if self.sentences[-1].document is not None:  # those before the first mark are document 0
            numbered = (replace(s, document=s.document or 0) for s in self.sentences)
            object.__setattr__(self, "sentences", tuple(numbered))

    def with_sentences(self, sentences: Iterable[Sentence], **notes: Any) -> Self:
        """The file with other sentences and notes."""
        return replace(self, sentences=tuple(sentences), notes=replace(self.notes, **notes))


@dataclass(frozen=True)
class RawRow:
    """Named values of a line of a file or a row of a dataset.

    Attributes:
        where: for messages, such as "line 3 of dev.tsv".
        number: of its line or row, from 1.
        unit: "line", "row", "question" or "file".
    """

    values: Mapping[Any, Any]
    where: str
    number: int
    unit: str = "line"


class Documents:
    """Numbers documents from 0: a new one begins after a mark, or when the key changes."""

    def __init__(self) -> None:
        self.key: str | int | None = None
        self.seen = False  # whether there was a sentence
        self._number: int | None = None
        self._begins = False

    def begin(self) -> None:
        """The next sentence begins a document."""
        self._begins = True

    def of_next(self, key: str | int | None = None) -> int | None:
        """Document of the next sentence, None before the first mark or key."""
        if self._begins or key != self.key:
            self._number = (self._number or 0) + self.seen
        self.key, self.seen, self._begins = key, True, False
        return self._number


def word_fault(word: str) -> str | None:
    """Why `word` cannot be a word of a corpus, which column files can hold, or None if it can."""
    if not word.strip(" "):
        return "is empty" if not word else "is blank"
    if _FORBIDDEN.search(word):
        return "holds a tab, line end, NUL or lone surrogate"
    if _DOCSTART_WORD.match(word):
        return f"is the document mark {DOCSTART}"
    return None


def without_language(sentences: Iterable[Sentence]) -> tuple[str, Iterator[Sentence]]:
    """The language code before every word, `en:` in `en:Rome`, or "", and the bare words.

    The first `LANGUAGE_SENTENCES` decide. Reading stops at the first sentence without the code.
    """
    remaining, first = iter(sentences), list[Sentence]()
    code = ""
    for sentence in islice(remaining, LANGUAGE_SENTENCES):
        first.append(sentence)
        if len(first) == 1 and sentence.words and (match := _LANGUAGE.match(sentence.words[0])):
            code = match.group()
        if not code or not all(w.startswith(code) and w != code for w in sentence.words):
            return "", chain(first, remaining)
    if sum(map(len, first)) < 2:
        return "", chain(first, remaining)
    return code, (
        replace(s, words=tuple(word.removeprefix(code) for word in s.words))
        for s in chain(first, remaining)
    )


def codec_name(encoding: str) -> str:
    """Python's name of a text encoding ("UTF8" -> "utf-8"). InputError for an unknown one."""
    try:
        "".encode(encoding)  # unlike codecs.lookup this refuses byte-to-byte codecs such as "hex"
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise InputError(
            f"{encoding!r} is not known; use one such as utf-8, latin-1, cp1252 or utf-16",
            setting="encoding",
        ) from None


def read_file(path: Path, encoding: str = "utf-8", *, returns: bool = False) -> list[str]:
    """Lines of a file. Errors are as of `opened` and `read_lines`."""
    with opened(path) as stream:
        return list(read_lines(stream, encoding, str(path), returns=returns))


def opened(path: Path) -> BinaryIO:
    """A file opened to read. MissingError if there is none, InputError if it cannot be read.

    Compressed files, workbooks, FIFOs and devices are refused, except streams that this process
    has, such as /dev/stdin.
    """
    try:
        if str(path).startswith(STREAMS):
            return path.open("rb")
        check_unpacked(regular_file(path))
        return path.open("rb")
    except FileNotFoundError:
        raise MissingError(f"{path} does not exist{nearest_path(path)}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def check_unpacked(path: Path) -> None:
    """Raises InputError for a compressed file or a workbook."""
    with path.open("rb") as stream:
        if _PACKED.match(stream.read(16)):
            raise InputError(
                f"{path} is a compressed file or a workbook; unpack it, or save it as CSV"
            )


def read_lines(
    stream: BinaryIO,
    encoding: str,
    name: str,
    *,
    returns: bool = False,
    longest: int | None = None,
) -> Iterator[str]:
    """Lines of a stream without LF or CRLF. Removes one leading BOM. Closes the stream.

    Args:
        returns: whether a line may have carriage returns inside, as raw text and quoted fields may.
        longest: InputError for a line with so many characters.
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
        data, start = b"", 0
        if isinstance(error, UnicodeDecodeError):
            data, start = error.object, error.start
        byte = f" (byte 0x{data[start]:02x})" if data else ""
        bad_line = number + 1 + data[:start].decode(codec, "ignore").count("\n")
        likely = _utf16_kind(data) or ("utf-16-le or utf-16-be" if codec == "utf-16" else "")
        mostly_above = 3 * sum(byte > 127 for byte in data[:10_000]) > len(data[:10_000])
        languages = "gb18030, big5, shift_jis, euc-kr, cp1251 or cp874, by its language"
        usual = f"such as {languages if mostly_above else 'latin-1 or cp1252'}"
        advice = f"the text looks like {likely}" if likely else usual
        raise InputError(
            f"not {codec} text{byte}, line {bad_line} of {name}; give {spelling('encoding')}, "
            f"{advice}"
        ) from None


def _utf16_kind(data: bytes) -> str:
    """The kind of UTF-16 that a text seems to begin with, or "" for other encodings."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # The higher bytes of Latin letters, digits and signs are 0.
    even, odd = (data[start::2].count(0) * 4 > len(data) for start in (0, 1))
    return "utf-16-be" if even and not odd else "utf-16-le" if odd and not even else ""


def _checked(line: str, number: int, name: str, returns: bool) -> str:
    fault, advice = "", f"give {spelling('encoding')} if it is another"
    if "\0" in line:
        likely = _utf16_kind(line.encode("utf-8", "surrogatepass"))
        fault, advice = "NUL", f"give {spelling('encoding', likely)}" if likely else advice
    elif "\r" in line and not returns:
        fault, advice = "carriage return inside a line", "end lines by LF or CRLF"
    elif SURROGATE.search(line):  # utf-7 for one decodes to what UTF-8 cannot hold
        fault = "lone surrogate"
    if fault:
        raise InputError(f"{fault}, line {number} of {name}; {advice}")
    return line


@contextmanager
def writing(path: Path) -> Iterator[TextIO]:
    """A UTF-8 text stream. The file appears when the block ends without error."""
    if not path.parent.is_dir():
        raise MissingError(f"{path} cannot be written: the folder {path.parent} does not exist")
    with (
        explaining(path),
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as stream,
    ):
        yield stream

"""Text files are decoded, with errors that name the place."""

import bz2
import gzip
import io
import zipfile

import pytest

from featbert.data.files import read_file, read_lines
from featbert.data.load import load_corpus
from featbert.errors import InputError, MissingError


@pytest.mark.parametrize(
    ("lines", "encoding", "named"),
    [
        (["EU O", "München O"], "latin-1", "0xfc.*line 2 of .*encoding"),
        (["电影很好看"], "gb18030", "line 1 of .*gb18030"),
        (["とても面白い"], "shift_jis", "line 1 of .*shift_jis"),
        (["café au"], "cp1252", "line 1 of .*cp1252"),
        (["EU O"], "utf-16", "utf-16"),
    ],
)
def test_bytes_of_another_encoding_name_line_and_what_fits(tmp_path, lines, encoding, named):
    path = tmp_path / "dev.conll"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode(encoding))
    with pytest.raises(InputError, match=rf"(?=.*dev\.conll).*{named}"):
        read_file(path)
    assert read_file(path, encoding) == lines


def test_one_bom_and_crlf_are_removed(tmp_path):
    path = tmp_path / "a"
    path.write_bytes("\ufeff\ufeffEU O\r\n\r\nx\u0085y\u2028z O\r".encode())
    assert read_file(path) == ["\ufeffEU O", "", "x\u0085y\u2028z O"]


@pytest.mark.parametrize(
    ("data", "line"), [(b"a O\nb\0 O\n", 2), (b"a O\r\rb O\r", 1), (b"a O\n+2AA-\n", 2)]
)
def test_what_is_no_text(tmp_path, data, line):
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(InputError, match=f"line {line} of {path}"):
        read_file(path, "utf-7")


@pytest.mark.parametrize("name", ["train.csv.gz", "train.zip", "train.xlsx", "train.conll.bz2"])
def test_a_packed_file_is_named_alone_and_in_a_folder(tmp_path, name):
    path = tmp_path / name
    if path.suffix in (".zip", ".xlsx"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("train.csv", "text,label\n")
    else:
        path.write_bytes((gzip if path.suffix == ".gz" else bz2).compress(b"text,label\n"))
    for encoding in ("utf-8", "latin-1"):
        with pytest.raises(InputError, match=rf"{path} .*unpack"):
            read_file(path, encoding)
    (tmp_path / "dev.csv").write_text("text,label\nIt was fine.,good\n", "utf-8")
    with pytest.raises(InputError, match=rf"{path} .*unpack"):
        load_corpus(tmp_path, targets="classes")


def test_missing_file_and_folder_for_a_file(tmp_path):
    with pytest.raises(MissingError, match="none"):
        read_file(tmp_path / "none")
    with pytest.raises(InputError, match=str(tmp_path)):
        read_file(tmp_path)


def test_a_stream_without_line_ends_is_refused_and_not_read_to_its_end():
    stream = io.BytesIO(b"ab\n" + b"x" * 100_000)
    lines = read_lines(stream, "utf-8", "the stream", longest=10)
    assert next(lines) == "ab"
    with pytest.raises(InputError, match="line 2 of the stream"):
        next(lines)
    whole = io.BytesIO(b"x" * 9 + b"\n" + b"y" * 9)
    assert [*read_lines(whole, "utf-8", "the stream", longest=11)] == ["x" * 9, "y" * 9]

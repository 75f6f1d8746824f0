"""Text files: decoded with errors that name the place, written whole or not at all."""

from __future__ import annotations

import pytest

from featbert.data.files import codec_name, read_file, writing
from featbert.errors import FeatbertError, InputError, MissingError


def test_bytes_of_another_encoding_name_line_and_byte(tmp_path):
    path = tmp_path / "dev.conll"
    path.write_bytes("EU O\nMünchen O\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"0xfc.*line 2 of .*dev.conll.*--encoding"):
        read_file(path)
    assert read_file(path, "latin-1") == ["EU O", "München O"]
    path.write_text("EU O\n", encoding="utf-16")
    with pytest.raises(InputError, match="utf-16"):
        read_file(path)
    assert read_file(path, "utf-16") == ["EU O"]


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


def test_missing_file_and_folder_for_a_file(tmp_path):
    with pytest.raises(MissingError, match="none"):
        read_file(tmp_path / "none")
    with pytest.raises(InputError, match=str(tmp_path)):
        read_file(tmp_path)


@pytest.mark.parametrize("name", ["utf9", "hex", "rot13", ""])
def test_unknown_encodings(name):
    with pytest.raises(InputError, match=f"'{name}'"):
        codec_name(name)
    assert codec_name("UTF8") == "utf-8"


def test_writing_where_one_cannot(tmp_path):
    with pytest.raises(MissingError, match="no"), writing(tmp_path / "no" / "out"):
        pass
    (tmp_path / "folder").mkdir()
    with pytest.raises(FeatbertError, match="folder"), writing(tmp_path / "folder"):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]

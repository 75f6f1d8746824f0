"""Decoding errors that say where; writing that is whole or not at all."""

from __future__ import annotations

import io

import pytest

from featbert.data.files import codec_name, read_text, writing
from featbert.errors import FeatbertError, InputError, MissingError


def test_invalid_utf8_names_line_position_and_option(tmp_path):
    path = tmp_path / "dev.conll"
    path.write_bytes("EU O\nMünchen O\n".encode("latin-1"))
    with pytest.raises(InputError) as error:
        read_text(path)
    message = str(error.value)
    assert "line 2 of" in message
    assert "byte 0xfc at byte position 6" in message
    assert "--encoding" in message
    assert read_text(path, "latin-1") == "EU O\nMünchen O\n"


def test_utf16_is_recognised_in_the_advice(tmp_path):
    path = tmp_path / "a"
    path.write_text("EU O\n", encoding="utf-16")
    with pytest.raises(InputError, match="begins like utf-16"):
        read_text(path)
    assert read_text(path, "utf-16") == "EU O\n"


def test_one_bom_and_crlf_are_taken_off(tmp_path):
    path = tmp_path / "a"
    path.write_bytes("\ufeff\ufeffEU O\r\n\r\nx\u0085y\u2028z O\r".encode())
    assert read_text(path) == "\ufeffEU O\n\nx\u0085y\u2028z O"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "is empty"),
        (b"a O\nb\0 O\n", "line 2 of .* has a NUL"),
        (b"a O\r\rb O\r", "line 1 of .* carriage return"),
    ],
)
def test_what_is_no_text(tmp_path, data, expected):
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(InputError, match=expected):
        read_text(path)


def test_missing_file_and_folder_for_a_file(tmp_path):
    with pytest.raises(MissingError, match="none does not exist"):
        read_text(tmp_path / "none")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_text(tmp_path)


@pytest.mark.parametrize("name", ["utf9", "hex", "rot13", ""])
def test_unknown_encodings(name):
    with pytest.raises(InputError, match=f"encoding '{name}' is not known"):
        codec_name(name)


def test_codec_names_are_normalised():
    assert codec_name("UTF8") == "utf-8"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")

    def stop():
        with writing(path) as stream:
            stream.write("half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        stop()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_write_appears_whole_with_lf(tmp_path):
    path = tmp_path / "out"
    with writing(str(path)) as stream:
        stream.write("new\n")
        assert not path.exists()
    assert path.read_bytes() == b"new\n"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_writing_where_one_cannot(tmp_path):
    with pytest.raises(MissingError, match="does not exist"), writing(tmp_path / "no" / "out"):
        pass
    (tmp_path / "folder").mkdir()
    with pytest.raises(FeatbertError, match="cannot be written"), writing(tmp_path / "folder"):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_a_stream_is_handed_through():
    stream = io.StringIO()
    with writing(stream) as inner:
        assert inner is stream
    assert not stream.closed

"""Results files as files: their bytes, their damage, and paths into them."""

import json
import lzma
import os
from pathlib import Path

import pytest

from featbert.errors import InputError
from featbert.runs import results
from featbert.runs.results import exists, listed_in, read_text, write_results

CONTENTS = {"b/record.json": {"é": [1, 2.5, None]}, "b/dev.conll": "x O\r\n", "a/x/y.json": {}}


def written(folder: Path, contents=CONTENTS) -> Path:
    file = folder / "some.jsonl.xz"
    write_results(file, contents)
    return file


def test_paths_lead_into_a_file_as_into_a_folder(tmp_path) -> None:
    file = written(tmp_path)
    assert json.loads(read_text(file / "b" / "record.json")) == CONTENTS["b/record.json"]
    assert read_text(file / "b" / "dev.conll") == CONTENTS["b/dev.conll"]
    assert [path.name for path in listed_in(file)] == ["a", "b"]
    assert listed_in(file / "b", "*.json") == [file / "b" / "record.json"]
    assert listed_in(file / "none") == []
    assert exists(file / "a")
    assert not exists(file / "b" / "test.conll")
    with pytest.raises(FileNotFoundError):
        read_text(file / "b")


def test_equal_contents_give_equal_bytes(tmp_path) -> None:
    first = written(tmp_path).read_bytes()
    os.utime(tmp_path / "some.jsonl.xz", (1, 1))
    assert written(tmp_path, dict(reversed(CONTENTS.items()))).read_bytes() == first
    lines = [json.loads(line) for line in lzma.decompress(first).splitlines()]
    assert [line["file"] for line in lines[1:]] == sorted(CONTENTS)


def test_what_is_no_whole_results_file_is_refused_with_the_reason(tmp_path, monkeypatch) -> None:
    sound = written(tmp_path).read_bytes()
    text = lzma.decompress(sound)
    foreign = [b"", b"PK\x03\x04", b"{}", lzma.compress(b"[1]\n"), lzma.compress(b"\xff{")]
    middle = len(sound) // 2
    flipped = sound[:middle] + bytes([sound[middle] ^ 1]) + sound[middle + 1 :]
    edited = lzma.compress(text.replace(b"2.5", b"2.6"))
    other = lzma.compress(text.replace(b"featbert results 1", b"featbert results 9"))
    shorter = lzma.compress(text.rpartition(b'{"file"')[0])
    for n, damaged in enumerate((*foreign, sound[:-5], flipped, edited, other, shorter)):
        file = tmp_path / f"{n}.jsonl.xz"
        file.write_bytes(damaged)
        with pytest.raises(InputError, match=file.name) as refused:
            listed_in(file)
        assert "\n" not in str(refused.value)
        with pytest.raises(InputError, match=file.name):
            write_results(file, {})  # it may be somebody's
        assert file.read_bytes() == damaged
    monkeypatch.setattr(results, "LARGEST", 100)
    with pytest.raises(InputError, match="100"):
        listed_in(written(tmp_path / "b", CONTENTS) / "b")


def test_other_names_are_refused(tmp_path) -> None:
    with pytest.raises(InputError, match=r"results\.json"):
        write_results(tmp_path / "results.json", {})
    assert not [*tmp_path.iterdir()]

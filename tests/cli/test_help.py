"""Every page of help: an example that works, defaults, units, and 80 columns."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from featbert.cli import app
from featbert.config import Adapt
from featbert.runs.run import find_runs
from tests.workspace import Workspace

ROOT = typer.main.get_command(app)


def _walked(command, path=()):
    yield " ".join(path), command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _walked(inner, (*path, name))


COMMANDS = dict(_walked(ROOT))
# Off unless they are given: there is no default to show.
OFF = {
    *("--figures", "--report", "--show", "--published", "--experiment", "--by", "--vary"),
    *("--set", "--map", "--log-with", "--install-completion", "--show-completion"),
}


def page(path: str) -> str:
    done = CliRunner().invoke(app, [*path.split(), "--help"], env={"COLUMNS": "80"})
    assert done.exit_code == 0
    return done.stdout


def example(path: str) -> list[str]:
    (line,) = re.findall(r"^  Example: featbert (.*)$", page(path), re.MULTILINE)
    return shlex.split(line)


@pytest.mark.parametrize("path", COMMANDS)
def test_a_page_fits_80_columns(path: str) -> None:
    text = page(path)
    assert max(map(len, text.split("\n"))) <= 80
    broken = [line for line in text.split("\n") if re.search(r"\w-$", line)]
    assert not broken  # a name that is cut at its hyphen cannot be copied
    assert "..." not in text.partition("Commands:")[2].partition("Example")[0]


@pytest.mark.parametrize("path", COMMANDS)
def test_the_example_parses(path: str) -> None:
    words = example(path)
    if path:
        assert words[: len(path.split())] == path.split()
    command = ROOT
    while getattr(command, "commands", None) and words and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    command.make_context("featbert", words)  # raises where it does not parse


@pytest.mark.parametrize("path", COMMANDS)
def test_defaults_are_shown(path: str) -> None:
    entries = re.split(r"\n  (?=-)", page(path).partition("Options:")[2].partition("\n\n")[0])
    for entry in entries:
        name = entry.split()[0].rstrip(",") if entry.split() else ""
        takes_a_value = re.match(r"\s*--[\w-]+ [<A-Z\[a-z]", entry.split("  ")[0] + " ")
        if takes_a_value and name not in OFF:
            assert re.search(r"\[default:|\[required", entry), entry


def test_defaults_of_adaptation_are_those_it_has() -> None:
    text = " ".join(page("adapt").split())
    for option, default in {
        "epochs": Adapt().epochs,
        "batch-size": Adapt().batch_size,
        "learning-rate": Adapt().learning_rate,
        "share": Adapt().share,
        "mask-share": Adapt().mask_share,
        "random-share": Adapt().random_share,
        "token-budget": Adapt().token_budget,
    }.items():
        entry = text.partition(f" --{option} ")[2].partition(" --")[0]
        assert f"[default: {default}]" in entry, option


def test_the_default_of_an_extractions_batches() -> None:
    from featbert.features.block_states import TOKEN_BUDGET

    told = "[default: {cpu}, on a GPU {cuda}]".format(**TOKEN_BUDGET)
    assert told in " ".join(page("extract").split())


CHEAP = ("compare", "evaluate", "predict", "runs", "runs show", "check", "inspect", "probe")


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

"""Every page of help fits 80 columns and has an example that parses."""

import re
import shlex

import pytest
from typer.testing import CliRunner

from docs.reference_tables import commands
from featbert.cli.main import COMMANDS, app
from featbert.config import PANELS
from tests.workspace import ok

ALL = dict(commands())


def page(path: str, option: str = "--help") -> str:
    return ok(CliRunner().invoke(app, [*path.split(), option], env={"COLUMNS": "80"})).stdout


def options(text: str) -> list[str]:
    return re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE)


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


@pytest.mark.parametrize(
    ("command", "everyday"), [("train", "--layers"), ("finetune", "--tuning"), ("adapt", "--model")]
)
def test_help_shows_under_20_options_the_everyday_ones_first(command: str, everyday: str) -> None:
    short, full = page(command), page(command, "--help-all")
    first = short.split("\n\nOptions:\n")[1].split("\n\n")[0]
    assert everyday in options(first)
    assert len(options(first)) <= 10
    assert len(options(short)) < 20
    assert set(options(short)) < set(options(full))
    assert {*options(full)} == {o for p in ALL[command].params for o in p.opts if o[:2] == "--"} | {
        "--help"
    }
    order = [line for line in full.split("\n") if re.fullmatch(r"[A-Z]\w+:", line)]
    assert order == [f"{p or 'Options'}:" for p in PANELS if f"{p or 'Options'}:" in order]


def test_the_tunings_of_finetune_are_those_that_tune() -> None:
    (shown,) = re.findall(r"--tuning NAME.*?layers\): ([^.]*)\.", page("finetune"), re.DOTALL)
    names = {name.strip() for name in shown.split(",")}
    assert {"full", "lora", "contrastive"} < names
    assert "none" not in names

"""Every page of help fits 80 columns and has an example that parses."""

import re
import shlex

from typer.testing import CliRunner

from docs.reference_tables import commands
from featbert.cli.main import COMMANDS, app
from tests.workspace import ok

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

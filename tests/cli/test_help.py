"""Help fits 80 columns, and its examples parse; a shell is offered the values that exist."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docs.reference_tables import commands
from featbert.cli.main import COMMANDS, app
from featbert.config import PANELS
from featbert.encoders.layers import NAMES
from featbert.experiments.published import published_tables
from featbert.report.figures.registry import FIGURES
from featbert.runs.run import find_runs
from featbert.tasks.base import TASKS, get_task
from tests.processes import HEAVY, python
from tests.workspace import ok

ALL = dict(commands())


def page(path: str, option: str = "--help") -> str:
    return ok(CliRunner().invoke(app, [*path.split(), option], env={"COLUMNS": "80"})).stdout


def options(text: str) -> list[str]:
    return re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE)


def test_pages_fit_80_columns_and_their_examples_parse() -> None:
    assert set(COMMANDS) < set(ALL)
    for path, command in ALL.items():
        text = page(path)
        lines = text.split("\n")
        assert max(map(len, lines)) <= 80
        assert not [line for line in lines if re.search(r"\w-$", line)]  # names are not cut
        (example,) = re.findall(r"^  Example: featbert (.*)$", text, re.MULTILINE)
        words = shlex.split(example)
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
    names = {name for p in ALL[command].params for name in p.opts if name[:2] == "--"}
    assert {*options(full)} == names | {"--help"}
    order = [line for line in full.split("\n") if re.fullmatch(r"[A-Z]\w+:", line)]
    assert order == [f"{p or 'Options'}:" for p in PANELS if f"{p or 'Options'}:" in order]


def test_the_tunings_of_finetune_are_those_that_tune() -> None:
    (shown,) = re.findall(r"--tuning NAME.*?layers\): ([^.]*)\.", page("finetune"), re.DOTALL)
    names = {name.strip() for name in shown.split(",")}
    assert {"full", "lora", "contrastive"} < names
    assert "none" not in names


# As the script of `featbert --show-completion` calls it, in one process for all questions.
ASK = f"""
import io, os, sys, contextlib
from featbert.cli.main import app
for question in sys.argv[1:]:
    words = question.split(" ")
    os.environ |= {{
        "_FEATBERT_COMPLETE": "complete_bash",
        "COMP_WORDS": "\\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }}
    with contextlib.suppress(SystemExit):
        app(prog_name="featbert")
    print("--")
print(*(name for name in {HEAVY} if name in sys.modules))
"""


def offered(*questions: str, cwd: Path) -> tuple[list[list[str]], list[str]]:
    """The answers to what was typed so far, and the heavy libraries that were loaded."""
    *answers, loaded = python(ASK, *questions, cwd=cwd).stdout.split("--\n")
    return [answer.split() for answer in answers], loaded.split()


def test_values_that_exist_here(finished, tmp_path):
    (tmp_path / "cache").symlink_to(finished.cache)
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "mine.toml").touch()
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "trial.experiment.json").touch()
    names = [run.name for run in find_runs(finished.runs)]
    published = [table.id for table in published_tables()]
    facets = (name for task in map(get_task, TASKS) for name in task.facets)
    (store,) = (f"cache/{path.name}" for path in finished.cache.glob("*.h5"))
    asked = {
        "featbert tra": ["train"],
        "featbert train --model all": ["all-MiniLM-L6-v2"],
        "featbert train --schedule ": ["linear", "constant"],
        "featbert train --layers ": list(NAMES),
        "featbert inspect ": [store],
        f"featbert predict --runs-dir {finished.runs} {names[0][:-3]}": [names[0]],
        "featbert compare --runs-dir records --experiment ": ["trial"],
        "featbert compare --published devlin": [n for n in published if n.startswith("devlin")],
        "featbert compare --by ": [*dict.fromkeys(facets)],
        "featbert compare --figure ": list(FIGURES),
        "featbert run ": ["experiments/mine.toml"],
    }
    answers, loaded = offered(*asked, cwd=tmp_path)
    assert dict(zip(asked, answers, strict=True)) == asked
    assert not {"torch", "transformers"} & set(loaded)

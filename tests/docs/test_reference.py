"""The reference is of the program as it is: every option, key, field and dataset, no others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import h5py
import pytest
from typer.testing import CliRunner

from featbert.cli.main import app
from featbert.config import defaults
from featbert.errors import FeatbertError
from featbert.runs.experiment_file import check_experiment
from tests.docs.pages import DOCS
from tests.docs.reference import commands, renewed
from tests.workspace import Workspace

REFERENCE = DOCS / "reference"
PAGES = sorted(REFERENCE.glob("*.md"))


def text(page: str) -> str:
    return (REFERENCE / page).read_text("utf-8")


def section(page: str, heading: str) -> str:
    """What stands under a heading, to the next one of its rank."""
    marks = heading.split(" ")[0]
    found = re.search(
        rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{len(marks)}}} |\Z)", text(page), re.M | re.S
    )
    assert found, heading
    return found[1]


def rows(part: str) -> dict[str, list[str]]:
    """The rows of all tables in a part of a page, by the name in their first cell."""
    lines = re.findall(r"^\| `([^`]+)`(.*)\|$", part, re.M)
    return {name: [cell.strip() for cell in re.split(r"(?<!\\)\|", rest)] for name, rest in lines}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tables_are_those_that_the_code_makes_now(page: Path):
    now = renewed(page.read_text("utf-8"))
    assert now == page.read_text("utf-8"), "python -m tests.docs.reference renews the tables"


def test_every_command_with_every_option_that_its_help_shows():
    assert len(list(commands())) > 12
    for words, _ in commands():
        shown = CliRunner().invoke(app, [*words.split()[1:], "--help"]).output
        options = set(re.findall(r"^  (?:-\w, )?(--[a-z][a-z-]*)", shown, re.M)) - {"--help"}
        told = section("commands.md", f"## {words}")
        assert options, words
        assert {name for name in rows(told) if name.startswith("--")} == options


@pytest.mark.parametrize("heading", ["## features", "## finetune", "## Keys of an arm", "## adapt"])
def test_keys_are_known_and_defaults_are_those_that_are_used(heading: str):
    """Each key is taken with its default, and another one is refused."""
    table = heading.split(" ")[1] if "arm" not in heading else None
    found = rows(section("experiment-files.md", heading))
    assert len(found) > 9
    for key, (_, kind, default, _, *_) in found.items():
        if default == "–" or "table" in kind:
            continue
        value = default.strip("`")
        if "text" not in kind and "`" not in kind:
            value = json.loads(f"[{value}]" if kind.startswith("list") else value)
        elif kind.startswith("list"):
            value = default.replace("`", "").split(", ")
        told = {table: {key: value}} if table else {key: value}
        base = {"finetune": {}} if table == "adapt" or not table else {}
        experiment = check_experiment({"name": "x"} | base | told, where="a test")
        tuning = {"features": "none", "finetune": "full"}.get(table or "")
        if tuning and key in type(defaults(tuning)).model_fields:
            assert experiment.configurations[0].settings(table) == defaults(tuning)
    unknown = {"nothing": 1}
    with pytest.raises(FeatbertError, match="nothing"):
        check_experiment(
            {"finetune": {}} | ({table: unknown} if table else unknown), where="a test"
        )


def test_a_store_has_the_datasets_and_attributes_of_its_page(finished: Workspace):
    told = {*rows(section("store-format.md", "## Datasets"))}
    attributes = {*rows(section("store-format.md", "## Attributes of the file"))}
    (path,) = finished.cache.glob("*.h5")
    with h5py.File(path) as file:
        assert set(file.attrs) == attributes
        assert json.loads(file.attrs["manifest"]).keys() == {
            *rows(section("store-format.md", "## Manifest")),
            "format_version",
        } - {"text", "sentences", "words", "counts"}
        names: set[str] = set()
        file.visititems(
            lambda name, item: names.add(name) if isinstance(item, h5py.Dataset) else None
        )
        kinds = {name.split("/")[-1]: file[name].dtype.name for name in names}
    general = {re.sub(r"^\w+", "<split>", name) for name in names}
    assert {f"/{re.sub(r'layers/[0-9]+', 'layers/00', name)}" for name in general} == told
    for name, cells in rows(section("store-format.md", "## Datasets")).items():
        assert kinds[name.split("/")[-1]] in cells[2], name


def test_a_record_has_the_fields_of_its_page(finished: Workspace):
    path = next(path for path in sorted(finished.runs.glob("*weighted_all*/record.json")))
    record = json.loads(path.read_text("utf-8"))
    page = text("run-records.md")
    whole = section("run-records.md", "## record.json").partition("### ")[0]
    assert record.keys() == rows(whole).keys()
    for name in ("cost", "mix"):
        assert record[name].keys() == rows(section("run-records.md", f"### {name}")).keys()
    signature = rows(section("run-records.md", "### signature")).keys()
    assert signature == record["signature"].keys() | record["signature"]["splits"]["train"].keys()
    scores = rows(section("run-records.md", "### scores")).keys()
    assert scores == record["scores"]["dev"].keys()
    epoch = record["history"][0]
    groups = rows(section("run-records.md", "### history")).keys()
    assert groups == epoch.keys() | epoch["groups"][0].keys()
    files = {p.name for p in path.parent.iterdir()}
    assert files == {
        name for name in re.findall(r"`([\w.]+)`", page) if (path.parent / name).is_file()
    }

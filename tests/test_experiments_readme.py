"""The results in experiments/README.md are those of the records that are kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.results import RESULTS, tables
from featbert.runs.experiment_record import SUFFIX, read_experiment_record
from featbert.runs.run import find_runs

ROOT = Path(__file__).parents[1]
README = (ROOT / "experiments" / "README.md").read_text("utf-8")
KEPT = sorted(p.name.removesuffix(SUFFIX) for p in RESULTS.glob(f"*{SUFFIX}"))
# Headings are of files; their results follow up to the next heading.
SECTIONS = dict(re.findall(r"^### `(.+?)\.toml`\n(.*?)(?=^##|\Z)", README, re.S | re.M))


def test_every_experiment_has_its_results_or_is_said_to_lack_them() -> None:
    shipped = {p.stem for p in (ROOT / "experiments").glob("*.toml")}
    elsewhere = {"quickstart", "layers"}  # the project's README shows these
    (pending,) = re.findall(r"^Not run in full yet: (.+?)\.$", README, re.M) or [""]
    lacking = set(re.findall(r"`(.+?)\.toml`", pending))
    assert set(KEPT) == set(SECTIONS) == shipped - elsewhere - lacking


@pytest.mark.parametrize("experiment", KEPT)
def test_every_table_is_of_the_records(experiment: str) -> None:
    record = read_experiment_record(RESULTS, experiment)
    assert not record.missing
    assert not record.failures
    shown = re.findall(r"(?:^\|.*\n)+", SECTIONS[experiment], re.M)
    assert shown
    known = tables(experiment)
    for table in shown:
        assert table.rstrip("\n") in known
    assert f"featbert run experiments/{experiment}.toml" in SECTIONS[experiment]


def test_the_figures_are_there() -> None:
    shown = re.findall(r"!\[.+?\]\((.+?)\)", README)
    assert shown
    for name in shown:
        assert (ROOT / "experiments" / name).is_file(), name
    drawn = {p.name for p in (RESULTS / "figures").iterdir()}
    assert drawn == {Path(name).name for name in shown}


def test_the_records_hold_no_folder_of_the_machine_they_come_from() -> None:
    found = find_runs(RESULTS)
    assert not found.problems
    for path in RESULTS.rglob("*.json"):
        text = path.read_text("utf-8")
        assert "/home/" not in text
        assert "/tmp/" not in text
        assert "/work/" not in text

"""Tables of the documentation are those of the kept records; figures and pages are there."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docs.generate import PAGES, REPORT, REPORT_RUNS, RESULTS, ROOT, renewed
from featbert import find_runs
from featbert.cli.main import app
from featbert.runs.record import SUFFIX, read_experiment_record
from featbert.runs.results import listed_in, read_text
from tests.docs.pages import DOCS, blocks

FILES = sorted(ROOT.glob(f"*/**/{RESULTS}"))


@pytest.mark.parametrize("page", PAGES)
def test_generating_leaves_no_difference(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert "<!-- table: " in text
    assert renewed(text) == text


def test_the_tutorial_shows_the_sample_as_it_is() -> None:
    (shown,) = (b.text for b in blocks(DOCS / "tutorial.md") if b.language == "text")
    printed = CliRunner().invoke(app, ["check", "sample"]).output
    real = [line.split() for line in printed.splitlines()]
    assert [line for line in shown.splitlines() if line.split() not in real] == []


def test_the_example_report_shows_every_kept_run() -> None:
    shown = (ROOT / REPORT).read_text("utf-8")
    names = [run.name for file in REPORT_RUNS for run in find_runs(ROOT / file)]
    assert len(names) == 21
    assert [name for name in names if name not in shown] == []
    assert shown.count("<svg") > 10


def test_every_shipped_experiment_has_results_or_is_named_as_pending() -> None:
    page = (ROOT / "experiments" / "README.md").read_text("utf-8")
    shipped = {path.parent.name for path in ROOT.glob("experiments/*/experiment.toml")}
    (pending,) = re.findall(r"^Not run in full yet: (.+?)\.$", page, re.M) or [""]
    done = {path.parent.name for path in ROOT.glob(f"experiments/*/{RESULTS}")}
    assert done == shipped - set(re.findall(r"`(.+?)`", pending))
    assert shipped == set(re.findall(r"\]\(([\w-]+)/README\.md\)", page))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.parent.relative_to(ROOT)))
def test_kept_experiments_are_complete_and_of_no_machine(file: Path) -> None:
    runs = find_runs(file)
    assert len(runs)
    assert not runs.problems
    for path in listed_in(file, f"*{SUFFIX}"):
        record = read_experiment_record(file, path.name.removesuffix(SUFFIX))
        assert not record.missing
        assert not record.failures
    text = b"".join(read_text(run.folder / "record.json").encode() for run in runs)
    assert not re.search(rb'"/(home|tmp|work|root)/', text)

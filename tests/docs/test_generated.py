"""Tables of the documentation are those of the kept records; figures and pages are there."""

import re

import pytest
from typer.testing import CliRunner

from docs.generate import PAGES, REPORT, REPORT_RUNS, ROOT, renewed
from featbert import find_runs
from featbert.cli.main import app
from featbert.runs.record import SUFFIX, read_experiment_record
from tests.docs.pages import DOCS, blocks

RESULTS = ROOT / "experiments" / "results"


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
    names = [run.name for kept in REPORT_RUNS for run in (ROOT / kept).glob("sample--*")]
    assert len(names) == 21
    assert [name for name in names if name not in shown] == []
    assert shown.count("<svg") > 10


def test_every_shipped_experiment_has_results_or_is_named_as_pending() -> None:
    page = (ROOT / "experiments" / "README.md").read_text("utf-8")
    shipped = {path.stem for path in (ROOT / "experiments").glob("*.toml")}
    (pending,) = re.findall(r"^Not run in full yet: (.+?)\.$", page, re.M) or [""]
    lacking = set(re.findall(r"`(.+?)\.toml`", pending)) | {"quickstart", "layers"}  # in README.md
    kept = {path.name.removesuffix(SUFFIX) for path in RESULTS.glob(f"*{SUFFIX}")}
    assert kept == shipped - lacking
    assert kept == set(re.findall(r"--experiment ([\w-]+)[; ]", page))


def test_kept_experiments_are_complete_and_of_no_machine() -> None:
    names = [p.name.removesuffix(SUFFIX) for p in RESULTS.glob(f"*{SUFFIX}")]
    assert names
    assert not find_runs(RESULTS).problems
    for name in names:
        record = read_experiment_record(RESULTS, name)
        assert not record.missing
        assert not record.failures
    for folder in (RESULTS, ROOT / "benchmarks", DOCS / "tutorial-runs"):
        for path in folder.rglob("*.json"):
            text = path.read_text("utf-8")
            assert not re.search(r'"/(home|tmp|work|root)/', text), path

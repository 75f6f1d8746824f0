"""Tables of the documentation are those of the kept records; figures and pages are there."""

from __future__ import annotations

import re

import pytest

from docs.generate import PAGES, ROOT, renewed
from featbert import find_runs
from featbert.runs.experiment_record import SUFFIX, read_experiment_record

RESULTS = ROOT / "experiments" / "results"


@pytest.mark.parametrize("page", PAGES)
def test_generating_leaves_no_difference(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert "<!-- table: " in text
    assert renewed(text) == text


@pytest.mark.parametrize("page", PAGES)
def test_links_and_figures_of_these_pages_exist(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    names = re.findall(r'src="([^"]+)"', text) + re.findall(r"\]\((?!http)([^)#]+)", text)
    assert [name for name in names if not (ROOT / page).parent.joinpath(name).exists()] == []


def test_kept_experiments_are_complete_and_of_no_machine() -> None:
    names = [p.name.removesuffix(SUFFIX) for p in RESULTS.glob(f"*{SUFFIX}")]
    assert names
    for name in names:
        record = read_experiment_record(RESULTS, name)
        assert not record.missing
        assert not record.failures
    for folder in (RESULTS, ROOT / "benchmarks"):
        assert not find_runs(RESULTS).problems
        for path in folder.rglob("*.json"):
            text = path.read_text("utf-8")
            assert not re.search(r'"/(home|tmp|work|root)/', text), path

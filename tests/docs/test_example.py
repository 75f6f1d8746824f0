"""The report under docs/ is of the runs that are kept there."""

from __future__ import annotations

from docs.generate import REPORT, REPORT_RUNS, ROOT


def test_the_example_report_shows_every_kept_run() -> None:
    shown = (ROOT / REPORT).read_text("utf-8")
    names = [run.name for kept in REPORT_RUNS for run in (ROOT / kept).glob("sample--*")]
    assert len(names) == 21
    assert [name for name in names if name not in shown] == []
    assert shown.count("<svg") > 10

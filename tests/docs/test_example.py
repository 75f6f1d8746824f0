"""The report under docs/ is what its command writes from the runs that are kept there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from typer.testing import CliRunner

from featbert.cli.main import app
from tests.processes import ROOT

KEPT = (ROOT / "docs" / "tutorial-runs", ROOT / "docs" / "example" / "runs")
# What other versions of matplotlib draw otherwise, and the versions themselves.
DRAWN = re.compile(r"<svg.*?</svg>|<footer>.*?</footer>", re.DOTALL)


def test_the_example_report_is_of_the_kept_runs(tmp_path: Path) -> None:
    runs = [folder for kept in KEPT for folder in sorted(kept.glob("sample--*"))]
    assert len(runs) == 21
    for folder in runs:  # tests are kept beside the runs: not in the repository's folders
        shutil.copytree(folder, tmp_path / "runs" / folder.name)
    names = [folder.name for folder in runs]
    page = tmp_path / "report.html"
    words = ["compare", *names, "--runs-dir", tmp_path / "runs", "--report", page, "--quiet"]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    shown = (ROOT / "docs" / "example" / "report.html").read_text("utf-8")
    assert DRAWN.sub("", page.read_text("utf-8")) == DRAWN.sub("", shown)
    assert shown.count("<svg") == page.read_text("utf-8").count("<svg") > 10

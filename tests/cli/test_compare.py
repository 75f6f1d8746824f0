"""featbert compare: analyses are shown when they are asked for."""

import pytest
from typer.testing import CliRunner

from featbert.cli.main import app
from featbert.runs.record import RECORD_NAME, write_json
from tests.analysis.evaluation_records import transfer_runs
from tests.analysis.test_significance import both
from tests.workspace import ok


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        (("--stats",), "Differences"),
        (("concat-1", "tuned-1", "--stats"), "p (Holm)"),
        (("--by", "type", "--by", "length"), "dev entity F1 by words of the entity"),
        (("--cost",), "cheaper from"),
        (("--scorers",), "winner"),
    ],
)
def test_what_is_asked_for_is_shown(asked, shown, tmp_path):
    for run in both(tmp_path):
        write_json(run.folder / RECORD_NAME, run.record)

    def compared(*words: str) -> str:
        done = ok(CliRunner().invoke(app, ["compare", "--runs-dir", str(tmp_path), *words]))
        return done.stdout

    assert shown not in compared()
    assert not (tmp_path / ".statistics").exists()
    assert shown in compared(*asked)


def test_transfer_that_was_not_asked_for_is_in_the_report_alone(tmp_path):
    f1 = {(a, b): 0.5 for a in ("de", "en") for b in ("de", "en")}
    for run in transfer_runs(tmp_path / "runs", f1, seeds=(1,)):
        write_json(run.folder / RECORD_NAME, run.record)
    page = tmp_path / "page.html"
    words = ["compare", "--runs-dir", str(tmp_path / "runs"), "--report", str(page), "--no-text"]
    assert "zero-shot" not in ok(CliRunner().invoke(app, words)).stdout
    assert "average of zero-shot" in page.read_text("utf-8")

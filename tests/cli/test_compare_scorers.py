"""featbert compare --scorers"""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from featbert.cli.main import app
from featbert.runs.record import write_record
from tests.analysis.records import make_record


def test_scorers_are_set_side_by_side_when_asked_for(tmp_path: Path) -> None:
    for name, layers in (("tuned-1", None), ("concat-1", "concat_last4")):
        (tmp_path / name).mkdir()
        write_record(tmp_path / name, make_record(name, layers=layers))
    words = ["compare", "--runs-dir", str(tmp_path)]
    assert "F1 by scorer" not in CliRunner().invoke(app, words).stdout
    done = CliRunner().invoke(app, [*words, "--scorers"])
    assert done.exit_code == 0, done.output
    assert "F1 by scorer" in done.stdout
    assert "the scorers agree" in done.stdout

from pathlib import Path

import pytest
from typer.testing import CliRunner

from featbert.cli.main import app
from featbert.runs.record import write_record
from tests.analysis.test_significance import both


@pytest.fixture
def runs_dir(tmp_path: Path) -> Path:
    for run in both(tmp_path):
        write_record(run.folder, run.record)
    return tmp_path


def test_stats_are_shown_when_asked_for(runs_dir) -> None:
    def shown(*words: str) -> str:
        done = CliRunner().invoke(app, ["compare", "--runs-dir", str(runs_dir), *words])
        assert done.exit_code == 0, done.output
        return done.stdout

    assert "Differences" not in shown()
    assert not (runs_dir / ".statistics").exists()
    assert "Differences" in shown("--stats")
    assert "p (Holm)" in shown("concat-1", "tuned-1", "--stats")
    assert '"differences": []' in shown("--format", "json")


def test_scores_by_what_an_entity_is_like(runs_dir) -> None:
    words = ["compare", "--runs-dir", str(runs_dir), "--by", "type", "--by", "length"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "dev entity F1 by entity type" in done.stdout
    assert "dev entity F1 by words of the entity" in done.stdout
    wrong = CliRunner().invoke(app, [*words, "--by", "sen"])
    assert wrong.exit_code == 1
    assert "did you mean 'seen'?" in wrong.stderr


def test_costs_are_shown_when_asked_for(runs_dir) -> None:
    words = ["compare", "--runs-dir", str(runs_dir)]
    assert "cheaper from" not in CliRunner().invoke(app, words).stdout
    done = CliRunner().invoke(app, [*words, "--cost"])
    assert done.exit_code == 0, done.output
    assert "cheaper from" in done.stdout


def test_scorers_are_shown_when_asked_for(runs_dir) -> None:
    words = ["compare", "--runs-dir", str(runs_dir)]
    assert "winner" not in CliRunner().invoke(app, words).stdout
    done = CliRunner().invoke(app, [*words, "--scorers"])
    assert done.exit_code == 0, done.output
    assert "winner" in done.stdout

"""featbert compare: analyses are shown when they are asked for."""

from dataclasses import replace

from featbert.runs.record import RECORD_NAME, write_json
from featbert.tasks.base import Scores
from tests.analysis.evaluation_records import transfer_runs
from tests.analysis.records import make_run
from tests.analysis.test_significance import both, make
from tests.workspace import command, error_of, ok

SHOWN = {
    "--stats": "Differences",
    "concat-1 tuned-1 --stats": "interval",
    "--by type --by length": "dev entity F1 by words of the entity",
    "--cost": "cheaper from",
    "--scorers": "winner",
}


def test_what_is_asked_for_is_shown(tmp_path):
    for run in both(tmp_path):
        write_json(run.folder / RECORD_NAME, run.record)
    compare = ("compare", "--runs-dir", tmp_path)
    plain = ok(command(*compare)).stdout
    for words, shown in SHOWN.items():
        assert shown not in plain
        assert shown in ok(command(*compare, *words.split())).stdout, words


def test_without_a_tuned_row_the_best_one_is_the_baseline_and_tasks_have_names_of_their_own(
    tmp_path,
):
    runs = [*both(tmp_path)[3:], *(make(tmp_path, "last", s, 0.2, layers="last") for s in (1, 2))]
    score = Scores({"accuracy": 0.5}, {}, 150, 3201)
    runs.append(make_run("texts", task="classification"))
    runs[-1] = replace(
        runs[-1], folder=tmp_path / "texts", record=replace(runs[-1].record, scores={"dev": score})
    )
    for run in runs:
        run.folder.mkdir(exist_ok=True)
        write_json(run.folder / RECORD_NAME, run.record)
    words = ["compare", "--runs-dir", tmp_path, "--stats", "--by", "type", "--show"]
    shown = ok(command(*words, "precision")).stdout
    assert "baseline: last" in shown
    assert "PER" in shown
    assert "no such" in error_of(command(*words, "no such"))


def test_transfer_that_was_not_asked_for_is_in_the_report_alone(tmp_path):
    f1 = {(a, b): 0.5 for a in ("de", "en") for b in ("de", "en")}
    for run in transfer_runs(tmp_path / "runs", f1, seeds=(1,)):
        write_json(run.folder / RECORD_NAME, run.record)
    page = tmp_path / "page.html"
    words = ("compare", "--runs-dir", tmp_path / "runs", "--no-sentences", "--report", page)
    assert "zero-shot" not in ok(command(*words)).stdout
    assert "average of zero-shot" in page.read_text("utf-8")

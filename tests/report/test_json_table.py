import json
import math
import statistics
from pathlib import Path

from featbert.analysis.compare import compare
from featbert.report.json_table import json_report
from tests.analysis.records import make_run, make_seeds, usual_runs

GOLDEN = Path(__file__).parent / "golden" / "comparison.json"


def test_golden():
    runs = [
        *make_seeds("last", [0.5, 0.75], layers="last", layer_indices=[6]),
        make_run("tuned", layers=None, dev=0.5, test=0.5),
    ]
    assert json_report(compare(runs), notes=["left out"]) == GOLDEN.read_text("utf-8")


def test_numbers_are_unrounded_and_between_0_and_1():
    rows = json.loads(json_report(compare(usual_runs())))["rows"]
    tuned = rows[3]
    assert (tuned["approach"], tuned["layers"], tuned["group"]) == ("finetune", None, 1)
    assert tuned["dev"]["f1"]["mean"] == statistics.fmean([0.66, 0.655, 0.67])
    assert tuned["dev"]["f1"]["values"] == [0.66, 0.655, 0.67]
    assert tuned["difference"] is None
    assert tuned["is_baseline"] is True
    concat = rows[2]
    assert concat["baseline"] == "fine-tuning"
    assert concat["difference"]["dev"] == 0.635 - tuned["dev"]["f1"]["mean"]
    assert concat["runs"] == ["concat-1", "concat-2", "concat-3"]


def test_it_is_json_whatever_the_records_hold():
    settings = {"clip": math.inf, "nested": [math.nan, {"x": 1}]}
    run = make_run("a", settings=settings, signature={"model": "\x1b\ud800é"})
    text = json_report(compare([run]))
    assert text.isascii()
    assert "\x1b" not in text
    report = json.loads(text, parse_constant=lambda name: 1 / 0)
    assert report["rows"][0]["settings"] == {"clip": None, "nested": [None, {"x": 1}]}
    assert report["rows"][0]["model"] == "\x1b\ud800é"
    assert report["rows"][0]["dev"]["f1"]["sd"] is None


def test_a_split_that_was_not_evaluated_is_null():
    (row,) = json.loads(json_report(compare([make_run("a", test=None)])))["rows"]
    assert row["test"] is None
    assert row["dev"]["f1"] == {"mean": 0.6, "sd": None, "n": 1, "values": [0.6]}


def test_without_comparisons():
    assert json.loads(json_report([])) == {
        "comparisons": [],
        "rows": [],
        "reproductions": [],
        "differences": [],
        "costs": [],
        "scorers": [],
        "breakdowns": [],
        "notes": [],
    }

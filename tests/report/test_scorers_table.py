"""Rows under several scorers as tables and in words."""

from __future__ import annotations

import csv
import io
import json

from featbert.analysis.compare import compare, compare_runs
from featbert.analysis.scorers import with_scorers
from featbert.report.rendering import FORMATS, render
from featbert.report.scorers_table import scorer_notes, scorers_table
from tests.analysis.records import make_run, make_seeds, usual_runs
from tests.analysis.test_scorers import FEATURES, TUNED, scored


def disagreeing():
    (comparison,) = compare([scored("tuned", TUNED, layers=None), scored("concat", FEATURES)])
    return with_scorers(comparison)


def cells(table, head: str) -> list[list[str]]:
    """Texts of the columns with that head, from left to right."""
    places = [i for i, column in enumerate(table.columns) if column.head == head]
    return [[row[i].text for row in table.rows] for i in places]


def test_each_scorer_has_its_score_and_its_difference_to_the_baseline() -> None:
    table = scorers_table(disagreeing(), "", 1)
    assert cells(table, "row") == [["concat_last4", "fine-tuning"]]
    assert cells(table, "dev conlleval") == [["57.14", "85.71"]]
    assert cells(table, "dev strict") == [["57.14", "40.00"]]
    assert cells(table, "test word") == [["83.33", "92.31"]]
    differences = [["-28.57", "–"], ["+17.14", "–"], ["-8.97", "–"]]
    assert cells(table, "Δ") == [*differences, *differences]
    assert cells(table, "winner") == [["they disagree", "baseline"]] * 2
    (strict,) = [i for i, c in enumerate(table.columns) if c.head == "dev strict"]
    assert [row[strict].best for row in table.rows] == [True, False]
    assert "baseline: fine-tuning" in table.subtitle


def test_where_scorers_disagree_it_is_said_in_words() -> None:
    notes = scorer_notes(disagreeing())
    assert notes[0] == (
        "dev: concat_last4 is behind fine-tuning by conlleval (-28.57) and word (-8.97), "
        "ahead of it by strict (+17.14)"
    )
    assert notes[2] == (
        "dev: the scorers disagree in the best row: fine-tuning by conlleval and word; "
        "concat_last4 by strict"
    )
    assert [note.partition(":")[0] for note in notes] == ["dev", "test", "dev", "test"]


def test_where_they_agree_one_line_says_so() -> None:
    (comparison,) = compare(usual_runs())
    (note,) = scorer_notes(with_scorers(comparison))
    assert note == (
        "the scorers agree: on dev and test each row's difference to its baseline has the same "
        "sign, and the same row is best by all of them"
    )
    (features,) = compare([make_run("a"), make_run("b", layers="last", dev=0.5, test=None)][:1])
    assert scorer_notes(with_scorers(features)) == []  # nothing to agree about
    table = scorers_table(with_scorers(features), "", 1)
    assert table.notes == ()
    assert not any("winner" in line for line in table.legend)


def test_rows_that_have_no_baseline_may_still_agree_in_the_best() -> None:
    (comparison,) = compare([*make_seeds("a", [0.6]), *make_seeds("b", [0.5], layers="last")])
    (note,) = scorer_notes(with_scorers(comparison))
    assert note == "the scorers agree: on dev and test the same row is best by all of them"


def test_several_baselines_have_a_column() -> None:
    runs = [
        make_run(f"{layers}-{context}", layers=layers, vary=["context"], dev=f1, **signature)
        for context in ("sentence", "document")
        for layers, f1 in ((None, 0.7), ("last", 0.6))
        for signature in ({"signature": {"context": context}},)
    ]
    table = scorers_table(with_scorers(compare_runs(runs)), "", 1)
    assert cells(table, "against") == [
        ["fine-tuning · document", "fine-tuning · sentence", "–", "–"]
    ]
    assert "baseline" not in table.subtitle


def test_every_format_has_it_when_asked_for_and_none_otherwise() -> None:
    (plain,) = compare([scored("tuned", TUNED, layers=None), scored("concat", FEATURES)])
    for name in FORMATS:
        told = {"json": '"figures"', "csv": "dev scorers agree"}.get(name, "F1 by scorer")
        assert told not in render([plain], name)
        assert told in render([disagreeing()], name)
    for name in ("text", "markdown", "latex"):
        text = render([disagreeing()], name)
        assert "conlleval script" in text
        assert "is behind fine" in text


def test_csv_and_json_have_the_numbers() -> None:
    lines = list(csv.DictReader(io.StringIO(render([disagreeing()], "csv"))))
    (line,) = [one for one in lines if one["row"] == "concat_last4" and one["dev scorers agree"]]
    assert line["dev strict F1 (%)"] == "57.14"
    assert line["dev strict F1 difference (points)"] == "+17.14"
    assert line["dev scorers agree"] == "no"
    found = json.loads(render([disagreeing()], "json"))["scorers"]
    assert [(s["group"], s["split"], s["row"]) for s in found[:2]] == [
        (1, "dev", "concat_last4"),
        (1, "dev", "fine-tuning"),
    ]
    assert found[0]["figures"]["conlleval"]["f1"]["mean"] == 4 / 7
    assert found[0]["agree"] is False

import csv
import io

import pytest

from featbert.analysis.compare import compare
from featbert.report.csv_table import csv_report, harmless
from featbert.report.text import text_report
from tests.analysis.records import make_run, usual_runs


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_line_a_row_over_all_comparisons():
    runs = [
        *usual_runs(),
        make_run("x", signature={"context": "document"}),
        make_run("v", vary=["model"], dev=0.5, test=None),
        make_run("w", vary=["model"], test=None, signature={"encoder_weights": "f", "model": "m"}),
    ]
    text = csv_report(compare(runs))
    rows = read(text)
    assert [(r["comparison"], r["row"], r["context"], r["model"]) for r in rows] == [
        ("1", "concat_last4", "document", "all-MiniLM-L6-v2"),
        ("2", "embeddings", "sentence", "all-MiniLM-L6-v2"),
        ("2", "last", "sentence", "all-MiniLM-L6-v2"),
        ("2", "concat_last4", "sentence", "all-MiniLM-L6-v2"),
        ("2", "fine-tuning", "sentence", "all-MiniLM-L6-v2"),
        ("3", "concat_last4", "sentence", "all-MiniLM-L6-v2"),
        ("3", "concat_last4", "sentence", "m"),
    ]
    assert all(None not in row and None not in row.values() for row in rows)
    assert [row["test F1 (%)"] for row in rows[4:]] == ["61.17", "", ""]


def test_numbers_are_those_of_the_text_without_units():
    comparisons = compare(usual_runs())
    row = read(csv_report(comparisons))[2]
    assert row["dev F1 (%)"] == "63.50"
    assert row["dev F1 sd (%)"] == "0.50"
    assert row["test F1 difference (points)"] == "-2.67"
    assert row["training (s)"] == "41.0"
    assert row["store (bytes)"] == "99000000"
    assert row["test strict F1 (%)"] == "57.50"
    assert "63.50 ± 0.50" in text_report(comparisons)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd", "'+cmd"),
        ("-x", "'-x"),
        ("@x", "'@x"),
        ("-2.67", "-2.67"),
        ("+1", "+1"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_text_is_no_formula(value, written):
    assert harmless(value) == written


def test_names_go_through_it():
    run = make_run("a", layers="=HYPERLINK(1)", signature={"corpus": '@a,"b"\n'})
    (row,) = read(csv_report(compare([run])))
    assert row["row"] == "'=HYPERLINK(1)"
    assert row["corpus"] == '\'@a,"b"\\x0a'


def test_without_comparisons_it_is_empty():
    assert csv_report([]) == ""

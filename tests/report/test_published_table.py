"""Published figures beside reproduced ones, in every format."""

import csv
import dataclasses
import io
import json
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from featbert.analysis.compare import compare
from featbert.analysis.reproduction import reproduce
from featbert.report.rendering import render
from featbert.report.table import tables
from featbert.runs.published import published_table
from tests.analysis.records import make_run, make_seeds, usual_runs

GOLDEN = Path(__file__).parent / "golden"
FILES = {
    "text": "published.txt",
    "markdown": "published.md",
    "latex": "published.tex",
    "csv": "published.csv",
    "json": "published.json",
}


def with_table(comparisons, name="devlin2019-table7", **changes):
    table = published_table(name).model_copy(update=changes)
    return [
        dataclasses.replace(c, reproductions=(reproduce(c, table, language="en"),))
        for c in comparisons
    ]


def comparisons():
    """The usual rows, one that Table 7 does not have, and Table 7."""
    return with_table(compare([*usual_runs(), *make_seeds("sum", [0.5, 0.6], layers="sum_last4")]))


def trained_on_dev():
    return with_table(
        compare(
            [
                make_run("a", layers=None),
                make_run("b", dev=None, trained_on=["train", "dev"], layers="last"),
                make_run("c", layers="last", settings={"epochs": 3}, seed=2),
                make_run("d", layers="last", settings={"epochs": 3}, seed=3, dev=0.62),
            ]
        )
    )


@pytest.mark.parametrize("format", FILES)
def test_golden(format):
    text = render(comparisons(), format, notes=["left out, not finished: r9"])
    assert text == (GOLDEN / FILES[format]).read_text("utf-8")


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 119, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut(width):
    text = render(comparisons(), width=width, show=["word_f1"])
    assert max(map(len, text.split("\n"))) <= width
    assert "…" not in text
    if width >= 80:
        for shown in ("fine-tuning (bert-large-cased)", "61.17 ± 0.76", "-46.0", "68.17 ± 0.76"):
            assert shown in text


def test_a_narrow_terminal_gets_dev_and_test_below_each_other():
    heads = {
        width: [
            re.findall("published dev|published test", line)
            for line in render(comparisons(), width=width).split("\n")
            if line.startswith(" row ")
        ]
        for width in (119, 120)
    }
    # A line of the whole table takes 119 columns and one to the left of it.
    assert heads == {
        119: [["published dev"], ["published test"]],
        120: [["published dev", "published test"]],
    }


def test_numbers_have_the_digits_of_their_table():
    text = render(with_table(compare([make_run("a", layers=None)])))
    assert re.search(r"bert-base-cased\) +96\.4 +60\.00 +-36\.4 +92\.4 +55\.00 +-37\.4\n", text)
    run = make_run("a", layers=None, settings={"epochs": 3, "warmup": 0.1}, dev=0.97)
    text = render(with_table(compare([run]), "baumann2019-table4"))
    assert re.search(r" 96\.31 ± 0\.13 +97\.00 +\+0\.69\n", text)
    assert "published test" not in text
    (row, *_) = csv_rows(with_table(compare([run]), "baumann2019-table4"))[1:]
    assert row["published dev F1 (%)"] == "96.31"
    assert row["published dev F1 sd (%)"] == "0.13"
    assert row["dev F1 less published (points)"] == "+0.69"


def csv_rows(comparisons):
    return list(csv.DictReader(io.StringIO(render(comparisons, "csv"))))


def test_csv_has_the_published_rows_below_those_of_their_comparison():
    other = make_run("x", signature={"context": "document"})
    rows = csv_rows(with_table(compare([*usual_runs(), other])))
    assert [(r["comparison"], bool(r["published in"])) for r in rows] == [
        ("1", False),
        *[("1", True)] * 8,
        *[("2", False)] * 4,
        *[("2", True)] * 8,
    ]
    assert all(None not in row and None not in row.values() for row in rows)
    concat = next(r for r in rows if r["comparison"] == "2" and r["published dev F1 (%)"] == "96.1")
    wanted = {
        "row": "concat_last4",
        "reproduced by": "concat_last4",
        "published in": "devlin2019-table7",
        "seeds": "3",
        "dev F1 (%)": "63.50",
        "dev F1 sd (%)": "0.50",
        "dev F1 less published (points)": "-32.6",
        "test F1 (%)": "58.50",
        "published test F1 (%)": "",
        "training (s)": "",
    }
    assert {name: concat[name] for name in wanted} == wanted
    # Without published tables nothing of it is there.
    assert "published" not in render(compare(usual_runs()), "csv")


def test_json_has_every_number_unrounded():
    (reproduction,) = json.loads(render(comparisons(), "json"))["reproductions"]
    assert reproduction["group"] == 1
    assert reproduction["not_published"] == ["sum_last4"]
    base = reproduction["rows"][1]
    assert base["published"] == {"approach": "finetune", "model": "bert-base-cased"}
    assert base["runs"] == ["tuned-1", "tuned-2", "tuned-3"]
    mean = (0.66 + 0.655 + 0.67) / 3
    assert base["dev"]["published"] == 0.964
    assert base["dev"]["reproduced"]["values"] == [0.66, 0.655, 0.67]
    assert base["dev"]["difference"] == pytest.approx(mean - 0.964, abs=1e-15)
    large = reproduction["rows"][0]
    assert (large["reproduced_by"], large["dev"]["reproduced"]) == (None, None)
    run = make_run("a", layers=None, settings={"epochs": 3, "warmup": 0.1})
    report = json.loads(render(with_table(compare([run]), "baumann2019-table4"), "json"))
    row = report["reproductions"][0]["rows"][0]
    assert row["published"] == {
        "model": "bert-base-cased",
        "epochs": 3,
        "language": "en",
        "warmup": True,
    }
    assert row["dev"]["published_sd"] == 0.0013
    assert row["test"] is None


def test_figures_from_memory_say_so_in_every_format_for_people():
    drawn = with_table(compare(usual_runs()), verified="memory", note="And more.")
    for format in ("text", "markdown", "latex"):
        text = render(drawn, format)
        assert "figures from: memory" in text
        assert "note: the published figures are from memory: check them before" in text
        assert "note: And more." in text
    assert json.loads(render(drawn, "json"))["reproductions"][0]["verified"] == "memory"


def test_a_split_that_was_trained_on_says_so():
    drawn = trained_on_dev()
    comparison, published = tables(drawn)
    heads = [column.head for column in comparison.columns]
    by_row = {row[0].text: row[heads.index("dev F1")] for row in comparison.rows}
    assert {name: cell.text for name, cell in by_row.items()} == {
        "last (epochs=15, learning_rate=0.001)": "trained on",
        "last (epochs=3, learning_rate=unset)": "61.00 ± 1.41",
        "fine-tuning": "60.00",
    }
    assert by_row["last (epochs=15, learning_rate=0.001)"].data == ("", "")
    heads = [column.head for column in published.columns]
    cells = [row[heads.index("reproduced dev")].text for row in published.rows]
    assert cells == ["–", "60.00", "–", "–", "61.00 ± 1.41", "trained on", "–", "–", "–"]
    text = render(drawn)
    # Flush with the numbers' right edge.
    above, line = (next(x for x in text.split("\n") if m in x) for m in ("61.00 ±", "trained on "))
    assert line.index("trained on") + len("trained on") == above.index("1.41") + len("1.41")
    assert "trained on: the runs learned from that split, so it has no score" in text
    rows = {row["label"]: row for row in json.loads(render(drawn, "json"))["rows"]}
    assert rows["last (epochs=15, learning_rate=0.001)"]["trained_on"] == ["train", "dev"]
    assert rows["last (epochs=15, learning_rate=0.001)"]["dev"] is None


def test_a_reader_of_markdown_sees_two_tables():
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(render(comparisons(), "markdown"))
    assert sum(token.type == "table_open" for token in tokens) == 2
    inline = [token.content for token in tokens if token.type == "inline"]
    assert (
        "Published: BERT, Table 7: CoNLL-2003 English, fine-tuning and feature-based approach"
        in (inline)
    )


def test_several_tables_follow_their_comparison():
    (comparison,) = compare([make_run("a", layers=None)])
    found = [
        reproduce(comparison, published_table(name), language="en")
        for name in ("devlin2019-table7", "baumann2019-table2")
    ]
    both = dataclasses.replace(comparison, reproductions=tuple(found))
    (other,) = compare([make_run("x", signature={"context": "document"})])
    assert [(t.number, t.title.partition(":")[0]) for t in tables([both, other])] == [
        (1, "1 of 2 · wikigold · all-MiniLM-L6-v2 · context"),
        (1, "1 of 2 · Published"),
        (1, "1 of 2 · Published"),
        (2, "2 of 2 · wikigold · all-MiniLM-L6-v2 · context"),
    ]

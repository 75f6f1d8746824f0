import pytest
from markdown_it import MarkdownIt

from featbert.analysis.compare import compare
from featbert.report.markdown import escape, markdown_report
from tests.analysis.records import make_run, usual_runs

HOSTILE = r"a|b*c*_d_ <b>e</b> `f` [g](h) ~~i~~ &amp; j_k \| #"


def cells(markdown):
    """The table's cells as a Markdown reader sees them, with the tags of inline markup."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown)
    rows, row = [], []
    for i, token in enumerate(tokens):
        if token.type in ("td_open", "th_open"):
            row.append([child.content or child.tag for child in tokens[i + 1].children])
        elif token.type == "tr_close":
            rows.append(row)
            row = []
    return rows


def test_a_reader_sees_the_table():
    rows = cells(markdown_report(compare(usual_runs())))
    assert ["".join(cell) for cell in rows[0][:4]] == ["approach", "seeds", "dev F1", "test F1"]
    assert [row[0] for row in rows[1:]] == [
        ["embeddings"],
        ["last"],
        ["concat_last4"],
        ["fine-tuning"],
    ]
    assert [t for t in rows[4][2] if t] == ["strong", "66.17 ± 0.76", "strong"]
    assert rows[3][2] == ["63.50 ± 0.50"]


def test_the_source_is_readable():
    text = markdown_report(compare(usual_runs()))
    assert "| concat_last4 | 3 | 63.50 ± 0.50 | 58.50 ± 0.50 | -2.67 | -2.67 | 13.4 M |" in text
    assert text.startswith("### wikigold · all-MiniLM-L6-v2 · context: sentence\n\n")


@pytest.mark.parametrize("name", [HOSTILE, "_x", "x_", "__x__", "*", "a\\"])
def test_names_are_text_and_end_no_cell(name):
    (row,) = cells(markdown_report(compare([make_run("a", layers=name)])))[1:]
    assert "".join(row[0]) == name
    assert len(row) == 10
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parseInline(escape(name))[0].children
    assert {token.type for token in tokens} <= {"text", "text_special"}


def test_notes_and_no_runs():
    assert markdown_report([], notes=["a|b"]) == "No finished runs to compare.\n\n- a\\|b\n"

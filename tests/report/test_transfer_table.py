import csv
import io
import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from featbert.analysis.transfer import transfer_matrices
from featbert.analysis.transfer_published import published_matrices
from featbert.errors import InputError
from featbert.report.rendering import FORMATS
from featbert.report.transfer_export import transfer_csv, transfer_json
from featbert.report.transfer_rendering import render_transfer
from featbert.report.transfer_table import transfer_tables
from tests.analysis.evaluation_records import evaluate, language_run, transfer_runs
from tests.processes import loaded

F1 = {
    ("en", "en"): 0.90,
    ("en", "nl"): 0.70,
    ("nl", "en"): 0.55,
    ("nl", "nl"): 0.85,
}


@pytest.fixture
def tuned(tmp_path):
    """Fine-tuned on English and Dutch, three seeds; English on Chinese too, with one of them."""
    runs = transfer_runs(tmp_path / "tuned", F1, layers=None)
    evaluate(runs[0], "zh", 0.25, mapping={"MISC": "O"})
    return transfer_matrices(runs)


@pytest.fixture
def both(tmp_path, tuned):
    """Features beside it."""
    return [*transfer_matrices(transfer_runs(tmp_path / "features", F1, spread=0.02)), *tuned]


def shown(table):
    columns, rows = table.select()
    heads = [column.head for column in columns]
    return [dict(zip(heads, [cell.text for cell in row], strict=True)) for row in rows]


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_matrix_is_a_table(tuned):
    (table,) = transfer_tables(tuned)
    assert shown(table) == [
        {
            "trained on": "en",
            "seeds": "3",
            "en": "90.00 ± 1.00",
            "nl": "70.00 ± 1.00",
            "zh": "25.00",
            # Two cells that do not share their seeds: a mean of means, without spread.
            "average of zero-shot": "47.50",
        },
        {
            "trained on": "nl",
            "seeds": "3",
            "en": "55.00 ± 1.00",
            "nl": "85.00 ± 1.00",
            "zh": "–",
            "average of zero-shot": "55.00 ± 1.00",
        },
    ]
    assert table.title == "fine-tuning · all-MiniLM-L6-v2 · context: sentence"
    assert table.subtitle.startswith("transfer to the test split of each language · scorer: ")
    assert table.legend[1] == (
        "columns, evaluated on: en wikiann-en (1,000 sentences, 8,000 words); "
        "nl wikiann-nl (1,000 sentences, 8,000 words); zh wikiann-zh (1,000 sentences, 8,000 words)"
    )
    assert table.notes[0] == (
        "note: not evaluated: nl on zh; an average is over the cells that there are"
    )
    assert "note: scored for some seeds alone: en on zh: 1" in table.notes


def test_casing_is_told_where_it_is_not_the_texts_own(tmp_path):
    runs = transfer_runs(tmp_path, F1, seeds=(1,), signature={"casing": "truecased"})
    (table,) = transfer_tables(transfer_matrices(runs))
    assert table.title.endswith("context: sentence · casing: truecased")
    assert table.legend[0].endswith(", of one seed")


def test_published_tables_stand_beside_in_the_same_order(both):
    tables = transfer_tables(both, published_matrices())
    assert [table.title.partition(" · ")[0] for table in tables] == [
        "1 of 2",
        "2 of 2",
        "published",
        "Δ",
        "published",
        "Δ",
    ]
    pires = shown(tables[2])
    assert [row["trained on"] for row in pires] == ["en", "nl", "de", "es"]
    assert list(pires[0]) == ["trained on", "en", "nl", "de", "es"]
    assert pires[1] == {
        "trained on": "nl",
        "en": "65.46",
        "nl": "89.86",
        "de": "65.68",
        "es": "72.10",
    }
    assert tables[2].subtitle == (
        "Pires, Schlinger, Garrette 2019, ACL · CoNLL-2002/2003 · verified: transcription"
    )
    wu = {row["trained on"]: row for row in shown(tables[4])}
    assert wu["zero-shot from en"]["en"] == "–"
    assert wu["zero-shot from en (Xie et al. 2018)"]["nl"] == "71.25"
    # As many digits as in print.
    assert wu["layers to 9 frozen"]["de"] == "59.7"


def test_differences_are_shown_where_both_have_the_pair(both):
    tables = transfer_tables(both, published_matrices())
    assert shown(tables[3]) == [
        {"trained on": "en", "en": "-0.70", "nl": "-7.36"},
        {"trained on": "nl", "en": "-10.46", "nl": "-4.86"},
    ]
    assert shown(tables[5]) == [
        {"trained on": "in-language", "en": "-1.97", "nl": "-5.94"},
        {"trained on": "zero-shot from en", "en": "–", "nl": "-7.57"},
    ]
    assert tables[3].title == "Δ · fine-tuning here, less Pires, Schlinger, Garrette 2019, ACL"
    assert tables[3].subtitle == (
        "here: all-MiniLM-L6-v2 on wikiann-en, wikiann-nl · "
        "published: multilingual BERT on CoNLL-2002/2003"
    )


def test_features_alone_have_no_difference(both):
    titles = [table.title for table in transfer_tables(both[:1], published_matrices())]
    assert not any(title.startswith("Δ") for title in titles)
    assert len(titles) == 3


def test_text(both):
    text = render_transfer(
        both, published=published_matrices(), notes=["left out, not finished: r9"]
    )
    lines = text.split("\n")
    heads = [line.split() for line in lines if line.startswith(" trained on")]
    assert heads[0] == ["trained", "on", "seeds", "en", "nl", "average", "of", "zero-shot"]
    rows = [line.split() for line in lines if line.startswith(" nl ")]
    assert rows[0] == ["nl", "3", "55.00", "±", "2.00", "85.00", "±", "2.00", "55.00", "±", "2.00"]
    assert text.endswith("\n\n left out, not finished: r9\n")
    assert text.index("1 of 2 · concat_last4") < text.index("2 of 2 · fine-tuning")


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut(both, width):
    text = render_transfer(both, published=published_matrices(), width=width)
    assert max(map(len, text.split("\n"))) <= width
    assert "…" not in text
    if width >= 80:
        for told in ("55.00 ±", "Xie et al. 2018", "-10.46"):
            assert told in text


def test_color_adds_styles_and_nothing_else(both):
    colored = render_transfer(both, color=True)
    assert "\x1b[1m" in colored
    # A line that wraps ends in a styled space.
    plain = re.sub(r" +$", "", re.sub(r"\x1b\[[0-9;]*m", "", colored), flags=re.MULTILINE)
    assert plain == render_transfer(both)


def test_markdown(both):
    text = render_transfer(both, "markdown", published=published_matrices(), notes=["a|b"])
    assert "| nl | 3 | 55.00 ± 1.00 | 85.00 ± 1.00 | – | 55.00 ± 1.00 |" in text
    assert "| en | -0.70 | -7.36 |" in text
    assert text.endswith("\n- a\\|b\n")
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1


def test_latex(both):
    text = render_transfer(both, "latex", published=published_matrices(), notes=["100%"])
    tables = text.count(r"\begin{table}")
    assert tables == text.count(r"\toprule") == text.count(r"\bottomrule") == 6
    assert (
        r"nl & 3 & 55.00 $\pm$ 1.00 & 85.00 $\pm$ 1.00 & – & 55.00 $\pm$ 1.00 \\".replace("–", "--")
        in text
    )
    assert r"en & $-0.70$ & $-7.36$ \\" in text
    assert text.endswith("\n% 100%\n")


def test_csv_has_a_line_a_cell(both):
    rows = read(render_transfer(both, "csv", published=published_matrices()))
    assert not any(None in row or None in row.values() for row in rows)
    tuned = [row for row in rows if row["matrix"] == "2"]
    found = {(row["trained on"], row["evaluated on"]): row for row in tuned}
    assert len(found) == len(tuned) == 2 * (3 + 1)
    assert found["en", "nl"] == {
        "matrix": "2",
        "row": "fine-tuning",
        "model": "all-MiniLM-L6-v2",
        "context": "sentence",
        "split": "test",
        "trained on": "en",
        "evaluated on": "nl",
        "corpus": "wikiann-nl",
        "own data": "no",
        "F1 (%)": "70.00",
        "F1 sd (%)": "1.00",
        "seeds": "3",
        "types mapped": "",
        "verified": "",
        "difference to pires2019-table1 (points)": "-7.36",
        "difference to wu-dredze2019-table4 (points)": "-7.57",
    }
    assert found["en", "zh"]["types mapped"] == "MISC taken out"
    assert found["nl", "zh"]["F1 (%)"] == ""
    assert found["nl", "zh"]["seeds"] == "0"
    assert found["nl", "nl"]["own data"] == "yes"
    assert found["nl", "average of zero-shot"]["F1 (%)"] == "55.00"
    pires = {
        (row["trained on"], row["evaluated on"]): row
        for row in rows
        if row["matrix"] == "pires2019-table1"
    }
    assert len(pires) == 16
    assert pires["es", "de"]["F1 (%)"] == "59.40"
    assert {row["verified"] for row in pires.values()} == {"transcription"}
    assert (
        len([row for row in rows if row["matrix"] == "wu-dredze2019-table4"]) == 4 + 3 + 3 + 5 * 4
    )


def test_json_holds_every_number_and_the_run_it_is_from(both):
    report = json.loads(transfer_json(both, published_matrices(), notes=["left out"]))
    assert report["notes"] == ["left out"]
    assert [matrix["label"] for matrix in report["matrices"]] == ["concat_last4", "fine-tuning"]
    for matrix, told in zip(both, report["matrices"], strict=True):
        for row, told_row in zip(matrix.rows, told["rows"], strict=True):
            assert told_row["trained_on"] == row.label
            for column, cell in zip(matrix.columns, row.cells, strict=True):
                told_cell = told_row["cells"][column.label]
                if cell is None:
                    assert told_cell is None
                    continue
                assert told_cell["f1"]["values"] == list(cell.f1.values)
                assert told_cell["runs"] == list(cell.runs)
                assert len(told_cell["seeds"]) == len(told_cell["runs"]) == told_cell["f1"]["n"]
            assert told_row["average_of_zero_shot"] == row.average
        assert told["notes"] == list(matrix.notes)
    assert report["matrices"][0]["rows"][0]["cells"]["nl"]["f1"]["mean"] == pytest.approx(0.7)
    assert {
        (d["published"], d["trained_on"], d["evaluated_on"]): round(d["difference"], 6)
        for d in report["differences"]
    } == {
        ("pires2019-table1", "en", "en"): -0.007,
        ("pires2019-table1", "en", "nl"): -0.0736,
        ("pires2019-table1", "nl", "en"): -0.1046,
        ("pires2019-table1", "nl", "nl"): -0.0486,
        ("wu-dredze2019-table4", "en", "en"): -0.0197,
        ("wu-dredze2019-table4", "nl", "nl"): -0.0594,
        ("wu-dredze2019-table4", "en", "nl"): -0.0757,
    }
    assert {d["matrix"] for d in report["differences"]} == {2}
    assert report["published"][0]["rows"][0]["f1"]["de"] == pytest.approx(0.6974)


def test_without_transfer_it_says_so():
    assert render_transfer([], notes=["left out"]) == (
        " no transfer to show: no run was evaluated on other data than its own\n left out\n"
    )
    assert "no transfer to show" in render_transfer([], "markdown")
    assert render_transfer([], "latex").endswith("than its own\n")
    assert render_transfer([], "csv") == transfer_csv([]) == ""
    assert json.loads(render_transfer([], "json"))["matrices"] == []


def test_an_unknown_format_is_refused():
    with pytest.raises(InputError, match=r"json expected, found 'jsn'.*did you mean 'json'"):
        render_transfer([], "jsn")


@settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.text(st.characters(exclude_characters="\0")), st.text(st.characters()))
def test_no_name_breaks_a_format(tmp_path, name, corpus):
    signature = {"corpus": corpus, "language": None, "model": name, "scorer": name}
    run = language_run(tmp_path, "en", "r", layers=name, signature=signature)
    for path in run.folder.glob("evaluations/*"):
        path.unlink()
    evaluate(run, "de", corpus=f"{corpus}2", language=name or None, scorer=name)
    matrices = transfer_matrices([run])
    for format in FORMATS:
        text = render_transfer(matrices, format, published=published_matrices(), width=60)
        assert "\x1b" not in text
        assert text.endswith("\n")
        text.encode("utf-8")
    report = json.loads(render_transfer(matrices, "json"))
    assert report["matrices"][0]["model"] == name
    assert len(read(render_transfer(matrices, "csv"))) == 3


def test_transfer_loads_nothing_heavy():
    code = (
        "from featbert.analysis.transfer import transfer_matrices; "
        "from featbert.report.transfer_rendering import render_transfer; "
        "import featbert.analysis.curves, featbert.report.figures; "
        "[render_transfer([], f) for f in ('text', 'json', 'csv', 'latex', 'markdown')]"
    )
    assert loaded(code) == ()

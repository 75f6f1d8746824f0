import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.analysis.compare import compare
from featbert.analysis.reproduction import reproduce
from featbert.errors import InputError
from featbert.report.csv_table import csv_report
from featbert.report.json_table import json_report
from featbert.report.latex import latex_report
from featbert.report.markdown import markdown_report
from featbert.report.rendering import FORMATS, render
from featbert.report.text import text_report
from featbert.runs.published import PublishedRow, PublishedTable
from tests.analysis.records import make_run, usual_runs


def test_each_format_is_its_report():
    comparisons = compare(usual_runs())
    notes = ["left out"]
    assert {name: render(comparisons, name, notes=notes) for name in FORMATS} == {
        "text": text_report(comparisons, notes=notes),
        "markdown": markdown_report(comparisons, notes=notes),
        "latex": latex_report(comparisons, notes=notes),
        "csv": csv_report(comparisons),
        "json": json_report(comparisons, notes=notes),
    }
    assert render(comparisons, width=90, color=True) == text_report(
        comparisons, width=90, color=True
    )
    assert all(render(comparisons, name).endswith("\n") for name in FORMATS)


def test_scores_are_shown_in_the_tables_for_people_and_are_elsewhere_anyway():
    comparisons = compare(usual_runs())
    for name in ("text", "markdown", "latex"):
        plain = render(comparisons, name)
        shown = render(comparisons, name, show=["word_f1"])
        assert ("test word F1" in plain, "test word F1" in shown) == (False, True)
    for name in ("csv", "json"):
        assert render(comparisons, name, show=["word_f1"]) == render(comparisons, name)
    for name in FORMATS:
        with pytest.raises(InputError, match="did you mean 'recall'"):
            render(comparisons, name, show=["recal"])


@given(st.text(st.characters()), st.text(st.characters()), st.booleans())
def test_no_name_breaks_a_format(name, setting, varied):
    vary = ["model", "context"] if varied else []
    runs = [
        make_run("a", layers=name, vary=vary, settings={name: setting}),
        make_run(
            "b",
            layers=name,
            vary=vary,
            settings={name: setting + "x"},
            signature={"corpus": name, "model": setting, "encoder_weights": "f", "scorer": name},
        ),
    ]
    table = PublishedTable(
        id=name,
        title=name,
        corpus=name,
        verified=setting,
        source=name,
        protocol=name,
        note=setting,
        rows=(PublishedRow(approach="features", model=name, source=setting, dev=1.5),),
    )
    comparisons = [
        dataclasses.replace(c, reproductions=(reproduce(c, table),)) for c in compare(runs)
    ]
    for format in FORMATS:
        text = render(comparisons, format, width=60, notes=[name])
        assert "\x1b" not in text
        text.encode("utf-8")
    report = json.loads(render(comparisons, "json"))
    assert {row["layers"] for row in report["rows"]} == {name}


def test_an_unknown_format_is_refused():
    with pytest.raises(InputError, match=r"json expected, found 'jsn'.*did you mean 'json'"):
        render([], "jsn")

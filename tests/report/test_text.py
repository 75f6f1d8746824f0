import re
from pathlib import Path

import pytest

from featbert.analysis.compare import compare
from featbert.report.text import text_report
from tests.analysis.records import make_run, usual_runs

GOLDEN = Path(__file__).parent / "golden" / "comparison.txt"


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def runs():
    """The usual runs and one of a row whose settings differ, without spread."""
    settings = {"epochs": 4, "learning_rate": 0.0001}
    return [*usual_runs(), make_run("fast", layers=None, dev=0.6, settings=settings)]


def test_golden():
    text = text_report(compare(runs()), notes=["left out, not finished: r9"])
    assert text == GOLDEN.read_text("utf-8")


def test_color_adds_styles_and_nothing_else():
    colored = text_report(compare(runs()), color=True)
    assert plain(colored) == text_report(compare(runs()))
    assert re.findall(r"\x1b\[1m([\d.]+ ± [\d.]+)\x1b\[0m", colored) == [
        "66.17 ± 0.76",
        "61.17 ± 0.76",
    ]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut(width):
    text = text_report(compare(runs()), width=width)
    assert max(map(len, text.split("\n"))) <= width
    assert "…" not in text
    if width >= 80:
        for shown in ("63.50 ± 0.50", "-21.17", "baseline", "99.0 MB", "1m 36s", "embeddings"):
            assert shown in text


def test_a_narrow_terminal_gets_quality_and_cost_below_each_other():
    lines = text_report(compare(runs()), width=90).split("\n")
    heads = [line.split() for line in lines if line.startswith(" approach")]
    assert heads == [
        ["approach", "seeds", "dev", "F1", "test", "F1", "Δ", "dev", "Δ", "test"],
        ["approach", "trained", "training", "extraction", "words/s", "store", "memory"],
    ]


def test_without_a_width_no_line_wraps():
    model = "/very/long/path" * 30
    text = text_report(compare([make_run("a", signature={"model": model})]))
    assert f"wikigold · {model} · context: sentence\n" in text


def test_names_control_no_terminal_and_are_no_markup():
    model = "[red]x[/red]\x1b[2J:smile:\u202e"
    text = text_report(compare([make_run("a", signature={"model": model})]), notes=["a\x1bb"])
    assert r"[red]x[/red]\x1b[2J:smile:\u202e" in text
    assert r"a\x1bb" in text
    assert "\x1b" not in text


def test_the_environment_changes_nothing(monkeypatch):
    expected = text_report(compare(runs()), width=100, color=True)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE", "TERM"):
        monkeypatch.setenv(name, "1")
        assert text_report(compare(runs()), width=100, color=True) == expected
    monkeypatch.setenv("TERM", "dumb")
    assert text_report(compare(runs()), width=100, color=True) == expected


def test_without_runs_it_says_so():
    assert text_report([], notes=["left out"]) == "no finished runs to compare\nleft out\n"

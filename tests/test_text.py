"""Numbers and names as text that can be read, on one line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.text import json_text, printable
from featbert.units import duration, parameters, percent, points, rate, size, visible


@given(st.text())
def test_printable_text_has_no_control_characters(text):
    assert printable(text).isprintable()
    assert printable(text, keep="\n").split("\n") == [printable(t) for t in text.split("\n")]
    shown = json_text({"text": text})
    assert json.loads(shown) == {"text": text}
    assert shown.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("function", "number", "text"),
    [
        (percent, 0.63118, "63.12"),
        (points, 0.00521, "+0.52"),
        (points, -0.013, "-1.30"),
        (points, -0.00001, "0.00"),
        (duration, 0.0, "<0.1 s"),
        (duration, 9.96, "10 s"),
        (duration, 59.6, "1m 00s"),
        (duration, 3599.7, "1h 00m"),
        (duration, 86_399, "1d 00h"),
        (duration, 273_600, "3d 04h"),
        (size, 12_345_678, "12.3 MB"),
        (size, 999_960, "1.0 MB"),
        (size, 99_960, "100 kB"),
        (parameters, 768_400, "768 k"),
        (parameters, 13_400_000, "13.4 M"),
        (rate, 12_437.2, "12,400"),
        (rate, 3.4159, "3.42"),
    ],
)
def test_numbers(function, number, text):
    assert function(number) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("concat_last4 ± Ünï 日本", "concat_last4 ± Ünï 日本"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("a\nb\tc\x9b", r"a\nb\tc\x9b"),
        ("10\xa0000\u3000", "10\xa0000\u3000"),
        ("\u202eabc\u2028\ud800\U000e0001", r"\u202eabc\u2028\ud800\U000e0001"),
    ],
)
def test_control_characters_become_visible(text, shown):
    assert visible(text) == shown


@given(st.text(st.characters()))
def test_what_is_visible_stays_and_is_one_line(text):
    shown = visible(text)
    assert visible(shown) == shown
    assert len(shown.splitlines()) <= 1
    shown.encode("utf-8")

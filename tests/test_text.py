from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from featbert.text import counted, in_percent, json_text, natural, printable, unusual


def test_counts_shares_and_names() -> None:
    assert [counted(n, "run") for n in (0, 1, 1234)] == ["0 runs", "1 run", "1,234 runs"]
    assert counted(2, "entity", "entities") == "2 entities"
    assert [in_percent(share) for share in (1.0, 0.125, 0.07, 1e-3)] == [
        *("100%", "12.5%", "7%", "0.1%")
    ]
    assert unusual({"repaired_tags": 3, "windowed": 0, "unknown_words": 1}) == (
        "3 repaired tags, 1 unknown word"
    )
    assert sorted(["layer:10", "layer:7", "layer:1"], key=natural) == [
        *("layer:1", "layer:7", "layer:10")
    ]


@given(st.text())
def test_printable_text_has_no_control_characters(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(text, keep="\n").split("\n") == [printable(t) for t in text.split("\n")]
    shown = json_text({"text": text})
    assert json.loads(shown) == {"text": text}
    assert shown.replace("\n", "").isprintable()

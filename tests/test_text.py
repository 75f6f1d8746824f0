import json

from hypothesis import given
from hypothesis import strategies as st

from featbert.text import json_text, printable


@given(st.text())
def test_printable_text_has_no_control_characters(text):
    assert printable(text).isprintable()
    assert printable(text, keep="\n").split("\n") == [printable(t) for t in text.split("\n")]
    shown = json_text({"text": text})
    assert json.loads(shown) == {"text": text}
    assert shown.replace("\n", "").isprintable()

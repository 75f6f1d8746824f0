"""Random scores, for records that are written and read again."""

from hypothesis import strategies as st

from featbert.tasks.base import Scores

numbers = st.floats(allow_nan=False, allow_infinity=False)
_keys = st.text(max_size=8)
_values = st.dictionaries(_keys, numbers, max_size=3)
scores = st.builds(
    Scores,
    values=_values,
    by_class=st.dictionaries(_keys, _values, max_size=2),
    examples=st.integers(0, 10**6),
    words=st.integers(0, 10**6),
)

"""Random scores, for records that are written and read again."""

from hypothesis import strategies as st

from featbert.evaluation.scores import PRF, SplitScores

numbers = st.floats(allow_nan=False, allow_infinity=False)
figures = st.builds(PRF, precision=numbers, recall=numbers, f1=numbers)
scores = st.builds(
    SplitScores,
    entity=figures,
    by_type=st.dictionaries(st.text(), figures, max_size=2),
    strict=figures,
    word=figures,
    word_accuracy=numbers,
)

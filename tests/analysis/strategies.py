"""Random scores, for records that are written and read again."""

from hypothesis import strategies as st

from featbert.tasks.scorer import prf
from featbert.tasks.scores import PRF, SplitScores

numbers = st.floats(allow_nan=False, allow_infinity=False)
_counts = st.tuples(*[st.integers(0, 10**6)] * 3)


def _prf(counts: tuple[int, int, int]) -> PRF:
    """Of entities that are right, wrong and missed."""
    right, wrong, missed = counts
    return prf(right, right + wrong, right + missed)


@st.composite
def _scores(draw) -> SplitScores:
    by_type = draw(st.dictionaries(st.text(), _counts, max_size=2))
    total = [sum(column) for column in zip((0, 0, 0), *by_type.values(), strict=True)]
    sentences = draw(st.integers(0, 10**6))
    return SplitScores(
        entity=_prf((total[0], total[1], total[2])),
        by_type={name: _prf(counts) for name, counts in by_type.items()},
        strict=_prf(draw(_counts)),
        word=_prf(draw(_counts)),
        word_accuracy=draw(st.floats(0, 1)),
        sentences=sentences,
        words=sentences + draw(st.integers(0, 10**6)),
    )


scores = _scores()

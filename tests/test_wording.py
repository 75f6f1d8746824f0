import pytest

from featbert.wording import counted


@pytest.mark.parametrize(
    ("n", "words", "expected"),
    [
        (0, ["run"], "0 runs"),
        (1, ["run"], "1 run"),
        (1234, ["run"], "1,234 runs"),
        (1, ["grid search", "grid searches"], "1 grid search"),
        (2, ["grid search", "grid searches"], "2 grid searches"),
    ],
)
def test_a_count_and_its_noun_agree(n: int, words: list[str], expected: str) -> None:
    assert counted(n, *words) == expected

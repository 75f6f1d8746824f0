"""The nearest right word."""

from __future__ import annotations

import pytest

from featbert.errors import nearest

RUNS = [f"sample--mini--{row}--seed{n}--0a1b2c3{n}" for row in ("concat", "last") for n in (1, 2)]


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("epocs", ["epochs", "dropout"], "epochs"),
        ("Epochs", ["epochs"], "epochs"),
        ("conc", ["concat_last4", "concat", "sum_last4"], "concat"),
        ("sample--mini--last--seed1", RUNS, RUNS[2]),
        ("lst", RUNS, RUNS[2]),
        ("xyz", RUNS, None),
        ("la", ["last"], "last"),
        ("", ["last"], None),
    ],
)
def test_the_nearest_is_what_was_meant(name, known, meant) -> None:
    assert nearest(name, known) == ("" if meant is None else f" (did you mean {meant!r}?)")

"""Texts with answers, for tests of tasks."""

from collections.abc import Sequence

from featbert.data.corpus import Sentence, Split


def split_of(rows: Sequence[Sequence[str] | None], documents: Sequence[int] = ()) -> Split:
    """A text with these answers by sentence, None for an example without one."""
    numbers = documents or [0] * len(rows)
    sentences = (
        Sentence(("w",) * max(1, len(row or ())), None if row is None else tuple(row), n)
        for row, n in zip(rows, numbers, strict=True)
    )
    return Split("dev", tuple(sentences))

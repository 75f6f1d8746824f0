"""Splits one after the other."""

from __future__ import annotations

from featbert.data.corpus import Sentence, Split, joined


def test_a_document_never_goes_on_in_the_next_split():
    def split(name: str, documents: list[int | None]) -> Split:
        return Split(
            name, tuple(Sentence((f"{name}{i}",), ("O",), d) for i, d in enumerate(documents))
        )

    both = joined([split("a", [0, 0, 2]), split("b", [0, 1, 1])])
    assert both.name == "a+b"
    assert [s.words for s in both] == [("a0",), ("a1",), ("a2",), ("b0",), ("b1",), ("b2",)]
    assert [s.document for s in both] == [0, 0, 2, 3, 4, 4]
    plain = joined([split("a", [None]), split("b", [None])])
    assert [s.document for s in plain] == [None, None]


def test_one_split_is_itself():
    one = Split("train", (Sentence(("x",)),))
    assert joined([one]) is one

"""A sentence: words, one tag a word, and the document that it stands in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words of one sentence, exactly as the file has them.

    Attributes:
        words: (T,) never empty, in the file's order.
        tags: (T,) in BIO whatever the file used, or None where the text is untagged.
        document: number of the document within its split, from 0, or None where the file
            marks no documents. Numbers rise along a split and never come back.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None
    document: int | None = None

    def __post_init__(self) -> None:
        if not self.words:
            raise ValueError("a sentence has at least one word")
        if self.tags is not None and len(self.tags) != len(self.words):
            raise ValueError(f"{len(self.words)} words but {len(self.tags)} tags")

    def __len__(self) -> int:
        return len(self.words)

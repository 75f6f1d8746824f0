"""A corpus: named splits of tagged sentences, with the fingerprints that identify it.

Features depend on the text alone and scores on text and tags, so there are two fingerprints,
each by split: SHA-256 over words and document boundaries, and SHA-256 over tags.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

SPLITS = ("train", "dev", "test")


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


@dataclass(frozen=True)
class ReadingNotes:
    """What reading a file found: nothing unusual is silent (promise 1).

    Attributes:
        scheme: tag scheme of the file: "BIO", "IOB1", "IO", "BIOES" or "none" (untagged).
        encoding: text encoding the file was read with.
        repaired_tags: ill-formed tags that were repaired the conlleval way.
        comment_lines: comment lines passed over.
        empty_rows: rows of a dataset without a word that were passed over.
    """

    scheme: str = "BIO"
    encoding: str = "utf-8"
    repaired_tags: int = 0
    comment_lines: int = 0
    empty_rows: int = 0


@dataclass(frozen=True)
class Split:
    """The sentences of one split, in the file's order."""

    name: str
    sentences: tuple[Sentence, ...] = field(repr=False)
    path: Path | None = None
    notes: ReadingNotes = field(default_factory=ReadingNotes)

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    @property
    def n_words(self) -> int:
        """N, words of the split."""
        return sum(map(len, self.sentences))

    @property
    def has_documents(self) -> bool:
        """Whether the file marks documents."""
        return any(s.document is not None for s in self.sentences)

    @property
    def is_tagged(self) -> bool:
        """Whether every sentence has tags."""
        return all(s.tags is not None for s in self.sentences)

    @property
    def tags(self) -> list[tuple[str, ...]]:
        """BIO tags by sentence; raises ValueError for an untagged split."""
        rows = [s.tags for s in self.sentences if s.tags is not None]
        if len(rows) != len(self.sentences):
            raise ValueError(f"split {self.name!r} has sentences without tags")
        return rows

    @cached_property
    def text_fingerprint(self) -> str:
        """SHA-256 (hex) over words, sentence and document boundaries; tags play no part."""
        return _fingerprint((s.words, s.document) for s in self.sentences)

    @cached_property
    def tag_fingerprint(self) -> str:
        """SHA-256 (hex) over the BIO tags, sentence by sentence."""
        return _fingerprint((s.tags or (), None) for s in self.sentences)


def joined(splits: Sequence[Split]) -> Split:
    """Splits one after the other as one; a document of one never goes on in the next."""
    if len(splits) == 1:
        return splits[0]
    sentences: list[Sentence] = []
    first = 0  # number that the next split's documents begin from
    for split in splits:
        numbers = [s.document for s in split if s.document is not None]
        sentences += [
            s if s.document is None else dataclasses.replace(s, document=first + s.document)
            for s in split
        ]
        first += max(numbers, default=-1) + 1
    return Split("+".join(split.name for split in splits), tuple(sentences))


@dataclass(frozen=True)
class Corpus:
    """Splits train, dev, test (those that exist, in this order) of one text.

    Attributes:
        name: short name, used in file names and tables.
        splits: by split name.
        language: BCP 47 code where known, such as "en".
        source: what `load_corpus` was given, so that it can be read again: "sample", a path or
            a dataset ("hf:NAME").
    """

    name: str
    splits: Mapping[str, Split]
    language: str | None = None
    source: str = ""

    def __getitem__(self, split: str) -> Split:
        return self.splits[split]

    def __contains__(self, split: object) -> bool:
        return split in self.splits

    @property
    def tag_set(self) -> tuple[str, ...]:
        """BIO tags of all splits: "O" first, then sorted by type, B- before I-."""
        seen = {t for split in self.splits.values() for s in split for t in s.tags or ()}
        return tuple(sorted(seen, key=lambda t: (t != "O", t[2:], t[:1])))

    @property
    def entity_types(self) -> tuple[str, ...]:
        """Entity types of all splits, sorted: ("LOC", "MISC", "ORG", "PER")."""
        return tuple(sorted({t[2:] for t in self.tag_set if t != "O"}))


def _fingerprint(rows: Iterator[tuple[Sequence[str], int | None]]) -> str:
    """Hash of rows of strings, each length-prefixed so that no two texts share one encoding."""
    digest = hashlib.sha256()
    for items, document in rows:
        digest.update(f"{len(items)}:{'' if document is None else document};".encode())
        for item in items:
            data = item.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()

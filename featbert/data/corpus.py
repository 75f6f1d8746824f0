"""Sentence, Split, Corpus: what every reader returns and everything else works on.

Features depend on the text alone and scores on text and answers, so a split has two fingerprints:
SHA-256 over words with the boundaries of texts and documents, and SHA-256 over the answers.
"""

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

SPLITS = ("train", "dev", "test")
# Splits that scores are of.
EVALUATED = ("dev", "test")
# The tag of a word without an answer; an example without one has no tags.
UNLABELLED = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words of one sentence, exactly as the file has them.

    Attributes:
        words: (T,) in the file's order; never empty, but of a blank line that is predicted.
        tags: (T,) BIO tags whatever scheme the file uses, or any labels where the corpus was read
            for labels, `UNLABELLED` for a word without one; the answer of an example, or of one of
            its choices, or several answers (`spans`); None without an answer.
        document: number of the document within its split, in the order in which they begin, from
            0, or None where the file marks no documents; of a choice, the number of its example,
            of a question, that of its passage.
        pair: words of the first text, where the sequence is a pair of texts: `words` are those of
            the first and then those of the second.
        texts: the raw text or texts, where words were cut from them.
        places: (T,) first and end character of each word in its text.
        touches: (T,) whether nothing is between a word and the one before it in its text: the
            encoder reads words that touch as one string. Empty where words are read each alone.
        id: name of an example in its file, if it has one.
        lines: (T,) lines of the words, from 1, or (1,) where the sentence is one line or row; empty
            when the whole corpus is read.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None
    document: int | None = None
    pair: int | None = None
    texts: tuple[str, ...] = ()
    places: tuple[tuple[int, int], ...] = ()
    touches: tuple[bool, ...] = ()
    id: str | None = None
    lines: Sequence[int] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.words and not self.texts:
            raise ValueError("a sentence has at least one word")
        if not self.texts and self.tags is not None and len(self.tags) not in (1, len(self.words)):
            raise ValueError(f"{len(self.words)} words but {len(self.tags)} tags")
        if self.pair is not None and not 0 < self.pair < len(self.words):
            raise ValueError(f"{len(self.words)} words but the first text has {self.pair}")

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class ReadingNotes:
    """What is unusual in a file: counted, so that it can be shown.

    Attributes:
        scheme: tag scheme of the file: "BIO", "IOB1", "IO", "BIOES", or "none" for a text
            without tags or with labels of another kind.
        encoding: text encoding of the file, by Python's name.
        dialects: what is read otherwise than as it stands, such as "tags: PER-B as B-PER".
        repaired_tags: ill-formed tags, repaired as conlleval reads them.
        comment_lines: comment lines skipped.
        header_lines: lines with the names of columns, skipped.
        non_words: lines of CoNLL-U that are not words (ranges such as 8-9, empty nodes such as
            8.1), skipped.
        spaces: lines of column files whose word is a space, skipped.
        empty_rows: rows of a dataset without a word, skipped.
        empty_texts: examples with a text without any word, which is read as one empty word.
        unread_columns: names of columns that seem to be texts of examples, but are not read.
        repeated_ids: examples with the id of an earlier one.
        moved_answers: answers and entities that are not at their offsets, but where their text
            occurs once.
        misplaced_answers: those whose text is not once anywhere, left out.
        partial_words: other answers, and entities, that begin or end inside a word.
        missing: how often each value was taken as no answer, where others have one.
    """

    scheme: str = "BIO"
    encoding: str = "utf-8"
    dialects: tuple[str, ...] = ()
    repaired_tags: int = 0
    comment_lines: int = 0
    header_lines: int = 0
    non_words: int = 0
    spaces: int = 0
    empty_rows: int = 0
    empty_texts: int = 0
    unread_columns: tuple[str, ...] = ()
    repeated_ids: int = 0
    moved_answers: int = 0
    misplaced_answers: int = 0
    partial_words: int = 0
    missing: dict[str, int] = field(default_factory=dict)


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

    @cached_property
    def n_words(self) -> int:
        return sum(map(len, self.sentences))

    @cached_property
    def has_documents(self) -> bool:
        return any(s.document is not None for s in self.sentences)

    @cached_property
    def has_pairs(self) -> bool:
        return any(s.pair is not None for s in self.sentences)

    @cached_property
    def is_tagged(self) -> bool:
        """Whether something in it has an answer; what has none is neither learned nor scored."""
        return not self.sentences or any(s.tags is not None for s in self.sentences)

    @cached_property
    def labels(self) -> frozenset[str]:
        """The tags that occur."""
        return frozenset(tag for s in self for tag in s.tags or ())

    @property
    def tags(self) -> list[tuple[str, ...]]:
        """Tags by sentence, () for one without an answer; ValueError if all are."""
        if not self.is_tagged:
            raise ValueError(f"split {self.name!r} has sentences without tags")
        return [s.tags or () for s in self.sentences]

    @cached_property
    def text_fingerprint(self) -> str:
        """SHA-256 (hex) over words, which of them touch, and boundaries of texts and documents.

        Tags do not count.
        """
        rows = ((s.words, s.document if s.pair is None else s.pair, s.touches) for s in self)
        return _fingerprint(rows)

    @cached_property
    def tag_fingerprint(self) -> str:
        """SHA-256 (hex) over the tags, sentence by sentence, and which pairs belong together."""
        rows = ((s.tags or (), None if s.pair is None else s.document, ()) for s in self)
        return _fingerprint(rows)


def join_splits(splits: Sequence[Split]) -> Split:
    """One split of several, in order; documents of different splits stay different."""
    if len(splits) == 1:
        return splits[0]
    sentences: list[Sentence] = []
    first = 0  # number of the next split's first document
    for split in splits:
        numbers = [s.document for s in split if s.document is not None]
        sentences += [
            s if s.document is None else dataclasses.replace(s, document=first + s.document)
            for s in split
        ]
        first += max(numbers, default=-1) + 1
    return Split("+".join(split.name for split in splits), tuple(sentences))


def of_shards(shards: Sequence[Split]) -> Split:
    """One split of the files that hold it, in order, with their notes added up."""
    if len(shards) == 1:
        return shards[0]
    whole = join_splits(shards)
    if whole.has_documents:  # sentences before the first mark of a file are a document, too
        numbered = [[dataclasses.replace(s, document=s.document or 0) for s in x] for x in shards]
        pairs = zip(shards, numbered, strict=True)
        whole = join_splits([dataclasses.replace(shard, sentences=tuple(s)) for shard, s in pairs])
    first, path = shards[0].notes, shards[0].path
    notes: dict[str, list[Any]] = {
        f.name: [getattr(shard.notes, f.name) for shard in shards] for f in fields(first)
    }
    whole_notes: dict[str, Any] = {
        name: sum(ns) for name, ns in notes.items() if isinstance(ns[0], int)
    }
    for name in ("dialects", "unread_columns"):
        whole_notes[name] = tuple(dict.fromkeys(one for some in notes[name] for one in some))
    whole_notes["missing"] = dict(sum(map(Counter, notes["missing"]), Counter[str]()))
    return dataclasses.replace(
        whole,
        name=shards[0].name,
        path=path and path.parent,
        notes=dataclasses.replace(first, **whole_notes),
    )


@dataclass(frozen=True)
class Corpus:
    """Splits train, dev, test (those that exist, in this order) of one text.

    Attributes:
        name: short name, used in file names and tables.
        splits: by split name.
        language: BCP 47 code where known, such as "en".
        source: the argument of `load_corpus` that reads it again: "sample", an absolute path or
            a dataset ("hf:NAME").
        targets: what the tags are: "entities" (BIO), "labels" (any label a word), "classes" or
            "scores" (one an example), "choices" (of several, one is right), "spans" (answers in a
            passage), or None.
        reading: further arguments of `load_corpus`, other than its defaults, that read it again.
    """

    name: str
    splits: Mapping[str, Split]
    language: str | None = None
    source: str = ""
    targets: str | None = "entities"
    reading: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        size = [f"{s.name} {len(s):,} sentences, {s.n_words:,} words" for s in self.splits.values()]
        return f"<Corpus: {' · '.join([self.name, *size])}>"

    def __getitem__(self, split: str) -> Split:
        return self.splits[split]

    def __contains__(self, split: object) -> bool:
        return split in self.splits

    @property
    def has_pairs(self) -> bool:
        return any(split.has_pairs for split in self.splits.values())

    @property
    def has_texts(self) -> bool:
        """Whether words were cut from texts, and are read as these."""
        return any(s.touches for split in self.splits.values() for s in split)


def _fingerprint(rows: Iterator[tuple[Sequence[str], int | None, Sequence[bool]]]) -> str:
    """Hash of rows of strings, each with its length, so that no two texts are encoded alike."""
    digest = hashlib.sha256()
    for items, document, touches in rows:
        joined = "".join("-+"[one] for one in touches)
        digest.update(f"{len(items)}:{'' if document is None else document};{joined}".encode())
        for item in items:
            data = item.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()

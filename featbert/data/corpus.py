"""Sentence, Split, Corpus: the result of every reader.

Features depend only on the text, scores on text and answers. So a split has two fingerprints:
SHA-256 over words with the boundaries of texts and documents, and SHA-256 over the answers.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from featbert.errors import InputError
from featbert.text import counted, excerpt, named_sentence

SPLITS = ("train", "dev", "test")
# Splits with scores.
EVALUATED = ("dev", "test")
# Codes of languages, ISO 639-1.
LANGUAGES = re.compile(
    "a[abefkmnrsvyz]|b[aegimnors]|c[aehorsuvy]|d[aevz]|e[elnostu]|f[afijory]|g[adlnuv]|"
    "h[aeiortuyz]|i[adegikostu]|j[av]|k[agijklmnorsuvwy]|l[abginotuv]|m[ghiklnrsty]|"
    "n[abdeglnorvy]|o[cjmrs]|p[ailst]|qu|r[mnouw]|s[acdegiklmnoqrstuvw]|t[aeghiklnorstwy]|"
    "u[gkrz]|v[eio]|w[ao]|xh|y[io]|z[ahu]"
)
# The tag of a word without an answer. An example without an answer has no tags.
UNLABELLED = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words of one sentence, exactly as the file has them.

    `words` and `tags` may be given as a list or array of strings. InputError for other values, and
    if their number does not fit.

    Attributes:
        words: (T,) in the file's order. Empty only for a blank line that is predicted.
        tags: (T,) BIO tags in every scheme of the file, or labels, with `UNLABELLED` for a word
            without one. (1,) the answer of an example or of one of its choices. Several answers
            (`spans`), or None without an answer.
        document: number of the document within its split, in the order in which they begin, from
            0, or None if the file marks no documents. For a choice it is the number of its example,
            for a question the number of its passage.
        pair: number of words in the first text of a pair. `words` has the first text's words and
            then the second text's. None for a single text.
        texts: the raw text or texts that words were cut from.
        places: (T,) first and end character of each word in its text.
        touches: (T,) whether a word directly follows the word before it in its text. The encoder
            reads words that touch as one string. Empty if words are read one by one.
        id: name of an example in its file, if it has one.
        lines: (T,) lines of the words, from 1, or (1,) if the sentence is one line or row. Empty
            in a corpus.
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
        if type(self.words) is not tuple:
            object.__setattr__(self, "words", _strings(self.words, "words"))
        if self.tags is not None and type(self.tags) is not tuple:
            object.__setattr__(self, "tags", _strings(self.tags, "tags"))
        if not self.words and not self.texts:
            raise InputError("a sentence has at least one word")
        if not self.texts and self.tags is not None and len(self.tags) not in (1, len(self.words)):
            raise InputError(f"{len(self.words)} words but {len(self.tags)} tags")
        if self.pair is not None and not 0 < self.pair < len(self.words):
            raise InputError(f"{len(self.words)} words but the first text has {self.pair}")

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class ReadingNotes:
    """Counts of the unusual in a file.

    Attributes:
        scheme: tag scheme of the file: "BIO", "IOB1", "IO", "BIOES", or "none" without tags of
            entities.
        encoding: text encoding of the file, by Python's name.
        dialects: deviations from the plainest form, such as "tags: PER-B as B-PER".
        repaired_tags: ill-formed tags, repaired as conlleval reads them.
        comment_lines: comment lines skipped.
        header_lines: lines with the names of columns, skipped.
        non_words: ranges (8-9) and empty nodes (8.1) of CoNLL-U, skipped.
        spaces: lines of column files with a space as word, skipped.
        empty_rows: rows of a dataset without a word, skipped.
        empty_texts: examples with a text without any word, which is read as one empty word.
        text_columns: names of the columns of a text or a pair of texts.
        answer_columns: name of the column of answers, or of the column of each class.
        other_answers: names of columns that are not read, but have usual names of answers.
        part_columns: names of columns that seem to divide the rows into train, dev and test.
        unread_columns: names of columns that are not read, but seem to be texts of examples.
        repeated_ids: examples with the id of an earlier one.
        moved_answers: answers and entities read at the only place of their text, which is not at
            their offsets.
        misplaced_answers: answers and entities without such a place, left out.
        partial_words: answers and entities that begin or end inside a word.
        doubtful_offsets: entities that are whole words only if offsets have another unit.
        overlapping_entities: entities left out, as they share words with others (`nested`).
        discontinuous_entities: entities in several parts, read with the words between.
        cut_entities: entities that go beyond a line end, read to the end of their first line.
        other_annotations: relations, events, attributes and notes of brat, not read.
        missing: by value that is no answer, how often it occurs.
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
    text_columns: tuple[str, ...] = ()
    answer_columns: tuple[str, ...] = ()
    other_answers: tuple[str, ...] = ()
    part_columns: tuple[str, ...] = ()
    unread_columns: tuple[str, ...] = ()
    repeated_ids: int = 0
    moved_answers: int = 0
    misplaced_answers: int = 0
    partial_words: int = 0
    doubtful_offsets: int = 0
    overlapping_entities: int = 0
    discontinuous_entities: int = 0
    cut_entities: int = 0
    other_annotations: int = 0
    missing: dict[str, int] = field(default_factory=dict)

    @property
    def named_columns(self) -> dict[str, str]:
        """Columns of texts and answers by option, unless a table has no header."""
        names = dict(zip(("text", "pair"), self.text_columns, strict=False))
        if len(self.answer_columns) == 1:
            names["target"] = self.answer_columns[0]
        return {option: name for option, name in names.items() if not name.isdecimal()}


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
        """Whether it has an answer. Sentences without one are neither learned nor scored."""
        return not self.sentences or any(s.tags is not None for s in self.sentences)

    @cached_property
    def labels(self) -> frozenset[str]:
        """The tags that occur."""
        return frozenset(tag for s in self for tag in s.tags or ())

    @property
    def tags(self) -> list[tuple[str, ...]]:
        """Tags by sentence, () for one without an answer. ValueError if all are."""
        if not self.is_tagged:
            raise ValueError(f"split {self.name!r} has sentences without tags")
        return [s.tags or () for s in self.sentences]

    @cached_property
    def text_fingerprint(self) -> str:
        """SHA-256 (hex) over words, `touches`, and boundaries of texts and documents, not tags."""
        rows = ((s.words, s.document if s.pair is None else s.pair, s.touches) for s in self)
        return _fingerprint(rows)

    @cached_property
    def tag_fingerprint(self) -> str:
        """SHA-256 (hex) over the tags, sentence by sentence, and which pairs belong together."""
        rows = ((s.tags or (), None if s.pair is None else s.document, ()) for s in self)
        return _fingerprint(rows)


def join_splits(splits: Sequence[Split]) -> Split:
    """One split with the sentences of several, in order. Their documents stay different."""
    if len(splits) == 1:
        return splits[0]
    sentences: list[Sentence] = []
    first = 0  # number of the next split's first document
    for split in splits:
        numbers = [s.document for s in split if s.document is not None]
        sentences += [
            s if s.document is None else replace(s, document=first + s.document) for s in split
        ]
        first += max(numbers, default=-1) + 1
    return Split("+".join(split.name for split in splits), tuple(sentences))


def of_shards(shards: Sequence[Split]) -> Split:
    """One split of the files that hold it, in order, with the sum of their notes."""
    first = shards[0]
    if len(shards) == 1:
        return first
    if any(shard.has_documents for shard in shards):  # text before a file's first mark is one, too
        shards = [
            replace(x, sentences=tuple(replace(s, document=s.document or 0) for s in x))
            for x in shards
        ]
    notes: dict[str, Any] = {}
    for name, value in vars(first.notes).items():
        values = [getattr(shard.notes, name) for shard in shards]
        if isinstance(value, int):
            notes[name] = sum(values)
        elif isinstance(value, tuple):
            notes[name] = tuple(dict.fromkeys(chain(*values)))
        elif isinstance(value, dict):
            notes[name] = dict(sum(map(Counter, values), Counter[str]()))
    return replace(
        join_splits(shards),
        name=first.name,
        path=first.path and first.path.parent,
        notes=replace(first.notes, **notes),
    )


@dataclass(frozen=True)
class Corpus:
    """Splits train, dev, test (those that exist, in this order) of one text.

    InputError for a split without sentences, under another name, or with tags that do not fit
    `targets`.

    Attributes:
        name: short name, used in file names and tables.
        splits: by split name.
        language: BCP 47 code if known, such as "en".
        source: the path of `load_corpus` that reads it again: "sample", an absolute path or a
            dataset ("hf:NAME").
        targets: the kind of tags: "entities" (BIO), "labels" (any label per word), "classes" or
            "scores" (one per example), "choices" (of several, one is right), "spans" (answers in a
            passage), or None.
        reading: the `ReadingOptions` that read it again, without defaults.
    """

    name: str
    splits: Mapping[str, Split]
    language: str | None = None
    source: str = ""
    targets: str | None = "entities"
    reading: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        is_mapping = isinstance(self.splits, Mapping)
        if not is_mapping or not all(isinstance(s, Split) for s in self.splits.values()):
            raise InputError(
                "the splits of a corpus are no dict of Splits; give {'train': Split('train', ...)}"
            )
        for name, split in self.splits.items():
            if split.name != name:
                raise InputError(f"split {split.name!r} has the key {name!r}; name both alike")
            if not split.sentences:
                raise InputError(f"split {name!r} of {self.name} has no sentences; leave it out")
            _check_tags(split, self.targets)

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
        """Whether words were cut from texts, which the encoder reads instead."""
        return any(s.touches for split in self.splits.values() for s in split)


def _strings(values: Any, noun: str) -> tuple[str, ...]:
    """A list or array of strings as a tuple. InputError for anything else, such as one string."""
    is_several = isinstance(values, Iterable) and not isinstance(values, str)
    strings = tuple(values) if is_several else (None,)
    if not all(isinstance(string, str) for string in strings):
        shown = excerpt(repr(values))[1:-1]
        raise InputError(f"{shown} is no tuple of {noun}; give a string for each")
    return tuple(map(str, strings))  # NumPy has its own strings


def _check_tags(split: Split, targets: str | None) -> None:
    """Raises InputError for a sentence with more or fewer tags than `targets` have."""
    of_words = targets in ("entities", "labels")
    if not split.is_tagged or not (of_words or targets in ("classes", "sets", "scores")):
        return
    for number, s in enumerate(split):
        n_tags, expected = len(s.tags or ()), len(s.words) if of_words else 1
        if n_tags == expected or (s.tags is None and not of_words):
            continue
        advice = f"{targets} have one for each text"
        if of_words:
            advice = f"give one for each word, {UNLABELLED!r} for a word without a tag"
            advice += ", or the corpus targets='classes'" if n_tags == 1 else ""
        place = named_sentence(number, split.name, s.words)
        n_words = counted(len(s.words), "word")
        raise InputError(f"{counted(n_tags, 'tag')} for {n_words}, {place}; {advice}")


def _fingerprint(rows: Iterator[tuple[Sequence[str], int | None, Sequence[bool]]]) -> str:
    """Hash of rows of strings, each with its length, which makes it different for any two texts."""
    digest = hashlib.sha256()
    for items, document, touches in rows:
        signs = "".join("-+"[touch] for touch in touches)
        digest.update(f"{len(items)}:{'' if document is None else document};{signs}".encode())
        for item in items:
            data = item.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()

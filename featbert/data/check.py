"""The corpus check: what was read, how splits overlap, and whether it is a known corpus.

Everything is counted in one pass over each split; nothing is printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from featbert.data.corpus import Corpus, Split
from featbert.data.tags import spans
from featbert.progress import track

# Counts of train, dev, test as the shared task published them (Tjong Kim Sang and De Meulder
# 2003, tables 1 and 2; sentences without the -DOCSTART- lines).
CONLL_2003_ENGLISH = "CoNLL-2003 English"
_CONLL_2003_ENGLISH = {
    "train": (14_041, 203_621, 23_499),
    "dev": (3_250, 51_362, 5_942),
    "test": (3_453, 46_435, 5_648),
}


@dataclass(frozen=True)
class SplitReport:
    """What one split holds.

    Attributes:
        documents: how many, or None where the file marks none.
        entities: in all; `entities_by_type` sorted by type.
        longest_sentence: in words.
        scheme: tag scheme of the file, "none" where it was read without tags.
        repaired_tags: ill-formed tags that were repaired the conlleval way.
        comment_lines: comment lines passed over.
        empty_rows: rows of a dataset without a word that were passed over.
    """

    sentences: int
    documents: int | None
    words: int
    entities: int
    entities_by_type: dict[str, int]
    longest_sentence: int
    scheme: str
    encoding: str
    repaired_tags: int
    comment_lines: int
    empty_rows: int
    path: str | None
    text_fingerprint: str
    tag_fingerprint: str


@dataclass(frozen=True)
class HeldOutReport:
    """Dev or test against train.

    Attributes:
        repeated_sentences: sentences whose exact words are a sentence of train; their share of
            the split's sentences, 0 to 1, beside.
        entity_forms: distinct surface forms (the exact words of an entity, of whatever type).
        unseen_forms: those among them that are no entity in train; their share beside.
        new_types: entity types that train lacks.
    """

    repeated_sentences: int
    repeated_share: float
    entity_forms: int
    unseen_forms: int
    unseen_share: float
    new_types: list[str]


@dataclass(frozen=True)
class CorpusReport:
    """What `check_corpus` found.

    Attributes:
        splits: by split name.
        against_train: by name of the splits other than train; empty where there is no train.
        dev_in_test: sentences of dev whose exact words are a sentence of test; None without both.
        recognised: name of a known corpus whose counts all agree, or None.
        note: set where the counts agree with a known corpus in part.
    """

    name: str
    language: str | None
    source: str
    splits: dict[str, SplitReport]
    against_train: dict[str, HeldOutReport]
    dev_in_test: int | None
    recognised: str | None
    note: str | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values all the way down, fit for JSON."""
        return asdict(self)


def check_corpus(corpus: Corpus) -> CorpusReport:
    """Count what the corpus holds; linear in its words."""
    forms = {name: _forms(split) for name, split in corpus.splits.items()}
    reports = {name: _split(split, forms[name]) for name, split in corpus.splits.items()}
    against: dict[str, HeldOutReport] = {}
    if "train" in corpus:
        seen = {s.words for s in corpus["train"]}
        against = {
            name: _held_out(split, forms[name], seen, forms["train"])
            for name, split in corpus.splits.items()
            if name != "train"
        }
    dev_in_test = None
    if "dev" in corpus and "test" in corpus:
        in_test = {s.words for s in corpus["test"]}
        dev_in_test = sum(s.words in in_test for s in corpus["dev"])
    recognised, note = _recognise(reports)
    return CorpusReport(
        name=corpus.name,
        language=corpus.language,
        source=corpus.source,
        splits=reports,
        against_train=against,
        dev_in_test=dev_in_test,
        recognised=recognised,
        note=note,
    )


def _forms(split: Split) -> Counter[tuple[str, tuple[str, ...]]]:
    """How often each (type, words) is an entity."""
    return Counter(
        (span.type, s.words[span.start : span.end])
        for s in track(split.sentences, f"counting entities of {split.name}", "sentences")
        for span in spans(s.tags or ())
    )


def _split(split: Split, forms: Mapping[tuple[str, tuple[str, ...]], int]) -> SplitReport:
    by_type: Counter[str] = Counter()
    for (type_, _), count in forms.items():
        by_type[type_] += count
    documents = {s.document for s in split} if split.has_documents else None
    return SplitReport(
        sentences=len(split),
        documents=None if documents is None else len(documents),
        words=split.n_words,
        entities=by_type.total(),
        entities_by_type=dict(sorted(by_type.items())),
        longest_sentence=max(map(len, split), default=0),
        scheme=split.notes.scheme,
        encoding=split.notes.encoding,
        repaired_tags=split.notes.repaired_tags,
        comment_lines=split.notes.comment_lines,
        empty_rows=split.notes.empty_rows,
        path=None if split.path is None else str(split.path),
        text_fingerprint=split.text_fingerprint,
        tag_fingerprint=split.tag_fingerprint,
    )


def _held_out(
    split: Split,
    forms: Mapping[tuple[str, tuple[str, ...]], int],
    train_sentences: set[tuple[str, ...]],
    train_forms: Mapping[tuple[str, tuple[str, ...]], int],
) -> HeldOutReport:
    repeated = sum(s.words in train_sentences for s in split)
    surface = {words for _, words in forms}
    unseen = surface - {words for _, words in train_forms}
    new_types = {type_ for type_, _ in forms} - {type_ for type_, _ in train_forms}
    return HeldOutReport(
        repeated_sentences=repeated,
        repeated_share=repeated / max(len(split), 1),
        entity_forms=len(surface),
        unseen_forms=len(unseen),
        unseen_share=len(unseen) / max(len(surface), 1),
        new_types=sorted(new_types),
    )


def _recognise(reports: Mapping[str, SplitReport]) -> tuple[str | None, str | None]:
    """Name of a known corpus, or a note on where the counts leave it."""
    counts = {k: (r.sentences, r.words, r.entities) for k, r in reports.items()}
    if counts == _CONLL_2003_ENGLISH:
        return CONLL_2003_ENGLISH, None
    if {k: c[0] for k, c in counts.items()} != {k: c[0] for k, c in _CONLL_2003_ENGLISH.items()}:
        return None, None
    differing = [
        f"{split} has {counts[split][i]:,} {what} ({expected[i]:,} expected)"
        for split, expected in _CONLL_2003_ENGLISH.items()
        for i, what in ((1, "words"), (2, "entities"))
        if counts[split][i] != expected[i]
    ]
    return None, f"the sentences are as many as in {CONLL_2003_ENGLISH}, but {'; '.join(differing)}"

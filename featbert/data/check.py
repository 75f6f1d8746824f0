"""The corpus check: what was read, how splits overlap, and whether it is a known corpus.

Every split is counted in one pass; nothing is printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

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
# How often each (type, words) is an entity.
Forms = Counter[tuple[str, tuple[str, ...]]]


@dataclass(frozen=True)
class SplitReport:
    """What one split holds; `scheme` and the counts of unusual lines are `ReadingNotes`.

    Attributes:
        documents: how many, or None where the file marks none.
        entities: in all; `entities_by_type` sorted by type. None of a corpus of labels.
        labels: words by label, sorted by label, of a corpus of labels; else empty.
        longest_sentence: in words.
    """

    sentences: int
    documents: int | None
    words: int
    entities: int
    entities_by_type: dict[str, int]
    labels: dict[str, int]
    longest_sentence: int
    scheme: str
    encoding: str
    repaired_tags: int
    comment_lines: int
    non_words: int
    empty_rows: int
    path: str | None
    text_fingerprint: str
    tag_fingerprint: str


@dataclass(frozen=True)
class HeldOutReport:
    """Dev or test against train; shares are of the split's sentences, forms or words, 0 to 1.

    Attributes:
        repeated_sentences: sentences whose exact words are a sentence of train.
        entity_forms: distinct surface forms (the exact words of an entity, of any type).
        unseen_forms: those among them that are no entity in train.
        unseen_words: words that train does not have.
        new_types: entity types or labels that train lacks, sorted.
    """

    repeated_sentences: int
    repeated_share: float
    entity_forms: int
    unseen_forms: int
    unseen_share: float
    unseen_words: int
    unseen_word_share: float
    new_types: list[str]


@dataclass(frozen=True)
class CorpusReport:
    """What `check_corpus` found.

    Attributes:
        targets: "entities", "labels" or None, as the corpus was read.
        splits: by split name.
        against_train: by name of the splits other than train; empty where there is no train.
        dev_in_test: sentences of dev whose exact words are a sentence of test; None without both.
        recognised: name of a known corpus whose counts all agree, or None.
        note: set where the counts agree with a known corpus in part.
    """

    name: str
    language: str | None
    source: str
    targets: str | None
    splits: dict[str, SplitReport]
    against_train: dict[str, HeldOutReport]
    dev_in_test: int | None
    recognised: str | None
    note: str | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return asdict(self)


def check_corpus(corpus: Corpus) -> CorpusReport:
    """Count what the corpus holds; linear in its words."""
    forms = {name: Forms() for name in corpus.splits}
    labels = {name: Counter[str]() for name in corpus.splits}
    for name, split in corpus.splits.items():
        for s in track(split.sentences, f"counting {corpus.targets} of {name}", "sentences"):
            if corpus.targets == "labels":
                labels[name].update(s.tags or ())
            else:
                found = spans(s.tags or ())
                forms[name].update((e.type, s.words[e.start : e.end]) for e in found)
    reports = {n: _split(split, forms[n], labels[n]) for n, split in corpus.splits.items()}
    against = {}
    if "train" in corpus:
        known = _Train.of(corpus["train"], forms["train"], reports["train"])
        against = {
            name: _held_out(split, forms[name], reports[name], known)
            for name, split in corpus.splits.items()
            if name != "train"
        }
    dev_in_test = None
    if "dev" in corpus and "test" in corpus:
        in_test = {s.words for s in corpus["test"]}
        dev_in_test = sum(s.words in in_test for s in corpus["dev"])
    recognised, note = _recognise(reports)
    return CorpusReport(
        corpus.name,
        corpus.language,
        corpus.source,
        corpus.targets,
        reports,
        against,
        dev_in_test,
        recognised,
        note,
    )


def _split(split: Split, forms: Forms, labels: Counter[str]) -> SplitReport:
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
        labels=dict(sorted(labels.items())),
        longest_sentence=max(map(len, split), default=0),
        **asdict(split.notes),
        path=None if split.path is None else str(split.path),
        text_fingerprint=split.text_fingerprint,
        tag_fingerprint=split.tag_fingerprint,
    )


class _Train(NamedTuple):
    """What train has: sentences, words, entity forms, and types or labels."""

    sentences: set[tuple[str, ...]]
    words: set[str]
    forms: set[tuple[str, ...]]
    types: set[str]

    @classmethod
    def of(cls, split: Split, forms: Forms, report: SplitReport) -> _Train:
        sentences = {s.words for s in split}
        surface = {words for _, words in forms}
        return cls(sentences, {w for s in split for w in s.words}, surface, _types(report))


def _held_out(split: Split, forms: Forms, report: SplitReport, train: _Train) -> HeldOutReport:
    repeated = sum(s.words in train.sentences for s in split)
    surface = {words for _, words in forms}
    unseen = len(surface - train.forms)
    unseen_words = sum(word not in train.words for s in split for word in s.words)
    return HeldOutReport(
        repeated_sentences=repeated,
        repeated_share=repeated / max(len(split), 1),
        entity_forms=len(surface),
        unseen_forms=unseen,
        unseen_share=unseen / max(len(surface), 1),
        unseen_words=unseen_words,
        unseen_word_share=unseen_words / max(report.words, 1),
        new_types=sorted(_types(report) - train.types),
    )


def _types(report: SplitReport) -> set[str]:
    return {*report.entities_by_type, *report.labels}


def _recognise(reports: Mapping[str, SplitReport]) -> tuple[str | None, str | None]:
    """Name of a known corpus, or a note on the counts that differ from it."""
    counts = {k: (r.sentences, r.words, r.entities) for k, r in reports.items()}
    if counts == _CONLL_2003_ENGLISH:
        return CONLL_2003_ENGLISH, None
    if {k: c[0] for k, c in counts.items()} != {k: c[0] for k, c in _CONLL_2003_ENGLISH.items()}:
        return None, None
    differing = [
        f"{split} has {counts[split][i]:,} {what} instead of {expected[i]:,}"
        for split, expected in _CONLL_2003_ENGLISH.items()
        for i, what in ((1, "words"), (2, "entities"))
        if counts[split][i] != expected[i]
    ]
    return None, f"as many sentences as {CONLL_2003_ENGLISH}, but {'; '.join(differing)}"

"""The corpus check: what was read, how splits overlap, and whether it is a known corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from featbert.data.choices import whole_examples
from featbert.data.corpus import Corpus, ReadingNotes, Split
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
# Targets of which a text has one.
_OF_TEXTS = ("classes", "scores", "choices")
Words = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SplitReport(ReadingNotes):
    """What one split holds.

    Attributes:
        documents: None where the file marks none.
        entities_by_type: sorted by type; empty for a corpus of labels.
        labels: words by label, or examples by class, sorted; empty for entities and scores. Of
            spans the questions with an answer and without one.
        scores: the lowest and the highest, of a corpus of scores.
        choices: of all examples together; 0 for a corpus of another kind.
        contradictions: examples whose text occurs in the split with another answer, too.
        answers: examples that have one; fewer where they are hidden.
        longest_sentence: in words.
    """

    sentences: int
    documents: int | None
    words: int
    entities: int
    entities_by_type: dict[str, int]
    labels: dict[str, int]
    scores: tuple[float, float] | None
    choices: int
    contradictions: int
    answers: int
    longest_sentence: int
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
        targets: what the corpus was read for: "entities", ..., or None.
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


def check_corpus(corpus: Corpus) -> CorpusReport:
    """Count what the corpus holds; linear in its words."""
    examples = whole_examples(corpus)
    contents = {name: _Contents.of(corpus, split) for name, split in examples.splits.items()}
    reports = {
        name: _split(corpus[name], examples[name], found, corpus.targets)
        for name, found in contents.items()
    }
    against = {
        name: _held_out(examples[name], found, contents["train"])
        for name, found in contents.items()
        if name != "train" and "train" in contents
    }
    dev_in_test = None
    if "dev" in corpus and "test" in corpus:
        dev_in_test = sum(s.words in contents["test"].sentences for s in examples["dev"])
    return CorpusReport(
        corpus.name,
        corpus.language,
        corpus.source,
        corpus.targets,
        reports,
        against,
        dev_in_test,
        *_recognise(reports),
    )


@dataclass(frozen=True)
class _Contents:
    """What a split has; `entities` are counted by type and words."""

    sentences: set[Words]
    words: Counter[str]
    entities: Counter[tuple[str, Words]]
    labels: Counter[str]

    @classmethod
    def of(cls, corpus: Corpus, split: Split) -> _Contents:
        found = cls(set(), Counter(), Counter(), Counter())
        for s in track(split.sentences, f"counting {corpus.targets} of {split.name}", "sentences"):
            found.sentences.add(s.words)
            found.words.update(s.words)
            if corpus.targets in ("labels", "classes", "choices"):
                found.labels.update(s.tags or ())
            elif corpus.targets == "spans":
                found.labels.update(
                    "answerable" if tag else "unanswerable" for tag in (s.tags or ())[:1]
                )
            elif corpus.targets == "entities":
                entities = ((e.type, s.words[e.start : e.end]) for e in spans(s.tags or ()))
                found.entities.update(entities)
        return found

    @property
    def forms(self) -> set[Words]:
        return {words for _, words in self.entities}

    @property
    def types(self) -> set[str]:
        return {*self.labels, *(type_ for type_, _ in self.entities)}


def _contradictions(split: Split) -> int:
    answers: dict[tuple[Words, int | None], set[str]] = {}
    for s in split:
        answers.setdefault((s.words, s.pair), set()).update(s.tags or ())
    return sum(len(answers[s.words, s.pair]) > 1 for s in split)


def _split(split: Split, examples: Split, found: _Contents, targets: str | None) -> SplitReport:
    scores = [float(s.tags[0]) for s in split if s.tags] if targets == "scores" else []
    by_type: Counter[str] = Counter()
    for (type_, _), count in found.entities.items():
        by_type[type_] += count
    return SplitReport(
        sentences=len(examples),
        documents=len({s.document for s in split}) if split.has_documents else None,
        words=split.n_words,
        entities=by_type.total(),
        entities_by_type=dict(sorted(by_type.items())),
        labels=dict(sorted(found.labels.items())),
        scores=(min(scores), max(scores)) if scores else None,
        choices=len(split) if targets == "choices" else 0,
        contradictions=_contradictions(examples) if targets in _OF_TEXTS else 0,
        answers=sum(s.tags is not None for s in examples),
        longest_sentence=max(map(len, split), default=0),
        **asdict(split.notes),
        path=None if split.path is None else str(split.path),
        text_fingerprint=split.text_fingerprint,
        tag_fingerprint=split.tag_fingerprint,
    )


def _held_out(split: Split, found: _Contents, train: _Contents) -> HeldOutReport:
    repeated = sum(s.words in train.sentences for s in split)
    unseen_forms = len(found.forms - train.forms)
    unseen_words = sum(n for word, n in found.words.items() if word not in train.words)
    return HeldOutReport(
        repeated_sentences=repeated,
        repeated_share=repeated / max(len(split), 1),
        entity_forms=len(found.forms),
        unseen_forms=unseen_forms,
        unseen_share=unseen_forms / max(len(found.forms), 1),
        unseen_words=unseen_words,
        unseen_word_share=unseen_words / max(split.n_words, 1),
        new_types=sorted(found.types - train.types),
    )


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

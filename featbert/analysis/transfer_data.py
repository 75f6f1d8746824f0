"""What runs were scored on, their own corpora and others: the columns of a transfer matrix."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from featbert.errors import InputError
from featbert.runs.evaluations import (
    EvaluationRecord,
    evaluation_files,
    read_evaluation,
)
from featbert.runs.record import SplitIdentity
from featbert.runs.run import Run

# What a column is told by: fingerprints of a text and of its tags, before any mapping of types.
DataKey: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Data:
    """What a column is scored on: one split of one corpus.

    Attributes:
        label: its language where known, else its corpus; where several go by one label, the
            corpus in parentheses, and 8 hex digits of each fingerprint where that is not enough.
        text, tags: fingerprints, before any mapping of types.
    """

    label: str
    language: str | None
    corpus: str
    text: str
    tags: str
    sentences: int
    words: int

    @property
    def key(self) -> DataKey:
        """What it is told by."""
        return self.text, self.tags


@dataclass(frozen=True)
class ScoredRun:
    """A run with all that it was scored on in one split.

    Attributes:
        own: its own corpus's split, None where it was not scored on that.
        evaluations: on the split of other corpora, or of its own once more.
        left_out: evaluations that cannot stand beside the others, one line each.
    """

    run: Run
    own: SplitIdentity | None
    evaluations: tuple[EvaluationRecord, ...]
    left_out: tuple[str, ...]

    @property
    def own_key(self) -> DataKey | None:
        """What its own data is told by."""
        return key_of(self.own) if self.own else None

    def on(self, key: DataKey) -> list[EvaluationRecord]:
        """Evaluations on this data, the newest first."""
        found = [e for e in self.evaluations if key_of(e.identity) == key]
        return sorted(found, key=lambda e: e.started, reverse=True)


def read_scored(run: Run, split: str) -> ScoredRun:
    """A run with its evaluations on `split`.

    Raises:
        InputError: an evaluation is another run's.
    """
    record = run.record
    kept, left_out = [], []
    for path in evaluation_files(run):
        try:
            evaluation = read_evaluation(path)
        except InputError as error:
            left_out.append(f"left out, an evaluation that cannot be read: {error}")
            continue
        if evaluation.run not in (run.name, record.name):
            raise InputError(
                f"evaluations of run {run.name} expected in {run.folder}, the one on "
                f"{evaluation.corpus} is of {evaluation.run}; evaluate the run again"
            )
        if evaluation.split != split:
            continue
        if evaluation.scorer == record.signature.scorer:
            kept.append(evaluation)
        else:
            left_out.append(
                f"left out: {run.name} on {evaluation.corpus}, "
                f"which was scored by {evaluation.scorer}"
            )
    own = record.signature.splits.get(split) if split in record.scores else None
    return ScoredRun(run, own, tuple(kept), tuple(left_out))


def key_of(identity: SplitIdentity) -> DataKey:
    """What data is told by."""
    return identity.text, identity.tags


def all_data(scored: Iterable[ScoredRun]) -> dict[DataKey, Data]:
    """All data that anything was scored on, by key, with labels that tell them apart."""
    scored = list(scored)
    # Those that were trained on it know best what a corpus is called.
    found = [
        (s.own, s.run.record.signature.language, s.run.record.signature.corpus)
        for s in scored
        if s.own is not None
    ]
    found += [(e.identity, e.language, e.corpus) for s in scored for e in s.evaluations]
    data: dict[DataKey, Data] = {}
    for identity, language, corpus in found:
        key = key_of(identity)
        known = data.get(key)
        if known is None:
            data[key] = Data("", language, corpus, *key, identity.sentences, identity.words)
        elif known.language is None:
            data[key] = dataclasses.replace(known, language=language)
    return _labelled(data)


def _labelled(data: Mapping[DataKey, Data]) -> dict[DataKey, Data]:
    labels = distinct(
        list(data.values()),
        lambda d: d.language or d.corpus,
        lambda d: f"{d.language} ({d.corpus})" if d.language else d.corpus,
        lambda d: f"{d.language or d.corpus} ({d.corpus} {d.text[:8]}/{d.tags[:8]})",
    )
    return {
        key: dataclasses.replace(one, label=label)
        for (key, one), label in zip(data.items(), labels, strict=True)
    }


def distinct(things: Sequence[Any], *namings: Callable[[Any], str]) -> list[str]:
    """Each thing's name by the first of the namings that gives it to no other thing."""
    labels = [namings[0](thing) for thing in things]
    for naming in namings[1:]:
        counts = Counter(labels)
        labels = [
            naming(thing) if counts[label] > 1 else label
            for thing, label in zip(things, labels, strict=True)
        ]
    return labels

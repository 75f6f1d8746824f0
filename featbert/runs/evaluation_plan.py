"""What scoring a finished run on other data will be, and whether it is done already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from featbert.data.corpus import Corpus, Split
from featbert.errors import InputError, nearest
from featbert.runs.evaluations import EvaluationRecord, evaluation_path, read_evaluation
from featbert.runs.record import SplitIdentity
from featbert.runs.type_mapping import check_mapping
from featbert.runs.usable import UsableRun
from featbert.tasks.base import get_task


class EvaluationError(InputError):
    """Data that a run cannot be scored on."""


@dataclass(frozen=True)
class PlannedEvaluation:
    """A run on one split of a corpus, before it is scored.

    Attributes:
        identity: of the split, before any mapping of types.
        mapping: new names of entity types.
        path: where the record is, or will be.
    """

    usable: UsableRun
    corpus: Corpus
    split: Split
    identity: SplitIdentity
    mapping: dict[str, str]
    path: Path

    @property
    def predictions(self) -> Path:
        """The file of gold and predicted tags, beside the record."""
        return self.path.with_suffix(".conll")

    @property
    def finished(self) -> EvaluationRecord | None:
        """The record, if this evaluation is done: by the scorer of now, and with its predictions.

        Raises:
            InputError: it cannot be read, or is another run's.
        """
        if not (self.path.is_file() and self.predictions.is_file()):
            return None
        try:
            record = read_evaluation(self.path)
        except InputError as error:
            raise InputError(f"{error}; --overwrite evaluates the run again") from None
        if record.run not in (self.usable.run.name, self.usable.record.name):
            raise InputError(
                f"an evaluation of {self.usable.run.name} expected in {self.path}, it is of "
                f"{record.run}; --overwrite evaluates the run again"
            )
        return record if record.scorer == get_task(self.usable.record.task).scorer else None

    @property
    def learned(self) -> bool:
        """Whether the run learned from this very text."""
        record = self.usable.record
        splits = (record.signature.splits.get(name) for name in record.trained_on)
        return any(s is not None and s.text == self.identity.text for s in splits)


def choose_splits(corpus: Corpus, names: Sequence[str] = ()) -> list[str]:
    """The named splits, each once; test by default, or dev where there is no test.

    Raises:
        EvaluationError: a split that the corpus lacks.
    """
    where = corpus.source or corpus.name
    has = ", ".join(corpus.splits)
    for name in names:
        if name not in corpus:
            raise EvaluationError(
                f"a {name} split expected in {where}, it has {has}{nearest(name, corpus.splits)}; "
                "name one of these with --split"
            )
    chosen = list(dict.fromkeys(names)) or [n for n in ("test", "dev") if n in corpus][:1]
    if not chosen:
        raise EvaluationError(
            f"a test or dev split expected in {where}, it has {has}; name one with --split"
        )
    return chosen


def plan_evaluation(
    usable: UsableRun, corpus: Corpus, split: str, mapping: Mapping[str, str] | None = None
) -> PlannedEvaluation:
    """Checks that the run can be scored on a split and names the record; nothing is written.

    Raises:
        EvaluationError: the corpus lacks the split, its tags, or documents that the run reads.
        MappingError: see `check_mapping`.
    """
    (name,) = choose_splits(corpus, [split])
    chosen, mapping = corpus[name], dict(mapping or {})
    where = chosen.path or f"{name} of {corpus.source or corpus.name}"
    if not len(chosen) or not chosen.is_tagged:
        what = "tags" if len(chosen) else "sentences"
        raise EvaluationError(f"{what} to score against expected in {where}, it has none")
    if usable.record.signature.context == "document" and not all(
        s.document is not None for s in chosen
    ):
        raise EvaluationError(
            f"documents expected in {where}, since {usable.run.name} reads whole documents; "
            "mark them with -DOCSTART- lines, or evaluate a run with sentence context"
        )
    check_mapping(mapping, data=corpus.entity_types, run=usable.entity_types)
    mapping = {old: new for old, new in mapping.items() if old != new}
    identity = SplitIdentity(
        chosen.text_fingerprint, chosen.tag_fingerprint, len(chosen), chosen.n_words
    )
    path = evaluation_path(usable.run.folder, corpus.name, name, identity, mapping)
    return PlannedEvaluation(usable, corpus, chosen, identity, mapping, path)

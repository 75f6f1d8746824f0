"""A finished run scored on other data: another language, another domain, another split.

    <run>/evaluations/<corpus>--<split>--<8 hex>.json    the data and the scores
                                                 .conll  word, gold tag, predicted tag
                                                 .probabilities.npy  (T, C) float16

The 8 hex digits are a hash of the split's text, its tags and the mapping of classes. The mapping
renames gold and predicted answers, all names at the same time (`A=B`, `B=A` exchanges them).
"""

from __future__ import annotations

import dataclasses
import functools
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pydantic.dataclasses

from featbert.data.corpus import EVALUATED, Corpus, Split
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.data.tags import TargetKind
from featbert.encoders.device import Stopwatch
from featbert.errors import InputError, MissingError, check_known, nearest, spelling
from featbert.inference.columns import read_as_trained, trained_columns
from featbert.io import expanded, file_hash, json_hash, slug, unlinked, utf8_path
from featbert.runs.folder import EVALUATIONS, evaluation_files, write_probabilities
from featbert.runs.planned import split_identity
from featbert.runs.record import SplitIdentity, read_json, read_or_left_out, write_json
from featbert.runs.run import Run, UsableRun, check_usable
from featbert.schema import STRICT, Count, Moment, Seconds
from featbert.tasks.base import Scores
from featbert.tasks.forecasts import is_distribution

if TYPE_CHECKING:
    from featbert.inference.load import LoadedRun

# Options that choose which examples of a corpus are read, and in which split.
CHOOSING = ("answerable", "limit", "dev_share", "folds", "fold", "alone")


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class EvaluationRecord:
    """One run on one split of other data.

    Attributes:
        corpus, source, language: of the data, as in a run's signature.
        identity: fingerprints and size of the split.
        entity_types: types that occur in the split, after mapping, sorted.
        mapping: new names of types in gold and predicted tags. "O" removes a type.
        unseen_types: types of the split that the run was not trained on.
        absent_types: types the run was trained on that do not occur in the split.
        scores: after mapping.
        extraction_seconds: of the split's vectors. None if a store had them, or without vectors.
        prediction_seconds: from vectors (features) or words (fine-tuning) to tags.
        started: UTC, ISO 8601.
        predictions: SHA-256 of the predictions file.
        probabilities: SHA-256 of the file of probabilities, or "" without one.
    """

    run: str
    corpus: str
    source: str
    language: str | None
    split: str
    identity: SplitIdentity
    entity_types: list[str]
    mapping: dict[str, str]
    unseen_types: list[str]
    absent_types: list[str]
    scores: Scores
    scorer: str
    extraction_seconds: Seconds | None
    prediction_seconds: Seconds
    device: str
    device_name: str
    threads: Count
    versions: dict[str, str]
    started: Moment
    predictions: str
    probabilities: str = ""


@dataclass(frozen=True)
class Evaluation:
    """A run's scores on a split of other data, and the file of its record."""

    run: UsableRun
    record: EvaluationRecord
    path: Path

    def __repr__(self) -> str:
        measure, record = self.run.task.measure, self.record
        score = f"{measure.name} {100 * record.scores.values[measure.key]:.2f}"
        return f"<Evaluation: {self.run.name} · {record.corpus} {record.split} {score}>"


def evaluation_path(
    run_folder: Path, corpus: str, split: str, identity: SplitIdentity, mapping: Mapping[str, str]
) -> Path:
    """Where the record of this evaluation is, or will be."""
    short = json_hash([identity.text, identity.tags, dict(mapping)])[:8]
    return run_folder / EVALUATIONS / f"{slug(corpus)}--{split}--{short}.json"


def read_evaluation(run: Run, path: Path) -> EvaluationRecord:
    """The record of a run's evaluation in a file. InputError for another run's record."""
    record = read_json(path, EvaluationRecord, f"no evaluation record at {path}")
    if record.run not in (run.name, run.record.name):
        raise InputError(f"{path} is an evaluation of another run, {record.run}")
    if run.task.measure.key not in record.scores.values:
        raise InputError(f"{path} has no {run.task.measure.name}; evaluate the run again")
    return record


def evaluations(run: Run) -> Iterator[tuple[EvaluationRecord, Path]]:
    """A run's evaluations and their files. A notice names files that cannot be read."""
    for path in evaluation_files(run.folder):
        if (record := read_or_left_out(read_evaluation, run, path)) is not None:
            yield record, path


@dataclass(frozen=True)
class RunElsewhere(Run):
    """A run that was scored on other data. Its record has these scores instead of its own.

    `at_home` is the run with its own scores, `paths` are predictions by split, `remarks` notes for
    readers of the scores.
    """

    at_home: Run
    paths: Mapping[str, Path]
    remarks: tuple[str, ...]

    @property
    def original(self) -> Run:
        return self.at_home

    def predictions_path(self, split: str) -> Path:
        check_known("split", [split], self.paths)
        return self.paths[split]


def elsewhere(run: Run, found: Iterable[tuple[EvaluationRecord, Path]]) -> RunElsewhere:
    """A run with evaluations of one corpus and their paths. The last one of a split counts."""
    r, by_split = run.record, {record.split: (record, path) for record, path in found}
    records = [record for record, _ in by_split.values()]
    splits = {name: s for name, s in r.signature.splits.items() if name in r.trained_on}
    for record in records:
        tags = record.identity.tags
        tags = json_hash([tags, record.mapping]) if record.mapping else tags
        splits[record.split] = dataclasses.replace(record.identity, tags=tags)
    signature = dataclasses.replace(
        r.signature,
        corpus=" from ".join(dict.fromkeys([records[0].corpus, r.signature.corpus])),
        splits=splits,
        entity_types=sorted({*records[0].entity_types, *records[0].absent_types}),
        scorer=records[0].scorer,
    )
    return RunElsewhere(
        run.folder,
        dataclasses.replace(
            r,
            signature=signature,
            scores={record.split: record.scores for record in records},
            predictions={rec.split: rec.predictions for rec in records if rec.predictions},
            probabilities={rec.split: rec.probabilities for rec in records if rec.probabilities},
        ),
        at_home=run,
        paths={
            split: path.with_name(run.task.predictions_name(path.stem))
            for split, (_, path) in by_split.items()
        },
        remarks=tuple(remark for record in records for remark in remarks_on(run, record)),
    )


def remarks_on(run: Run, record: EvaluationRecord, name: str = "") -> Iterator[str]:
    """Notes for readers of an evaluation, a line each. `name` is another name of the run."""
    data, splits = f"{record.corpus} {record.split}", run.record.signature.splits
    if record.mapping:
        renamed = ", ".join(f"{old}={new}" for old, new in record.mapping.items())
        yield f"{data} is scored with {renamed}"
    name = name or run.name
    if unseen := ", ".join(record.unseen_types):
        yield (
            f"{name} was not trained on {unseen}: all of them in {data} count as missed; "
            f"{spelling('mapping')} renames classes"
        )
    if absent := ", ".join(record.absent_types):
        yield f"{data} has no {absent}: predictions of them count as wrong"
    if record.identity.text in {splits[n].text for n in run.record.trained_on if n in splits}:
        yield f"{name} was trained on {data}: the score says nothing about other text"


def runs_elsewhere(runs: Iterable[Run], corpus: str) -> list[RunElsewhere]:
    """The runs with their last evaluations on dev or test of a corpus, a name or place.

    All scores of a run have one mapping of classes. MissingError without any, InputError for the
    name of several places.
    """
    corpora, scored_runs, sources = dict[str, None](), [], dict[str, None]()
    for run in runs:
        pairs = sorted(evaluations(run), key=lambda pair: pair[0].started)
        corpora |= dict.fromkeys(record.corpus for record, _ in pairs)
        pairs = [
            (record, path)
            for record, path in pairs
            if record.split in EVALUATED
            and (record.corpus == corpus or record.source in (corpus, str(Path(corpus).absolute())))
        ]
        if pairs:
            sources |= dict.fromkeys(record.source for record, _ in pairs)
            mapping = pairs[-1][0].mapping
            scored_runs.append(
                elsewhere(run, (pair for pair in pairs if pair[0].mapping == mapping))
            )
    if not scored_runs:
        raise MissingError(
            f"no run was evaluated on {corpus!r}{nearest(corpus, corpora)}; known: "
            f"{', '.join(corpora) or 'none'}; featbert evaluate RUN --data CORPUS scores runs on it"
        )
    if len(sources) > 1:
        raise InputError(f"{corpus!r} is the name of several corpora; use {', '.join(sources)}")
    return scored_runs


@dataclass(frozen=True)
class PlannedEvaluation:
    """A run on one split of a corpus, before it is scored.

    `identity` identifies the split before any mapping of classes. `path` is the record's.
    """

    usable: UsableRun
    corpus: Corpus
    split: Split
    identity: SplitIdentity
    mapping: dict[str, str]
    path: Path

    @property
    def predictions(self) -> Path:
        """The file of gold and predicted answers, next to the record."""
        return self.path.with_name(self.usable.task.predictions_name(self.path.stem))

    @property
    def finished(self) -> EvaluationRecord | None:
        """The record of this evaluation, if the current scorer has made it."""
        if not (self.path.is_file() and self.predictions.is_file()):
            return None
        try:
            record = read_evaluation(self.usable, self.path)
        except InputError as error:
            raise InputError(f"{error}; delete it to evaluate again") from None
        return record if record.scorer == self.usable.task.scorer else None


def choose_splits(corpus: Corpus, names: Sequence[str] = ()) -> list[str]:
    """The named splits, each once. Default: test, or dev without a test."""
    source = corpus.source or corpus.name
    check_known(f"split of {source}", names, corpus.splits)
    scored = [n for n in ("test", "dev") if n in corpus and corpus[n].is_tagged]
    chosen = list(dict.fromkeys(names)) or scored[:1]
    if not chosen:
        raise InputError(
            f"{source} has neither test nor dev with answers; name another one "
            f"with {spelling('split')}"
        )
    return chosen


def plan_evaluation(
    usable: UsableRun, corpus: Corpus, split: str, mapping: Mapping[str, str] | None = None
) -> PlannedEvaluation:
    """Checks that the run can be scored on a split, and names the record. Writes nothing.

    InputError if the corpus lacks the split, its answers, or documents that the run reads, and for
    a mapping of unknown classes.
    """
    choose_splits(corpus, [split])
    utf8_path(corpus.source or "")
    chosen, mapping = corpus[split], dict(mapping or {})
    place = chosen.path or f"{split} of {corpus.source or corpus.name}"
    signature = usable.record.signature
    if not len(chosen) or not chosen.is_tagged:
        noun = "answers" if len(chosen) else f"{usable.task.unit}s"
        raise InputError(f"{place} has no {noun} to score against")
    pairs = signature.packing is not None
    if chosen.has_pairs != pairs:
        kinds = ("single texts", "pairs of texts")
        has, reads = kinds[chosen.has_pairs], kinds[pairs]
        raise InputError(f"{place} has {has}, but {usable.name} reads {reads}; name other data")
    if signature.context == "document" and any(s.document is None for s in chosen):
        raise InputError(
            f"{place} has no documents, but {usable.name} reads whole documents; mark them "
            "with -DOCSTART- lines, or evaluate a run with sentence context"
        )
    task = usable.task
    if mapping and not task.renames:
        raise InputError(f"is not for {task.title}; leave it out", setting="mapping")
    sides = ({*task.classes_of(corpus)}, {*usable.classes})
    classes = sorted(sides[0] | sides[1])
    if "O" in mapping.values() and not task.removes and "O" not in classes:
        raise InputError(
            f"removes no classes of {task.title}: each answer is one; leave out O",
            setting="mapping",
        )
    check_known(f"class in {spelling('mapping')}", mapping, classes)
    for new in mapping.values():  # a new name needs classes of both, as in `LOC=ENT`, `PER=ENT`
        renamed = {old for old, to in mapping.items() if to == new}
        if not all(side & renamed for side in sides):
            check_known(f"class in {spelling('mapping')}", [new], [*classes, "O"])
    mapping = {old: new for old, new in mapping.items() if old != new}
    identity = split_identity(corpus, split)
    path = evaluation_path(usable.folder, corpus.name, split, identity, mapping)
    unlinked(path.parent)
    return PlannedEvaluation(usable, corpus, chosen, identity, mapping, path)


def plan_evaluations(
    runs: Sequence[UsableRun],
    places: Sequence[str | Corpus],
    splits: Sequence[str],
    mapping: Mapping[str, str],
    options: ReadingOptions,
) -> list[PlannedEvaluation]:
    """Plans of each run on splits of each corpus. A corpus ignores classes that it does not have.

    A corpus is read in the columns from training that it has, and the run's own corpus as it was
    read. InputError for a class in `mapping` that no run and no corpus has.
    """

    @functools.cache
    def load(place: str, kind: TargetKind, trained: frozenset[tuple[str, Any]]) -> Corpus:
        def read(options: ReadingOptions) -> Corpus:
            corpus = load_corpus(place, options, targets=kind)
            if options.target and not any(split.is_tagged for split in corpus.splits.values()):
                raise InputError(f"is no column of answers in {corpus.source}", setting="target")
            return corpus

        return read_as_trained(read, dict(trained), options)

    plans, all_classes = [], dict[str, None]()
    for run in runs:
        for place in [p for number, p in enumerate(places) if p not in places[:number]]:
            if isinstance(place, Corpus):
                corpus = place
            else:
                corpus = load(place, run.task.targets, frozenset(_trained(run, place).items()))
            classes = {*run.task.classes_of(corpus), *run.classes}
            all_classes |= dict.fromkeys(sorted(classes))
            renamed = {n: to for n, to in mapping.items() if len(places) == 1 or n in classes}
            for split in choose_splits(corpus, splits):
                plans.append(plan_evaluation(run, corpus, split, renamed))
    check_known(f"class in {spelling('mapping')}", mapping, all_classes)
    return plans


def _trained(run: Run, place: str) -> dict[str, Any]:
    """The options from training with which a corpus is read."""
    source = run.record.signature.source
    if source not in (place, os.path.abspath(expanded(place))):
        return trained_columns(run.record)
    return {name: value for name, value in run.record.reading.items() if name not in CHOOSING}


def parse_mapping(texts: Iterable[str]) -> dict[str, str]:
    """The mapping that texts such as "PERSON=PER" describe."""
    mapping: dict[str, str] = {}
    for text in texts:
        old, equals, new = (part.strip() for part in text.partition("="))
        if not equals or not old or not new or old == "O":
            raise InputError(f"{text!r} is not FROM=TO, as in PERSON=PER", setting="mapping")
        if mapping.setdefault(old, new) != new:
            raise InputError(f"has both {mapping[old]} and {new} for {old}", setting="mapping")
    return mapping


def evaluate(
    run: Run,
    corpus: Corpus,
    split: str = "test",
    *,
    mapping: Mapping[str, str] | None = None,
    cache_dir: str | Path = "cache",
    device: str = "auto",
    overwrite: bool = False,
) -> EvaluationRecord:
    """Scores of a finished run on a split of a corpus. Record and predictions go to its folder.

    An existing evaluation of the same text, answers and mapping is returned, unless `overwrite`.
    `mapping` has new names of classes, for gold and predicted answers. "O" ignores a class.
    """
    from featbert.inference.load import load  # imports torch, which a finished one does not need

    usable = run if isinstance(run, UsableRun) else check_usable(run)
    plan = plan_evaluation(usable, corpus, split, mapping)
    finished = None if overwrite else plan.finished
    return finished or evaluate_planned(plan, load(usable, device=device), Path(cache_dir))


def evaluate_planned(plan: PlannedEvaluation, run: LoadedRun, cache_dir: Path) -> EvaluationRecord:
    """Predicts, scores and writes predictions, then the record."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    corpus, split, task = plan.corpus, plan.split, plan.usable.task
    scored = split
    if plan.mapping:
        pairs = zip(split, task.gold(split), strict=True)
        renamed = ((s, tuple(task.rename(tags, plan.mapping))) for s, tags in pairs)
        sentences = tuple(dataclasses.replace(s, tags=s.tags and tags) for s, tags in renamed)
        scored = dataclasses.replace(split, sentences=sentences)
    gold = task.gold(scored)
    classes, removed = task.classes_in(gold), {"O"} if task.removes else set()
    taught = sorted({plan.mapping.get(name, name) for name in plan.usable.classes} - removed)
    inputs, extraction_seconds = run.split_inputs(corpus, split, cache_dir)
    clock, apart = time.perf_counter(), Stopwatch(run.device.torch)
    predicted, shares, numbers = run.answers_and_shares(inputs, split, apart)
    prediction_seconds = time.perf_counter() - clock - apart.seconds
    if plan.mapping:
        predicted = [task.rename(answer, plan.mapping) for answer in predicted]
    scores = task.scores(gold, predicted, split.n_words, taught)
    has_shares = is_distribution(shares)
    # An answer of renamed classes has no probability: its class may be one of several.
    if has_shares and plan.mapping.keys().isdisjoint(plan.usable.classes):
        scores = task.with_probabilities(
            scores,
            scored,
            shares.astype(float),
            run.record.targets.classes,
            run.record.signature.tag_scheme,
            numbers,
        )
    plan.path.parent.mkdir(parents=True, exist_ok=True)
    plan.path.unlink(missing_ok=True)  # an overwritten one no longer fits its predictions
    task.write_predictions(plan.predictions, scored.sentences, predicted)
    record = EvaluationRecord(
        run=plan.usable.record.name,
        corpus=corpus.name,
        source=corpus.source,
        language=corpus.language,
        split=split.name,
        identity=plan.identity,
        entity_types=classes,
        mapping=plan.mapping,
        unseen_types=[name for name in classes if name not in taught],
        absent_types=[name for name in taught if name not in classes],
        scores=scores,
        scorer=task.scorer,
        extraction_seconds=extraction_seconds,
        prediction_seconds=prediction_seconds,
        started=started,
        predictions=file_hash(plan.predictions),
        probabilities=write_probabilities(plan.predictions, shares) if has_shares else "",
        **run.device.facts,
    )
    write_json(plan.path, record)
    return record

"""A finished run scored on other data: another language, another domain, another split.

    <run>/evaluations/<corpus>--<split>--<8 hex>.json    what was scored, and the scores
                                                 .conll  word, gold tag, predicted tag

The 8 hex digits are of the split's text, its tags and the mapping of classes, which holds for gold
and predicted answers alike, all names at the same time (`A=B`, `B=A` exchanges them).
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pydantic.dataclasses

from featbert.data.corpus import Corpus, Split
from featbert.errors import InputError, MissingError, check_known, nearest
from featbert.io import file_hash, json_hash, slug, unlinked, utf8_path
from featbert.runs.folder import EVALUATIONS, evaluation_files
from featbert.runs.grouping import EVALUATED
from featbert.runs.planned import split_identity
from featbert.runs.record import SplitIdentity, read_json, read_or_left_out, write_json
from featbert.runs.run import Run, UsableRun, check_usable
from featbert.runs.scores import scores_of
from featbert.schema import STRICT, Count, Moment, Seconds
from featbert.tasks.base import Scores

if TYPE_CHECKING:
    from featbert.inference.load import LoadedRun


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class EvaluationRecord:
    """One run on one split of other data.

    Attributes:
        corpus, source, language: of the data, as in a run's signature.
        identity: fingerprints and size of what was scored.
        entity_types: types that occur in the split, after mapping, sorted.
        mapping: what types were called instead before scoring, in gold and predicted tags alike;
            "O" takes a type out.
        unseen_types: types of the split that the run was not trained on.
        absent_types: types the run was trained on that do not occur in the split.
        scores: after mapping.
        extraction_seconds: of the split's vectors; None where a store had them, or none is used.
        prediction_seconds: from vectors (features) or words (fine-tuning) to tags.
        started: UTC, ISO 8601.
        predictions: SHA-256 of the predictions file.
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


def evaluation_path(
    run_folder: Path, corpus: str, split: str, identity: SplitIdentity, mapping: Mapping[str, str]
) -> Path:
    """Where the record of this evaluation is, or will be."""
    short = json_hash([identity.text, identity.tags, dict(mapping)])[:8]
    return run_folder / EVALUATIONS / f"{slug(corpus)}--{split}--{short}.json"


def read_evaluation(run: Run, path: Path) -> EvaluationRecord:
    """The record of a run's evaluation in a file; InputError for another run's."""
    record = read_json(path, EvaluationRecord, f"no evaluation record at {path}")
    if record.run not in (run.name, run.record.name):
        raise InputError(f"{path} is an evaluation of another run, {record.run}")
    if run.task.measure.key not in record.scores.values:
        raise InputError(f"{path} has no {run.task.measure.name}; evaluate the run again")
    return record


def evaluations(run: Run) -> Iterator[tuple[EvaluationRecord, Path]]:
    """A run's evaluations and their files; one that cannot be read is left out, with a notice."""
    for path in evaluation_files(run.folder):
        if (record := read_or_left_out(read_evaluation, run, path)) is not None:
            yield record, path


@dataclass(frozen=True)
class RunElsewhere(Run):
    """A run that was scored on other data: its record has these scores in place of its own.

    `paths` are predictions by split; `remarks` what a reader of the scores should know.
    """

    paths: Mapping[str, Path]
    remarks: tuple[str, ...]

    def predictions_path(self, split: str) -> Path:
        check_known("split", [split], self.paths)
        return self.paths[split]


def elsewhere(run: Run, found: Iterable[tuple[EvaluationRecord, Path]]) -> RunElsewhere:
    """A run with evaluations of one corpus and their paths; of a split's the last one counts."""
    r, by_split = run.record, {one.split: (one, path) for one, path in found}
    one = next(iter(by_split.values()))[0]
    names = dict.fromkeys([one.corpus, r.signature.corpus])
    splits = {name: s for name, s in r.signature.splits.items() if name in r.trained_on}
    for split, (of, _) in by_split.items():
        tags = json_hash([of.identity.tags, of.mapping]) if of.mapping else of.identity.tags
        splits[split] = dataclasses.replace(of.identity, tags=tags)
    signature = dataclasses.replace(
        r.signature,
        corpus=" from ".join(names),
        splits=splits,
        entity_types=sorted({*one.entity_types, *one.absent_types}),
        scorer=one.scorer,
    )
    scores = {split: of.scores for split, (of, _) in by_split.items()}
    hashes = {split: of.predictions for split, (of, _) in by_split.items() if of.predictions}
    record = dataclasses.replace(r, signature=signature, scores=scores, predictions=hashes)
    paths = {
        split: path.with_name(run.task.predictions_name(path.stem))
        for split, (_, path) in by_split.items()
    }
    remarks = [one for of, _ in by_split.values() for one in remarks_on(run, of)]
    return RunElsewhere(run.folder, record, paths, tuple(remarks))


def remarks_on(run: Run, one: EvaluationRecord, name: str = "") -> Iterator[str]:
    """What a reader of an evaluation should know, a line each; `name` is what the run is called."""
    what, splits = f"{one.corpus} {one.split}", run.record.signature.splits
    if one.mapping:
        renamed = ", ".join(f"{old}={new}" for old, new in one.mapping.items())
        yield f"{what} is scored with {renamed}"
    name = name or run.name
    taught = f"{name} was not trained on"
    if unseen := ", ".join(one.unseen_types):
        yield f"{taught} {unseen}: all of them in {what} count as missed; --map renames classes"
    if absent := ", ".join(one.absent_types):
        yield f"{what} has no {absent}: predictions of them count as wrong"
    if one.identity.text in {splits[name].text for name in run.record.trained_on if name in splits}:
        yield f"{name} was trained on {what}: the score says nothing about other text"


def runs_elsewhere(runs: Iterable[Run], corpus: str) -> list[RunElsewhere]:
    """The runs that were evaluated on dev or test of a corpus, a name or place, as they were last.

    All scores of a run have one mapping of classes. MissingError where there is none.
    """
    known, found, names = dict[str, None](), [], (corpus, str(Path(corpus).absolute()))
    for run in runs:
        every = sorted(evaluations(run), key=lambda pair: pair[0].started)
        known |= dict.fromkeys(one.corpus for one, _ in every)
        own = [
            (one, path)
            for one, path in every
            if one.split in EVALUATED and (one.corpus == corpus or one.source in names)
        ]
        if own:
            found.append(elsewhere(run, (p for p in own if p[0].mapping == own[-1][0].mapping)))
    if not found:
        raise MissingError(
            f"no run was evaluated on {corpus!r}{nearest(corpus, known)}; known: "
            f"{', '.join(known) or 'none'}; featbert evaluate RUN --data CORPUS scores runs on it"
        )
    return found


@dataclass(frozen=True)
class PlannedEvaluation:
    """A run on one split of a corpus, before it is scored.

    `identity` is that of the split before any mapping of classes, `path` that of the record.
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
        """The record of this evaluation, if it is done by the current scorer."""
        if not (self.path.is_file() and self.predictions.is_file()):
            return None
        try:
            record = read_evaluation(self.usable, self.path)
        except InputError as error:
            raise InputError(f"{error}; delete it to evaluate again") from None
        return record if record.scorer == self.usable.task.scorer else None


def choose_splits(corpus: Corpus, names: Sequence[str] = ()) -> list[str]:
    """The named splits, each once; test by default, or dev where there is no test."""
    where = corpus.source or corpus.name
    check_known(f"split of {where}", names, corpus.splits)
    scored = [n for n in ("test", "dev") if n in corpus and corpus[n].is_tagged]
    chosen = list(dict.fromkeys(names)) or scored[:1]
    if not chosen:
        raise InputError(
            f"{where} has neither test nor dev with answers; name another one with --split"
        )
    return chosen


def plan_evaluation(
    usable: UsableRun, corpus: Corpus, split: str, mapping: Mapping[str, str] | None = None
) -> PlannedEvaluation:
    """Checks that the run can be scored on a split and names the record; nothing is written.

    InputError where the corpus lacks the split, its answers, or documents that the run reads, and
    for a mapping of classes that neither has.
    """
    (name,) = choose_splits(corpus, [split])
    utf8_path(corpus.source or "")
    chosen, mapping = corpus[name], dict(mapping or {})
    where = chosen.path or f"{name} of {corpus.source or corpus.name}"
    if not len(chosen) or not chosen.is_tagged:
        what = "answers" if len(chosen) else f"{usable.task.unit}s"
        raise InputError(f"{where} has no {what} to score against")
    pairs = usable.record.signature.packing is not None
    if chosen.has_pairs != pairs:
        kinds = ("single texts", "pairs of texts")
        has, reads = kinds[chosen.has_pairs], kinds[pairs]
        raise InputError(f"{where} has {has}, but {usable.name} reads {reads}; name other data")
    if usable.record.signature.context == "document" and not all(
        s.document is not None for s in chosen
    ):
        raise InputError(
            f"{where} has no documents, but {usable.name} reads whole documents; mark them "
            "with -DOCSTART- lines, or evaluate a run with sentence context"
        )
    sides = ({*usable.task.classes_of(corpus)}, {*usable.classes})
    known = sorted(sides[0] | sides[1])
    check_known("class in --map", mapping, known)
    for new in mapping.values():  # a new name is of classes of both, as in `LOC=ENT`, `PER=ENT`
        joined = {old for old, to in mapping.items() if to == new}
        if not all(side & joined for side in sides):
            check_known("class in --map", [new], [*known, "O"])
    mapping = {old: new for old, new in mapping.items() if old != new}
    identity = split_identity(corpus, name)
    path = evaluation_path(usable.folder, corpus.name, name, identity, mapping)
    unlinked(path.parent)
    return PlannedEvaluation(usable, corpus, chosen, identity, mapping, path)


def parse_mapping(texts: Iterable[str]) -> dict[str, str]:
    """The mapping that texts such as "PERSON=PER" describe."""
    mapping: dict[str, str] = {}
    for text in texts:
        old, equals, new = (part.strip() for part in text.partition("="))
        if not equals or not old or not new or old == "O":
            raise InputError(f"--map {text!r} is not FROM=TO; as in --map PERSON=PER")
        if mapping.setdefault(old, new) != new:
            raise InputError(f"--map maps {old} to both {mapping[old]} and {new}")
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
    """Scores of a finished run on a split of a corpus; record and predictions go to its folder.

    An evaluation of the same text, answers and mapping that exists is returned, unless `overwrite`.
    `mapping` has new names of classes, for gold and predicted answers alike; "O" ignores one.
    """
    from featbert.inference.load import load  # and torch, only where something is computed

    usable = run if isinstance(run, UsableRun) else check_usable(run)
    plan = plan_evaluation(usable, corpus, split, mapping)
    found = None if overwrite else plan.finished
    return found or carry_out(plan, load(usable, device=device), Path(cache_dir))


def carry_out(plan: PlannedEvaluation, run: LoadedRun, cache_dir: Path) -> EvaluationRecord:
    """Predicts, scores and records; the record is written last."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    corpus, split, task = plan.corpus, plan.split, plan.usable.task
    gold = task.gold(split)
    if plan.mapping:
        gold = [task.rename(answer, plan.mapping) for answer in gold]
    classes = task.classes_in(gold)
    taught = sorted({plan.mapping.get(name, name) for name in plan.usable.classes} - {"O"})
    inputs, extraction_seconds = run.split_inputs(corpus, split, cache_dir)
    clock = time.perf_counter()
    predicted = run.answers(inputs, split)
    prediction_seconds = time.perf_counter() - clock
    if plan.mapping:
        predicted = [task.rename(answer, plan.mapping) for answer in predicted]
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
        scores=scores_of(task, gold, predicted, split.n_words),
        scorer=task.scorer,
        extraction_seconds=extraction_seconds,
        prediction_seconds=prediction_seconds,
        started=started,
        predictions="",
        **run.device.facts,
    )
    plan.path.parent.mkdir(parents=True, exist_ok=True)
    plan.path.unlink(missing_ok=True)  # an overwritten one no longer fits its predictions
    sentences = split.sentences
    if plan.mapping:
        pairs = zip(sentences, gold, strict=True)
        sentences = tuple(dataclasses.replace(s, tags=tuple(tags)) for s, tags in pairs)
    task.write_predictions(plan.predictions, sentences, predicted)
    record = dataclasses.replace(record, predictions=file_hash(plan.predictions))
    write_json(plan.path, record)
    return record

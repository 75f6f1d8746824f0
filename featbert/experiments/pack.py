"""Packs runs into a results file, to be shared: records and counts, without weights.

Corpora and encoders keep their names and lose the folders of this machine. Tests that were made
from predictions that are gone are kept as they are.
"""

import contextlib
import dataclasses
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from featbert.data.corpus import SPLITS
from featbert.errors import FeatbertError, MissingError
from featbert.inference.evaluate import elsewhere, evaluations
from featbert.inference.speed import FILE as SPEED
from featbert.inference.speed import read_speed
from featbert.progress import track
from featbert.runs.counts import ENDING, Buckets, SplitCounts, kept_counts
from featbert.runs.folder import TESTS
from featbert.runs.record import (
    RECORD_NAME,
    SUFFIX,
    ExperimentRecord,
    RunRecord,
    experiment_path,
    read_experiment_record,
    to_json,
)
from featbert.runs.results import listed_in, on_disk, read_text, write_results
from featbert.runs.run import Run, TrainingTexts, find_run, find_runs
from featbert.text import counted, listed


@dataclass(frozen=True)
class Packed:
    """A results file that was written; `notes` say what it lacks, one line each."""

    file: Path
    runs: int
    notes: tuple[str, ...]


def pack_runs(
    runs_dir: Path, file: Path, experiment: str | None = None, *, with_text: bool = False
) -> Packed:
    """Writes the runs of an experiment, or all in a runs directory, to a results file.

    Runs of an experiment are its rows, what its searches tried, and runs that these build on.
    `with_text` keeps the predictions too, with the sentences of the corpus. InputError if a file
    that is packed is damaged.
    """
    contents: dict[str, Any] = {}
    if experiment is None:
        runs = list(find_runs(runs_dir))
        records = listed_in(runs_dir, f"*{SUFFIX}")
    else:
        runs = _runs_of(read_experiment_record(runs_dir, experiment), runs_dir)
        records = [experiment_path(runs_dir, experiment)]
    for path in records:
        contents[path.name] = json.loads(read_text(path))
    scored: list[tuple[Run, str]] = []
    for run in track(runs, f"reading runs of {runs_dir}", "runs"):
        contents[f"{run.name}/{RECORD_NAME}"] = _content(_portable(run.record))
        if (speed := read_speed(run)) is not None:
            contents[f"{run.name}/{SPEED}"] = _content(speed)
        scored += [(run, split) for split in SPLITS if split in run.record.scores]
        for evaluation, path in evaluations(run):
            portable = dataclasses.replace(evaluation, source=evaluation.corpus)
            contents[str(path.relative_to(runs_dir))] = _content(portable)
            scored.append((elsewhere(run, [(evaluation, path)]), evaluation.split))
    uncounted, notes = _add_counts(contents, scored, runs_dir, with_text=with_text)
    if uncounted:
        predictions = {run.record.predictions.get(split) for run, split in scored}
        tests = dict(_tests(runs_dir, predictions, uncounted))
        contents |= tests
        names = listed(dict.fromkeys(run.name for run, _ in uncounted), 3)
        kept = f"{counted(len(tests), 'test')} of them kept as they were made"
        notes = [f"no predictions of {names}: {kept}", *notes]
    write_results(file, contents)
    return Packed(file, len(runs), tuple(notes))


def _runs_of(record: ExperimentRecord, runs_dir: Path) -> list[Run]:
    """Rows of an experiment, what its searches tried, and runs that these name."""
    tried = (name for search in record.searches for one in search.tried for name in one.runs)
    waiting, runs = [*record.rows, *tried], dict[str, Run]()
    while waiting:
        if (name := waiting.pop()) in runs:
            continue
        try:
            run = find_run(name, runs_dir)
        except MissingError:
            if name in record.rows:
                raise
            continue  # it failed, or a search ended it early
        if run.folder.parent == runs_dir:
            runs[name] = run
            bases = (run.record.epochs_from, run.record.settings.get("head_from"))
            waiting += filter(None, bases)
    return [*{run.name: run for run in runs.values()}.values()]


def _portable(record: RunRecord) -> RunRecord:
    """The record with corpora and encoders by name instead of by folder."""
    signature = dataclasses.replace(record.signature, source=record.signature.corpus)
    source = record.model_source
    source = signature.model if Path(source).is_absolute() else source
    return dataclasses.replace(record, signature=signature, model_source=source)


def _content(record: Any) -> Any:
    return json.loads(to_json(record))


def _add_counts(
    contents: dict[str, Any], scored: Iterable[tuple[Run, str]], runs_dir: Path, *, with_text: bool
) -> tuple[list[tuple[Run, str]], list[str]]:
    """Adds the counts of each run and split; returns those without predictions, and notes.

    A measure by class has the same columns for all runs that are scored on the same answers.
    """
    scored, texts = [*scored], TrainingTexts()
    by_answers: dict[object, set[str]] = {}
    for run, split in scored:
        classes = run.record.signature.entity_types
        by_answers.setdefault(_answers(run, split), set()).update(classes)
    uncounted: list[tuple[Run, str]] = []
    notes: dict[str, str] = {}
    for run, split in track(scored, "counting", "splits"):
        path = run.predictions_path(split)
        classes = sorted(by_answers[_answers(run, split)])
        try:
            counts = run.counts(split, classes, texts)
        except MissingError:
            uncounted.append((run, split))
            continue
        facets: Buckets = {}
        for needs_train in (False, True):
            names = [n for n, f in run.task.facets.items() if f.needs_train == needs_train]
            facets = {**facets, **_buckets(counts, names, notes)}
        kept = kept_counts(counts, run.record.predictions.get(split, ""), classes, facets)
        name = path.relative_to(runs_dir)
        contents[str(name.with_name(name.stem + ENDING))] = _content(kept)
        if with_text:
            run.predictions(split)  # refuses those of another run
            with on_disk(path) as predictions:
                contents[str(name)] = predictions.read_bytes().decode()
    return uncounted, [*notes.values()]


def _answers(run: Run, split: str) -> object:
    identity = run.record.signature.splits[split]
    return run.record.task, identity.text, identity.tags


def _buckets(counts: SplitCounts, names: list[str], notes: dict[str, str]) -> Buckets:
    """Counts by these facets; none, and one note, if training texts cannot be read again."""
    if not names:
        return {}
    try:
        return counts.by_facet(names)
    except FeatbertError as error:
        notes.setdefault(", ".join(names), f"no counts by {', '.join(names)}: {error}")
        return {}


def _tests(
    runs_dir: Path, predictions: set[str | None], uncounted: Iterable[tuple[Run, str]]
) -> Iterator[tuple[str, Any]]:
    """Kept tests of packed runs, at least one of which has no counts; damaged ones are left out."""
    gone = {run.record.predictions.get(split) for run, split in uncounted}
    for path in listed_in(runs_dir / TESTS):
        with contextlib.suppress(FeatbertError, ValueError, LookupError, TypeError):
            content = json.loads(read_text(path))
            compared = {*content["predictions"]}
            if compared <= predictions and compared & gone:
                yield f"{TESTS}/{path.name}", content

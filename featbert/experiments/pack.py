"""Packs runs into a results file, to be shared: records and counts, without weights.

Corpora and encoders keep their names and lose the folders of this machine, and failures lose their
reasons. Tests of removed predictions are kept as they are. Unpacked runs count as finished, and
an experiment uses them.
"""

import contextlib
import dataclasses
import json
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from featbert.errors import FeatbertError, MissingError
from featbert.inference.evaluate import elsewhere, evaluations
from featbert.inference.speed import FILE as SPEED
from featbert.inference.speed import read_speed
from featbert.io import check_folder, explaining, write_text
from featbert.progress import notice, track
from featbert.runs import results
from featbert.runs.counts import ENDING, KeptCounts
from featbert.runs.folder import TESTS, claimed, move_into_place
from featbert.runs.record import (
    RECORD_NAME,
    SUFFIX,
    ExperimentRecord,
    experiment_path,
    read_experiment_record,
    read_json,
    read_or_left_out,
    to_json,
)
from featbert.runs.run import Run, TrainingTexts, find_run, find_runs


def pack_runs(
    runs_dir: Path, file: Path, experiment: str | None = None, *, with_text: bool = False
) -> int:
    """Writes runs of an experiment, or all in a folder, to a results file. Returns their number.

    The runs of an experiment are its rows, the trials of its searches, and runs that these name.
    With `with_text`, the file has the predictions too. InputError if a file of a run is damaged,
    MissingError if there are no runs.
    """
    results.check_name(file)
    if experiment is None:
        runs_of_folder = find_runs(runs_dir)
        for note in runs_of_folder.notes():
            notice(note)
        runs, records = list(runs_of_folder), results.listed_in(runs_dir, f"*{SUFFIX}")
    else:
        runs = _runs_of(read_experiment_record(runs_dir, experiment), runs_dir)
        records = [experiment_path(runs_dir, experiment)]
    if not runs:
        raise MissingError(f"no finished runs in {runs_dir}; featbert run makes them")
    contents: dict[str, Any] = {}
    for path in records:
        experiment_record = read_json(path, ExperimentRecord, f"{path} does not exist")
        failures = dict.fromkeys(experiment_record.failures, "")  # reasons name folders
        contents[path.name] = _content(dataclasses.replace(experiment_record, failures=failures))
    scored: list[tuple[Run, str]] = []
    for run in track(runs, f"reading runs of {runs_dir}", "runs"):
        record = run.record
        signature = dataclasses.replace(record.signature, source=record.signature.corpus)
        source = record.model_source
        source = signature.model if Path(source).is_absolute() else source
        record = dataclasses.replace(record, signature=signature, model_source=source)
        contents[f"{run.name}/{RECORD_NAME}"] = _content(record)
        if (speed := read_speed(run)) is not None:
            contents[f"{run.name}/{SPEED}"] = _content(speed)
        scored += [(run, split) for split in record.scores]
        for evaluation, path in evaluations(run):
            record_elsewhere = dataclasses.replace(evaluation, source=evaluation.corpus)
            contents[str(path.relative_to(runs_dir))] = _content(record_elsewhere)
            scored.append((elsewhere(run, [(evaluation, path)]), evaluation.split))
    _add_counts(contents, scored, runs_dir, with_text=with_text)
    results.write_results(file, contents)
    return len(runs)


def unpack_runs(file: Path, runs_dir: Path) -> tuple[int, int]:
    """Copies the runs of a results file into a folder. Returns their number, copied and kept.

    Finished runs in the folder are kept as they are, and so are records of experiments that name
    runs which the file's record does not name. InputError if the file is damaged or foreign,
    MissingError if there is none.
    """
    if results.results_file(file) != file:
        state = "is no results file" if file.exists() else "does not exist"
        raise MissingError(f"{file} {state}; featbert runs pack makes one")
    run_names = {folder.name for folder in results.run_folders(file)}
    check_folder(runs_dir, "runs_dir")
    with explaining(runs_dir):
        runs_dir.mkdir(parents=True, exist_ok=True)
        # An interruption leaves whole runs and nothing else.
        with tempfile.TemporaryDirectory(prefix=".unpacked-", dir=runs_dir) as folder:
            for name in results.names_in(file):
                write_text(Path(folder, name), results.read_text(file / name))
            (runs_dir / TESTS).mkdir(exist_ok=True)
            n_new = 0
            for path in (*Path(folder).iterdir(), *Path(folder, TESTS).glob("*")):
                place = runs_dir / path.relative_to(folder)
                if path.name not in run_names:
                    if not place.exists() or _is_continued(place, path, run_names):
                        path.replace(place)
                    elif path.name.endswith(SUFFIX) and path.read_bytes() != place.read_bytes():
                        notice(f"{place} is kept; the one in {file} differs")
                elif not (place / RECORD_NAME).exists():
                    with claimed(place):
                        if not (place / RECORD_NAME).exists():
                            move_into_place(path, place)
                            n_new += 1
    return n_new, len(run_names) - n_new


def _content(record: Any) -> Any:
    return json.loads(to_json(record))


def _is_continued(place: Path, packed: Path, run_names: Collection[str]) -> bool:
    """Whether a record lacks packed runs, and the packed record has all that it names."""
    if not place.name.endswith(SUFFIX):
        return False
    record = read_or_left_out(read_json, place, ExperimentRecord, "")
    if record is None or not {*record.missing} & {*run_names}:
        return False
    return _names(record) <= _names(read_json(packed, ExperimentRecord, ""))


def _names(record: ExperimentRecord) -> set[str]:
    """Rows, missing runs and trials of an experiment."""
    return {*record.rows, *record.missing, *record.trials}


def _runs_of(record: ExperimentRecord, runs_dir: Path) -> list[Run]:
    """Rows of an experiment, trials of its searches, and runs that these name."""
    names = [*record.rows, *record.trials]
    runs: dict[str, Run] = {}
    for name in names:  # which grow
        try:
            run = find_run(name, runs_dir)
        except MissingError:
            if name in record.rows:
                raise
            continue  # it failed, or a search ended it early
        if run.name not in runs and run.folder.parent == runs_dir:
            runs[run.name] = run
            names += filter(None, (run.record.epochs_from, run.record.settings.get("head_from")))
    return [*runs.values()]


def _add_counts(
    contents: dict[str, Any], scored: Sequence[tuple[Run, str]], runs_dir: Path, *, with_text: bool
) -> None:
    """Adds the counts of each run and split, and the kept tests of those without predictions.

    A measure by class has the same columns for all runs that are scored on the same answers.
    """
    classes: dict[object, set[str]] = {}
    for run, split in scored:
        classes.setdefault(_answers(run, split), set()).update(run.record.signature.entity_types)
    predictions, uncounted, reasons = set[str](), set[str](), dict[str, str]()
    texts, n_textless = TrainingTexts(), 0
    for run, split in track(scored, "counting", "splits"):
        path = run.predictions_path(split)
        predictions.add(of_split := run.record.predictions.get(split, ""))
        columns = sorted(classes[_answers(run, split)])
        facets = run.task.facets
        of_train = [name for name, facet in facets.items() if facet.needs_train]
        try:
            counts = run.counts(split, columns, [n for n in facets if n not in of_train])
        except MissingError:
            uncounted.add(of_split)
            continue
        buckets: dict[str, Any] = {**counts.facets}
        try:
            buckets |= run.counts(split, columns, of_train, texts).facets
        except FeatbertError as error:  # the training text is gone
            reasons.setdefault(", ".join(of_train), str(error))
        kept_counts = KeptCounts(columns, [], [], [*counts.documents], buckets, counts.scores)
        if counts.scores is None:
            rows, places = np.unique(counts.examples, axis=0, return_inverse=True)
            kept_counts = dataclasses.replace(
                kept_counts, rows=rows.tolist(), examples=places.ravel().tolist()
            )
        name = path.relative_to(runs_dir)
        contents[str(name.with_name(name.stem + ENDING))] = _content(kept_counts)
        if with_text and results.exists(path):
            run.predictions(split)  # refuses changed ones
            with results.on_disk(path) as copy:
                contents[str(name)] = copy.read_bytes().decode()
        elif with_text:
            n_textless += 1
    for names, reason in reasons.items():
        notice(f"no counts by {names}: {reason}")
    if uncounted:
        notice(f"{len(uncounted)} of {len(scored)} splits have no predictions, so no counts")
    if n_textless:
        notice(f"{n_textless} of {len(scored)} splits have counts only, no predictions to add")
    for path in results.listed_in(runs_dir / TESTS):
        with contextlib.suppress(FeatbertError, ValueError, LookupError, TypeError):  # damaged
            content = json.loads(results.read_text(path))
            if uncounted & (compared := {*content["predictions"]}) and compared <= predictions:
                contents[str(path.relative_to(runs_dir))] = content


def _answers(run: Run, split: str) -> object:
    identity = run.record.signature.splits[split]
    return run.record.task, identity.text, identity.tags

"""What an experiment file asked for and which runs came of it: the list behind its table.

    <runs directory>/<experiment>.experiment.json

A run may serve several experiments, so what belongs to one of them (which runs are its rows, what
it varies, what its grids tried) is kept here and not in the runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from featbert.errors import MissingError, nearest
from featbert.runs.json_record import read_json_record, write_json_record
from featbert.runs.record import RecordError

SUFFIX = ".experiment.json"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class TriedSettings:
    """One configuration of a grid search: its settings, its runs, their mean dev F1 in [0, 1]."""

    settings: dict[str, Any]
    runs: list[str]
    dev_f1: float | None


@dataclass(frozen=True)
class SearchRecord:
    """A grid search on dev for one row.

    Attributes:
        approach, layers, corpus: of the row.
        arm: what tells its arm from the others of the experiment.
        tried: every configuration, in the file's order.
        chosen: place of the one that was taken; None where runs are missing.
    """

    approach: str
    layers: str | None
    corpus: str
    arm: str
    tried: list[TriedSettings]
    chosen: int | None


@dataclass(frozen=True)
class ExperimentRecord:
    """One experiment as it stood when it was last run.

    Attributes:
        vary: what its runs may differ in and still share a table.
        rows: names of the runs that its table shows.
        missing: names of its runs that are not finished.
        published, show, transfer, labels: as in the file.
        searches: what its grids tried.
        failures: reasons by the name of the run that failed.
    """

    name: str
    description: str
    vary: list[str]
    rows: list[str]
    missing: list[str]
    published: list[str]
    show: list[str]
    transfer: bool
    labels: dict[str, str]
    searches: list[SearchRecord]
    failures: dict[str, str]
    format_version: int = field(default=FORMAT_VERSION)


def experiment_path(runs_dir: Path, name: str) -> Path:
    """Where the record of the experiment called `name` is."""
    return runs_dir / (re.sub(r"[^\w.-]+", "_", name).strip("._-")[:80] + SUFFIX)


def write_experiment(runs_dir: Path, record: ExperimentRecord) -> Path:
    """Writes the record; it appears whole or not at all."""
    path = experiment_path(runs_dir, record.name)
    write_json_record(path, record)
    return path


def read_experiment_record(runs_dir: Path, name: str) -> ExperimentRecord:
    """The record of the experiment called `name` in a runs directory.

    Raises:
        MissingError: there is none; names the nearest.
        RecordError: it cannot be read.
    """
    path = experiment_path(runs_dir, name)
    try:
        record = read_json_record(
            path,
            ExperimentRecord,
            called="an experiment's record",
            version=FORMAT_VERSION,
            advice="run the experiment again",
        )
    except FileNotFoundError:
        known = [p.name.removesuffix(SUFFIX) for p in sorted(runs_dir.glob(f"*{SUFFIX}"))]
        raise MissingError(
            f"an experiment that was run expected, there is no {name!r} in {runs_dir}"
            f"{nearest(name, known)}; there are {', '.join(known) or 'none'}"
        ) from None
    assert isinstance(record, ExperimentRecord)
    for row in record.rows:  # names of folders here; no path of a record is followed elsewhere
        if row in ("", ".", "..") or not row.isprintable() or "/" in row or "\\" in row:
            raise RecordError(
                f"names of runs expected in the rows of {path}, found {row[:60]!r}; "
                "run the experiment again"
            )
    return record

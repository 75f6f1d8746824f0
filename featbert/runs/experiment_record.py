"""What an experiment file asked for and which runs came of it: the list behind its table.

A run may serve several experiments, so what belongs to one of them is not kept in the runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pydantic.dataclasses

from featbert.errors import InputError, nearest
from featbert.io import slug
from featbert.runs.record import read_json
from featbert.tasks.base import KEPT

SUFFIX = ".experiment.json"


@pydantic.dataclasses.dataclass(frozen=True, config=KEPT)
class TriedSettings:
    """One point of a search: its settings, its runs, and their mean score on dev in [0, 1]."""

    settings: dict[str, Any]
    runs: list[str]
    dev: float | None


@pydantic.dataclasses.dataclass(frozen=True, config=KEPT)
class SearchRecord:
    """A search on dev for one row.

    Attributes:
        tuning, layers, corpus: of the row.
        configuration: its name among those of the experiment.
        tried: every point, in the file's order.
        chosen: place of the one that was taken; None where runs are missing.
    """

    tuning: str
    layers: str | None
    corpus: str
    configuration: str
    tried: list[TriedSettings]
    chosen: int | None


@pydantic.dataclasses.dataclass(frozen=True, config=KEPT)
class ExperimentRecord:
    """One experiment after it was last run.

    Attributes:
        vary: what its runs may differ in and still share a table.
        rows: names of the runs that its table shows.
        missing: names of its runs that are not finished.
        published, show, transfer, labels: as in the file.
        searches: what its searches tried.
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


def experiment_path(runs_dir: Path, name: str) -> Path:
    """Where the record of the experiment called `name` is."""
    return runs_dir / (slug(name, 80) + SUFFIX)


def read_experiment_record(runs_dir: Path, name: str) -> ExperimentRecord:
    """The record of the experiment called `name`; MissingError where there is none."""
    path = experiment_path(runs_dir, name)
    known = [p.name.removesuffix(SUFFIX) for p in sorted(runs_dir.glob(f"*{SUFFIX}"))]
    missing = (
        f"no experiment {name!r} was run in {runs_dir}{nearest(name, known)}; "
        f"there are {', '.join(known) or 'none'}"
    )
    record = read_json(path, ExperimentRecord, missing)
    for row in record.rows:  # names of folders here; no path of a record is followed elsewhere
        if row in ("", ".", "..") or not row.isprintable() or "/" in row or "\\" in row:
            raise InputError(f"{path} names a row {row[:60]!r}, which is no run; run it again")
    return record

"""Finished runs in a runs directory, and their predictions.

Finding runs reads their records and nothing else; predictions are read when they are asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from featbert.errors import InputError, MissingError, nearest_path
from featbert.io import file_hash
from featbert.progress import track
from featbert.runs.record import RunRecord, read_record
from featbert.tasks.base import Predictions, Task, get_task


@dataclass(frozen=True)
class Run:
    """A finished run: its folder and its record."""

    folder: Path
    record: RunRecord

    def __repr__(self) -> str:
        name = self.task.measure.name
        scores = [f"{s} {name} {100 * (self.record.score(s) or 0):.2f}" for s in self.record.scores]
        return f"<Run: {' · '.join([self.name, *scores])}>"

    def _repr_html_(self) -> str:
        from featbert.report.html.notebook import run_html

        return run_html(self)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def task(self) -> Task:
        return get_task(self.record.task)

    def predictions_path(self, split: str) -> Path:
        """Where the predictions of `split` are."""
        # A record of others may name a split like ../../x.
        if not re.fullmatch(r"\w+", split):
            raise InputError(f"{split[:60]!r} is no name of a split")
        return self.folder / self.task.predictions_name(split)

    def predictions(self, split: str) -> Predictions:
        """Words, gold and predicted answers of `split`, read at each call.

        MissingError where the run kept none; InputError where they are not those that the record's
        scores were counted on.
        """
        path = self.predictions_path(split)
        try:
            found = self.task.read_predictions(path)
            known = self.record.predictions.get(split)
            if known is not None and file_hash(path) != known:
                raise InputError(
                    f"{path} is not what {self.name} was scored on; it is damaged, or another "
                    "run's: train the run again"
                )
        except FileNotFoundError:
            raise MissingError(
                f"no predictions of {split} at {path}; the run is scored on "
                f"{', '.join(self.record.scores) or 'no split'}"
            ) from None
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error}") from None
        return found


@dataclass(frozen=True)
class Problem:
    """A folder whose record cannot be read, and why."""

    folder: Path
    reason: str


@dataclass(frozen=True)
class FoundRuns:
    """What a runs directory holds; iterating gives the finished runs.

    `unfinished` are folders without a record: interrupted, or still running.
    """

    runs: tuple[Run, ...]
    problems: tuple[Problem, ...]
    unfinished: tuple[Path, ...]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __repr__(self) -> str:
        damaged = f", {len(self.problems):,} damaged" if self.problems else ""
        return f"<FoundRuns: {len(self.runs):,} finished, {len(self.unfinished):,} not{damaged}>"

    def _repr_html_(self) -> str:
        from featbert.report.html.notebook import found_html

        return found_html(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """One line each for what a reader of a comparison should know was left out."""
        notes = [f"left out, its record cannot be read: {p.reason}" for p in self.problems]
        if self.unfinished:
            names = ", ".join(folder.name for folder in self.unfinished)
            notes.append(f"left out, not finished: {names}")
        return tuple(notes)


def find_runs(runs_dir: Path | str) -> FoundRuns:
    """The runs in `runs_dir`: its folders, except those whose name starts with a dot."""
    runs_dir = Path(runs_dir)
    try:
        folders = sorted(p for p in runs_dir.iterdir() if p.is_dir() and p.name[:1] != ".")
    except FileNotFoundError:
        raise MissingError(
            f"a runs directory expected, {runs_dir} does not exist{nearest_path(runs_dir)}; "
            "train a run first, or name the directory with --runs-dir"
        ) from None
    except OSError as error:
        raise InputError(f"runs directory {runs_dir} cannot be listed: {error}") from None
    runs: list[Run] = []
    problems: list[Problem] = []
    unfinished: list[Path] = []
    for folder in track(folders, f"reading records of {runs_dir}", "runs"):
        try:
            runs.append(Run(folder, read_record(folder)))
        except InputError as error:
            problems.append(Problem(folder, str(error)))
        except MissingError:
            unfinished.append(folder)
    return FoundRuns(tuple(runs), tuple(problems), tuple(unfinished))


def unfinished_run(folder: Path) -> dict[str, Any]:
    """What `config.json` and `history.jsonl` of a run say; None for what they do not.

    `epochs_done` of `epochs` took `seconds`; `dev` in [0, 1] is of the best one so far.
    """
    (config,) = _objects(folder / "config.json") or ({},)
    signature, settings = (_of(config.get(t), dict) or {} for t in ("signature", "settings"))
    history = _objects(folder / "history.jsonl")
    scores = [next(iter(dev.values())) for row in history if (dev := _of(row.get("dev"), dict))]
    return {
        "tuning": _of(config.get("tuning"), str),
        "layers": _of(config.get("layers"), str),
        "corpus": _of(signature.get("corpus"), str),
        "model": _of(signature.get("model"), str),
        "seed": _of(config.get("seed"), int),
        "epochs_done": len(history),
        "epochs": _of(settings.get("epochs"), int),
        "dev": max((s for s in scores if isinstance(s, float)), default=None),
        "seconds": sum(r["seconds"] for r in history if isinstance(r.get("seconds"), float)),
    }


def _objects(path: Path) -> list[dict[str, Any]]:
    """Objects of a JSON file, or of the whole lines of a JSONL file."""
    try:
        text = path.read_text("utf-8")
        parts = text.split("\n")[:-1] if path.suffix == ".jsonl" else [text]
        found = [json.loads(part) for part in parts]
    except (OSError, ValueError, RecursionError):
        return []
    return [row for row in found if isinstance(row, dict)]


def _of(value: Any, kind: type[Any]) -> Any:
    return value if isinstance(value, kind) else None

"""Runs of a folder as lines, and runs by ids, parts of names, folders, or labels of rows."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from featbert.analysis.labels import Way, base_name, label_conditions, run_labels, way_labels
from featbert.analysis.rows import comparable_rows, rows_called
from featbert.errors import InputError, MissingError, check_known, nearest, spelling
from featbert.io import expanded
from featbert.runs.grouping import group_comparable
from featbert.runs.record import RECORD_NAME, Notes, read_notes
from featbert.runs.results import exists
from featbert.runs.run import (
    FoundRuns,
    Run,
    find_folders,
    find_run,
    find_runs,
    holds_runs,
    unfinished_run,
)
from featbert.tasks.base import get_task
from featbert.text import listed, natural

# Fields with values that may end in a number, such as layer:1.
_NUMBERED = ("layers", "tuning")
# Runs that agree in these are named apart from others.
PLACE = ("corpus", "model", "task")


def run_lines(
    found: FoundRuns, filters: Mapping[str, str | None] | None = None, sort: str = "date"
) -> list[dict[str, Any]]:
    """Known fields of each run that matches `filters`.

    They are sorted by a column of `runs_table`: dates and scores fall, all else rises.
    """
    lines = [{"run": folder.name, **unfinished_run(folder)} for folder in found.unfinished]
    for line in lines:
        if signature := line.pop("signature", None):
            line["conditions"] = label_conditions(signature)
    lines += [{"run": p.name, "state": "damaged", "reason": r} for p, r in found.problems.items()]
    lines += map(_finished, found)
    lines = [line for line in lines if _fits(line, filters or {})]
    planned = [line for line in lines if line.get("tuning")]
    ways = [
        Way(
            tuple(line[name] for name in PLACE),
            *(line[name] for name in ("tuning", "layers", "settings", "conditions")),
        )
        for line in planned
    ]
    for line, row in zip(planned, way_labels(ways), strict=True):
        line["row"] = row

    def value(line: Mapping[str, Any]) -> Any:
        at = {**line, **line.get("scores", {})}.get({"date": "started"}.get(sort, sort))
        return natural(at) if isinstance(at, str) else at

    falls = sort not in ("corpus", "model", "row", "seed")
    valued = [line for line in lines if value(line) is not None]
    unvalued = [line for line in lines if value(line) is None]
    return unvalued + sorted(valued, key=value, reverse=falls)


def _finished(run: Run) -> dict[str, Any]:
    record, signature = run.record, run.record.signature
    line = {"run": run.name, "state": "finished"}
    line |= {"corpus": signature.corpus, "model": signature.model}
    line |= {n: getattr(record, n) for n in ("task", "tuning", "layers", "seed", "started")}
    try:
        notes = read_notes(run.folder)
    except InputError as error:
        notes, line["reason"] = Notes(), str(error)
    return {
        **line,
        "tags": ", ".join(notes.tags),
        "note": notes.note,
        "settings": record.settings,
        "conditions": label_conditions(vars(signature) | {"target": record.reading.get("target")}),
        "scores": {split: record.score(split) for split in record.scores},
        "training_seconds": record.cost.training_seconds,
    }


def _fits(line: Mapping[str, Any], filters: Mapping[str, str | None]) -> bool:
    """Whether fields begin with texts, whatever their case. Names and tags may have them inside."""
    for name, part in filters.items():
        text, part = str(line.get(name) or "").casefold(), (part or "").casefold()
        inside = name in ("corpus", "model", "tags") and part in text
        follows = text.removeprefix(part)
        # layer:1 is not the beginning of layer:10.
        is_cut_number = part[-1:].isdigit() and follows[:1].isdigit() and name in _NUMBERED
        if not (inside or (text.startswith(part) and not is_cut_number)):
            return False
    return True


def runs_of_kind(runs: Sequence[Run], corpus: str | None, task: str | None) -> list[Run]:
    """The runs on a corpus and of a task, as `run_lines` finds them."""
    filters = {"corpus": corpus, "task": task}
    return [
        run
        for run in runs
        if _fits({"corpus": run.record.signature.corpus, "task": run.record.task}, filters)
    ]


# Runs by name -------------------------------------------------------------------------------------


def named_runs(names: Iterable[str | Run], runs_dir: Path) -> list[Run]:
    """The runs with these names. Runs among the names are returned, too."""
    groups = (
        [name] if isinstance(name, Run) else find_runs_called(name, runs_dir) for name in names
    )
    return [run for group in groups for run in group]


def find_runs_called(name: str, runs_dir: Path) -> list[Run]:
    """The run with this name or part of a name, or all runs of the rows with this label.

    Or all runs of a results file, or of another folder of runs.
    """
    if holds_runs(path := expanded(name)):
        return [*find_runs(path)]
    folders = find_folders(name, runs_dir)
    if len(folders) != 1 and runs_dir.exists():
        groups = group_comparable(find_runs(runs_dir))
        tables = [comparable_rows(group, freed) for group, freed in groups]
        called = [
            run
            for rows, members in tables
            for row in rows_called(name, rows)
            for run in members[row.name]
        ]
        if called:
            return called
        every = [row for rows, _ in tables for row in rows]
        labels = [text for row in every for text in (base_name(row.tuning, row.layers), row.label)]
        if not folders and (near := nearest(name, labels)):
            raise MissingError(
                f"no run or row {name!r} in {runs_dir}{near}; featbert runs lists them"
            )
        folders = [folder for folder in folders if exists(folder / RECORD_NAME)]
    return [find_run(str(folder), runs_dir) for folder in folders] or [find_run(name, runs_dir)]


def find_run_called(name: str, runs_dir: Path, best: bool, data: str | None = None) -> Run:
    """The run that `find_runs_called` finds, or the `best` of several on dev.

    With `data` only runs count that have it in the name of their corpus. If runs of one task and
    text have several measures, the task's default measure decides.
    """
    candidates = find_runs_called(name, runs_dir)
    if data is not None:
        by_corpus = {run.record.signature.corpus: None for run in candidates}
        candidates = [
            r for r in candidates if data.casefold() in r.record.signature.corpus.casefold()
        ]
        check_known("corpus", [] if candidates else [data], by_corpus)
    tasks = {run.record.task.partition(":")[0]: None for run in candidates}
    if best and len(tasks) == len({run.record.signature.splits["dev"] for run in candidates}) == 1:
        usual = get_task(next(iter(tasks))).measure.key
        candidates = [run for run in candidates if run.task.measure.key == usual] or candidates
    records = [run.record for run in candidates]
    comparable = len({(r.task, r.signature.splits["dev"]) for r in records}) == 1
    if len(candidates) == 1 or (best and comparable):
        return max(candidates, key=lambda run: run.record.score("dev") or 0.0)
    labels = run_labels(records)
    descriptions = (
        f"{run.id} ({labels[run.record.name]}, seed {run.record.seed})" for run in candidates
    )
    runs = listed(descriptions, 4, width=255)
    corpora = {r.signature.corpus: None for r in records}
    scope, advice = "", f", or {spelling('best')}"
    if not comparable:
        scope = f" of {listed(corpora)}"
        data = spelling("data", next(iter(corpora)))
        advice = f"{advice} {data}" if len(corpora) > 1 else ""
    raise InputError(
        f"{name!r} is {len(candidates)} runs{scope}: {runs}; give the id of one{advice}"
    )

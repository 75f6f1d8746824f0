"""Runs of a folder as lines: finished, unfinished and damaged ones, chosen and sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from featbert.analysis.labels import Way, label_conditions, way_labels
from featbert.errors import InputError
from featbert.runs.record import Notes, read_notes
from featbert.runs.run import FoundRuns, Run, unfinished_run
from featbert.text import natural

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
        "conditions": label_conditions(vars(signature)),
        "scores": {split: record.score(split) for split in record.scores},
        "training_seconds": record.cost.training_seconds,
    }


def _fits(line: Mapping[str, Any], filters: Mapping[str, str | None]) -> bool:
    """Whether fields begin with texts, whatever their case. Names and tags may have them inside."""
    for name, part in filters.items():
        text, part = str(line.get(name) or "").casefold(), (part or "").casefold()
        inside = name in ("corpus", "model", "tags") and part in text
        if not (inside or text.startswith(part)):
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

"""What a runs directory holds as a table: state, what, seed, scores, time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.report.cells import Cell, Column, Table, plain_cell, text_cell
from featbert.report.units import NONE, duration, percent
from featbert.runs.unfinished import UnfinishedRun, unfinished_run
from featbert.text import called, counted

if TYPE_CHECKING:
    from featbert.runs.run import FoundRuns, Problem, Run

HEADS = ("run", "state", "what", "seed", "dev F1", "test F1", "training")
_NAMES = 3  # of them are names, to the left


def runs_table(found: FoundRuns) -> Table:
    """A row for each run, by name: finished, unfinished or damaged."""
    rows = [
        *(_finished(run) for run in found),
        *(_unfinished(unfinished_run(folder)) for folder in found.unfinished),
        *(_damaged(problem) for problem in found.problems),
    ]
    rows.sort(key=lambda row: row[0].text)
    return Table(
        title=counted(len(rows), "run"),
        subtitle="",
        columns=tuple(Column(h, (h,), "name", right=i >= _NAMES) for i, h in enumerate(HEADS)),
        rows=tuple(rows),
        sections=(False,) * len(rows),
        legend=("F1: micro entity F1 in percent; of an unfinished run that of its best epoch",),
        notes=tuple(f"{p.folder.name}: {p.reason}" for p in found.problems),
        blocks=("name",),
    )


def _finished(run: Run) -> tuple[Cell, ...]:
    r = run.record
    scores = [r.score(s) for s in ("dev", "test")]
    return (
        text_cell(run.name),
        plain_cell("finished"),
        text_cell(called(r.layers, r.settings)),
        plain_cell(str(r.seed)),
        *(plain_cell(percent(score)) for score in scores),
        plain_cell(duration(r.cost.training_seconds)),
    )


def _unfinished(run: UnfinishedRun) -> tuple[Cell, ...]:
    epochs = NONE if run.epochs is None else str(run.epochs)
    return (
        text_cell(run.folder.name),
        plain_cell(f"epoch {run.epochs_done} of {epochs}"),
        text_cell(NONE if run.tuning is None else run.layers or "fine-tuning"),
        plain_cell(NONE if run.seed is None else str(run.seed)),
        plain_cell(percent(run.dev_score)),
        plain_cell(NONE),
        plain_cell(duration(run.seconds)),
    )


def _damaged(problem: Problem) -> tuple[Cell, ...]:
    rest = [plain_cell(NONE)] * (len(HEADS) - 2)
    return (text_cell(problem.folder.name), plain_cell("damaged"), *rest)

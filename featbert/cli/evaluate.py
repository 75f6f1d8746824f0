"""featbert evaluate and speed"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import typer

from featbert import api
from featbert.cli import options as o
from featbert.cli.showing import show_tables
from featbert.config import TIMED_SENTENCES
from featbert.runs.run import Run
from featbert.text import counted, json_text, printable
from featbert.units import duration

if TYPE_CHECKING:
    from featbert.inference.speed import Speed


@o.command("evaluate RUN --data corpora/wnut17 --map person=PER", arguments=("runs",))
def evaluate(request: api.EvaluateRequest, format: o.ReportFormat = o.REPORT_FORMAT) -> None:
    """Score finished runs on other corpora or splits.

    Each run reads the words with its encoder and settings. Features are extracted, or read from the
    cache. Scores and predictions are stored in the run's folder, under evaluations: `featbert runs
    show` shows them, and `featbert compare --evaluated-on CORPUS` compares runs by them.
    """
    evaluations = api.evaluate(request)
    if format == "json":
        rows = [dataclasses.asdict(e.record) | {"path": str(e.path)} for e in evaluations]
        typer.echo(json_text({"evaluations": rows}))
        return
    from featbert.analysis.compare import breakdowns
    from featbert.inference.evaluate import remarks_on
    from featbert.report.listings import evaluations_tables
    from featbert.report.tables import comparison_tables

    pairs = [(e.run, e.record) for e in evaluations]
    notes = dict.fromkeys(note for run, record in pairs for note in remarks_on(run, record))
    tables = evaluations_tables(pairs, [*notes])
    for comparison in breakdowns(evaluations, request.by) if request.by else ():
        tables += comparison_tables(comparison)["where"]
    show_tables(tables, format)


@o.command("speed RUN", arguments=("runs",))
def speed(request: api.SpeedRequest, format: o.TableFormat = o.TABLE_FORMAT) -> None:
    """Time how long runs take to label 1,000 sentences, one at a time and batched.

    Times the way from words to answers: with the encoder for every run, without loading. The newest
    times are stored in the run's folder, and `featbert compare --cost` shows them. Time runs that
    you compare on the same idle machine.
    """
    if format == "json":
        speeds = [dataclasses.asdict(took) for took in api.speed(request)]
        typer.echo(json_text({"speeds": speeds}))
        return

    def show(run: Run, took: Speed) -> None:
        line = (
            f"{run.name}  one at a time {duration(took.one_by_one_seconds)}  batched "
            f"{duration(took.batched_seconds)}  for {TIMED_SENTENCES:,} {run.task.unit}s, by "
            f"{took.sentences} of {took.corpus} {took.split}, "
            f"median of {counted(request.repeats, 'time')}"
        )
        typer.echo(printable(line))

    api.speed(request, on_run=show)

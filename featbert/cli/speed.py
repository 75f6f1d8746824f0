"""featbert speed"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import typer

from featbert import api
from featbert.cli import options as o
from featbert.config import TIMED_SENTENCES
from featbert.runs.run import Run
from featbert.text import counted, json_text, printable
from featbert.units import duration

if TYPE_CHECKING:
    from featbert.inference.speed import Speed


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

"""featbert speed"""

import dataclasses
from pathlib import Path
from typing import Any

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.progress import load_torch
from featbert.config import TIMED_SENTENCES, Compute
from featbert.progress import report
from featbert.text import counted, json_text, printable


@o.command("speed RUN", (Compute,), only=("device", "threads"))
def speed(
    *,
    runs: list[str] = o.argument("RUN", "Finished runs: folders or names.", completion.runs),
    sentences: int = o.option(
        "INT", "Sentences to answer, spread over the test split.", default=200, min=1
    ),
    repeats: int = o.option("INT", "Times to answer them; the median counts.", default=5, min=1),
    best: bool = o.BEST,
    data: str | None = o.RUN_DATA,
    model: str | None = o.RUN_MODEL,
    given: dict[str, Any],
    runs_dir: Path = o.RUNS_DIR,
    format: o.TableFormat = o.TABLE_FORMAT,
) -> None:
    """Time how long runs take to label 1,000 sentences, one at a time and batched.

    From words to answers: the encoder counts for every run, loading does not. The newest times are
    kept in the run's folder; `featbert compare --cost` shows them. Time runs that you compare on
    one machine with nothing else to do.
    """
    from featbert.runs.run import check_usable
    from featbert.units import duration

    found = [o.find_run_called(name, runs_dir, best, data) for name in runs]
    usable = [check_usable(run, model=model) for run in found]
    compute = o.chosen(Compute, given)
    load_torch(compute.threads)

    from featbert.inference.load import load
    from featbert.inference.speed import measure_speed

    times = []
    for one in usable:
        report(f"timing {one.name}")
        loaded = load(one, device=compute.device)
        took = measure_speed(loaded, sentences=sentences, repeats=repeats)
        times.append(dataclasses.asdict(took))
        if format == "text":
            line = (
                f"{one.name}  one at a time {duration(took.one_by_one_seconds)}  batched "
                f"{duration(took.batched_seconds)}  for {TIMED_SENTENCES:,} {one.task.unit}s, by "
                f"{took.sentences} of {took.corpus} {took.split}, "
                f"median of {counted(repeats, 'time')}"
            )
            typer.echo(printable(line))
    if format == "json":
        typer.echo(json_text({"speeds": times}))

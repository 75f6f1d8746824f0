"""featbert evaluate"""

from __future__ import annotations

import dataclasses

import typer

from featbert import api
from featbert.cli import options as o
from featbert.cli.showing import show_tables
from featbert.text import json_text


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

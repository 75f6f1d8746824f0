"""featbert evaluate"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.app import Watched, app
from featbert.cli.meter import Meter
from featbert.cli.text import json_lines, printable_lines
from featbert.text import counted

if TYPE_CHECKING:
    from featbert.runs.evaluate import PlannedEvaluation
    from featbert.runs.evaluations import EvaluationRecord

RunName = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A finished run: its folder, or its name.",
        autocompletion=completion.finished_runs,
    ),
]
RunModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="ENCODER",
        help="The encoder, where it lies elsewhere now.  [default: the one that the run names]",
        autocompletion=completion.models,
    ),
]


@app.command(
    cls=Watched,
    epilog="Example: featbert evaluate RUN --data corpora/wnut17 --map person=PER",
)
def evaluate(
    run: RunName,
    data: o.Data,
    split: Annotated[
        list[str] | None,
        typer.Option(
            "--split",
            metavar="SPLIT",
            help="Split to score; may be given several times.  [default: test, or dev without it]",
            autocompletion=completion.splits,
        ),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FROM=TO",
            help="Another name for an entity type, in gold and predicted tags alike; O takes it "
            "out. May be given several times.",
        ),
    ] = None,
    model: RunModel = None,
    cache_dir: o.CacheDir = Path("cache"),
    runs_dir: o.RunsDir = Path("experiments/runs"),
    device: o.Device = "auto",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Evaluate again what was evaluated before.")
    ] = False,
    format: o.TableFormat = "text",
    language: o.Language = None,
    encoding: o.Encoding = "utf-8",
    scheme: o.Scheme = "auto",
    token_column: o.TokenColumn = None,
    tag_column: o.TagColumn = None,
    quiet: o.Quiet = False,
) -> None:
    """Score a finished run on another language, domain or split.

    The run's own encoder and settings read the words; vectors are extracted, or found in the
    cache. Scores and predictions are kept in the run's folder, under evaluations.
    """
    o.check_folder(cache_dir, "--cache-dir")
    from featbert.data.load import load_corpus
    from featbert.runs.evaluate import choose_splits, parse_mapping, plan_evaluation
    from featbert.runs.load import check_usable, find_run
    from featbert.tasks.base import get_task

    mapping = parse_mapping(types or [])
    found = find_run(run, runs_dir)
    reading = o.reading_options(language, encoding, scheme, token_column, tag_column)
    corpus = load_corpus(data, targets=get_task(found.record.task).targets, **reading)
    names = choose_splits(corpus, split or [])
    usable = check_usable(found, model=model)
    plans = [plan_evaluation(usable, corpus, name, mapping) for name in names]
    records = [None if overwrite else plan.finished for plan in plans]
    done = [record is not None for record in records]
    meter = Meter(quiet=quiet)
    if not all(done):
        meter.load_torch()
        from featbert.runs.evaluate import carry_out
        from featbert.runs.load import load_run

        loaded = load_run(usable, device=device)
        for at, plan in enumerate(plans):
            if records[at] is None:
                meter.say(f"evaluating {found.name} on {corpus.name} {plan.split.name}")
                records[at] = carry_out(plan, loaded, cache_dir)
    results = [
        (plan, record, before)
        for plan, record, before in zip(plans, records, done, strict=True)
        if record is not None
    ]
    if format == "json":
        rows = [
            dataclasses.asdict(record) | {"path": str(plan.path)} for plan, record, _ in results
        ]
        text = json_lines({"evaluations": rows})
    else:
        text = printable_lines("\n".join(_lines(*result) for result in results))
    typer.echo(text)


def _lines(plan: PlannedEvaluation, record: EvaluationRecord, was_there: bool) -> str:
    """A line of scores, and one for each thing that a reader should know about them."""
    from featbert.report.units import duration

    what, values = f"{record.corpus} {record.split}", record.scores.values
    seconds = record.prediction_seconds + (record.extraction_seconds or 0.0)
    lines = [
        f"{what}  F1 {100 * values['f1']:.2f}  precision {100 * values['precision']:.2f}  "
        f"recall {100 * values['recall']:.2f}  {counted(record.scores.examples, 'sentence')}  "
        f"{counted(record.scores.words, 'word')}  "
        f"{'evaluated before' if was_there else duration(seconds)}  {plan.path}"
    ]
    if record.mapping:
        renamed = ", ".join(f"{old}={new}" for old, new in record.mapping.items())
        lines.append(f"  mapped: {renamed}")
    if record.unseen_types:
        lines.append(
            f"  the run was never taught {', '.join(record.unseen_types)}: "
            "all of them count as missed"
        )
    if record.absent_types:
        lines.append(
            f"  {what} has no {', '.join(record.absent_types)}: what the run tags so counts as "
            "wrong"
        )
    if plan.learned:
        lines.append(f"  the run learned from this text: {what} says nothing about other text")
    return "\n".join(lines)

"""featbert evaluate"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.progress import load_torch
from featbert.config import Compute, Data
from featbert.progress import report
from featbert.report.units import duration
from featbert.text import counted, json_text, printable

if TYPE_CHECKING:
    from featbert.runs.evaluate import EvaluationRecord, PlannedEvaluation


@o.command(
    "evaluate RUN --data corpora/wnut17 --map person=PER",
    (Data, Compute),
    without=("data", "task", "tag_scheme", "precision"),
)
def evaluate(
    *,
    run: str = o.RUN,
    data: str = o.option(
        "CORPUS",
        "Corpus folder with train, dev and test files; sample; or hf:NAME.",
        completion.corpora,
        default=...,
    ),
    split: list[str] | None = o.option(
        "SPLIT",
        "Split to score; may be given several times.  [default: test, or dev without it]",
        completion.among("train", "dev", "test"),
    ),
    types: list[str] | None = o.option(
        "FROM=TO",
        "Rename a class in gold and predictions, such as person=PER; O removes it. May be given "
        "several times.",
        None,
        "--map",
    ),
    model: str | None = o.RUN_MODEL,
    given: dict[str, Any],
    cache_dir: Path = o.CACHE_DIR,
    runs_dir: Path = o.RUNS_DIR,
    overwrite: bool = o.flag("--overwrite", "Evaluate again what was evaluated before."),
    format: o.TableFormat = o.TABLE_FORMAT,
) -> None:
    """Score a finished run on another corpus or split.

    The run's own encoder and settings read the words; features are extracted, or found in the
    cache. Scores and predictions are kept in the run's folder, under evaluations.
    """
    o.check_folder(cache_dir, "--cache-dir")
    from featbert.data.load import load_corpus
    from featbert.runs.evaluate import carry_out, choose_splits, parse_mapping, plan_evaluation
    from featbert.runs.run import check_usable, find_run

    mapping = parse_mapping(types or [])
    found = find_run(run, runs_dir)
    corpus = load_corpus(data, targets=found.task.targets, **o.chosen(Data, given).reading)
    names = choose_splits(corpus, split or [])
    usable = check_usable(found, model=model)
    plans = [plan_evaluation(usable, corpus, name, mapping) for name in names]
    results, loaded = [], None
    for plan in plans:
        record = None if overwrite else plan.finished
        was_there = record is not None
        if record is None:
            load_torch()
            from featbert.runs.load import load

            loaded = loaded or load(usable, device=o.chosen(Compute, given).device)
            report(f"evaluating {found.name} on {corpus.name} {plan.split.name}")
            record = carry_out(plan, loaded, cache_dir)
        results.append((plan, record, was_there))
    if format == "json":
        rows = [dataclasses.asdict(record) | {"path": str(p.path)} for p, record, _ in results]
        typer.echo(json_text({"evaluations": rows}))
        return
    for result in results:
        typer.echo(printable("\n".join(_lines(*result)), keep="\n"))


def _lines(plan: PlannedEvaluation, record: EvaluationRecord, was_there: bool) -> list[str]:
    """A line of scores, and one for each thing that a reader should know about them."""
    what = f"{record.corpus} {record.split}"
    task, values = plan.usable.task, record.scores.values
    shown = [f"{task.columns[key]} {100 * values[key]:.2f}" for key in [*values][:3]]
    if record.scores.floor is not None:
        shown.append(f"{task.floor} {100 * record.scores.floor:.2f}")
    sizes = counted(record.scores.examples, task.unit), counted(record.scores.words, "word")
    seconds = record.prediction_seconds + (record.extraction_seconds or 0.0)
    took = "evaluated before" if was_there else duration(seconds)
    lines = ["  ".join([what, *shown, *sizes, took, str(plan.path)])]
    if record.mapping:
        renamed = ", ".join(f"{old}={new}" for old, new in record.mapping.items())
        lines.append(f"  mapped: {renamed}")
    if unseen := ", ".join(record.unseen_types):
        lines.append(f"  the run never saw {unseen} in training: all of them count as missed")
    if absent := ", ".join(record.absent_types):
        lines.append(f"  {what} has no {absent}: predictions of them count as wrong")
    if plan.learned:
        lines.append("  the run was trained on this text: the score says nothing about other text")
    return lines

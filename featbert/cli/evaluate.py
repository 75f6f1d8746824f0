"""featbert evaluate"""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.progress import load_torch
from featbert.cli.showing import show_tables
from featbert.config import Compute, Data
from featbert.errors import check_known
from featbert.progress import report
from featbert.text import json_text


@o.command(
    "evaluate RUN --data corpora/wnut17 --map person=PER",
    (Data, Compute),
    without=("data", "task", "tag_scheme", "precision"),
)
def evaluate(
    *,
    runs: list[str] = o.argument("RUN", "Finished runs: folders or names.", completion.runs),
    data: list[str] = o.option(
        "CORPUS",
        "Corpus: a folder with train, dev and test files, a file with all of test, sample, or "
        "hf:NAME; may be given several times.",
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
    by: list[str] | None = o.BY,
    model: str | None = o.RUN_MODEL,
    given: dict[str, Any],
    cache_dir: Path = o.CACHE_DIR,
    runs_dir: Path = o.RUNS_DIR,
    overwrite: bool = o.flag("--overwrite", "Evaluate again what was evaluated before."),
    format: o.ReportFormat = o.REPORT_FORMAT,
) -> None:
    """Score finished runs on other corpora or splits.

    A run's own encoder and settings read the words; features are extracted, or found in the cache.
    Scores and predictions are kept in the run's folder, under evaluations: `featbert runs show`
    has them, and `featbert compare --on CORPUS` compares runs by them.
    """
    o.check_folder(cache_dir, "--cache-dir")
    from featbert.analysis.compare import compare
    from featbert.analysis.comparison import grouped
    from featbert.analysis.groups import once
    from featbert.data.load import load_corpus
    from featbert.inference.evaluate import (
        choose_splits,
        elsewhere,
        evaluate_planned,
        parse_mapping,
        plan_evaluation,
        remarks_on,
    )
    from featbert.report.listings import evaluations_tables
    from featbert.report.tables import comparison_tables
    from featbert.runs.run import check_usable

    mapping = parse_mapping(types or [])
    compute, reading = o.chosen(Compute, given), o.chosen(Data, given).reading
    reading = dataclasses.replace(reading, alone="test")
    read = functools.cache(lambda place, targets: load_corpus(place, reading, targets=targets))
    found = once(run for name in runs for run in o.find_runs_called(name, runs_dir))
    for run in found:
        check_known("facet", by or (), run.task.facets)
    plans, known = [], dict[str, None]()
    for usable in (check_usable(run, model=model) for run in found):
        for corpus in (read(place, usable.task.targets) for place in dict.fromkeys(data)):
            classes = {*usable.task.classes_of(corpus), *usable.classes}
            known |= dict.fromkeys(sorted(classes))
            own = {old: new for old, new in mapping.items() if len(data) == 1 or old in classes}
            names = choose_splits(corpus, split or [])
            plans += [plan_evaluation(usable, corpus, name, own) for name in names]
    check_known("class in --map", mapping, known)
    results, loaded = [], None
    for plan in plans:
        record = None if overwrite else plan.finished
        if record is None:
            load_torch(compute.threads)
            from featbert.inference.load import load

            if loaded is None or loaded.folder != plan.usable.folder:
                loaded = load(plan.usable, device=compute.device)
            report(f"evaluating {loaded.name} on {plan.corpus.name} {plan.split.name}")
            record = evaluate_planned(plan, loaded, cache_dir)
        else:
            report(f"evaluated before: {plan.path}")
        results.append((plan.usable, record, plan.path))
    if format == "json":
        rows = [dataclasses.asdict(record) | {"path": str(path)} for _, record, path in results]
        typer.echo(json_text({"evaluations": rows}))
        return
    notes = dict.fromkeys(note for run, record, _ in results for note in remarks_on(run, record))
    tables = evaluations_tables([(run, record) for run, record, _ in results], [*notes])
    if by:
        of_run = grouped(((r.source, run.folder), (run, (r, path))) for run, r, path in results)
        views = grouped(
            (source, elsewhere(same[0][0], [one for _, one in same]))
            for (source, _), same in of_run.items()
        )
        for comparison in (one for same in views.values() for one in compare(same, by=by)):
            tables += comparison_tables(comparison)["where"]
    show_tables(tables, format)

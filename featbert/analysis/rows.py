"""Rows of comparable runs, with a baseline. The runs of a row differ in nothing but the seed.

The baseline of a row is the fully tuned row with the best mean score on dev among the rows that
share its freed part of the comparable key and learned from as much text. Without `against`,
differences are never taken across texts, encoders or amounts of training text.
"""

import contextlib
import dataclasses
import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from featbert.analysis.comparison import (
    BASELINE,
    ComparedRun,
    Comparison,
    MixStatistic,
    Row,
    RowCost,
    Statistic,
    best_by_dev,
    grouped,
    same_task,
    shared,
)
from featbert.analysis.curves import learning_lines
from featbert.analysis.frame import fold_means
from featbert.analysis.labels import (
    Way,
    base_name,
    canonical,
    named_differences,
    row_order,
    signature_line,
    with_settings,
)
from featbert.analysis.notes import comparison_notes
from featbert.data.corpus import EVALUATED
from featbert.errors import FeatbertError
from featbert.inference.speed import read_speed
from featbert.runs.grouping import CONDITIONS, VARIED, comparable_key
from featbert.runs.record import RunRecord
from featbert.runs.run import Run, find_run
from featbert.tasks.forecasts import Reliability
from featbert.text import natural

# Runs of each row by its name.
Members = Mapping[str, Sequence[Run]]


def once(runs: Iterable[Run]) -> list[Run]:
    """Each folder once, by name."""
    by_folder = {run.folder.absolute(): run for run in runs}
    return sorted(by_folder.values(), key=lambda run: natural(run.name))


def comparable_rows(runs: Iterable[Run], freed: frozenset[str]) -> tuple[list[Row], Members]:
    """The rows of comparable runs without baselines, in the order of a table, and their runs.

    `freed` are parts of the comparable key.
    """
    groups = list(grouped((_row_key(run, freed), run) for run in runs).values())
    records = [runs_of_row[0].record for runs_of_row in groups]
    cells = [_cell_of(record, freed) for record in records]
    ways = [
        Way(None, r.tuning, r.layers, r.settings, _conditions(r), cell, r.configurations_tried > 1)
        for r, cell in zip(records, cells, strict=True)
    ]
    texts = {way.conditions["train"] for way in ways}
    parts = zip(groups, cells, _varied(records, cells), named_differences(ways), strict=True)
    pairs = []
    for runs_of_row, cell, varied, differences in parts:
        differing = {name: value for name, value in differences.items() if name not in varied}
        if "train" in differing:
            differing["train"] = _training_text(differing["train"], texts)
        pairs.append(build_row(runs_of_row, varied, differing, dict(cell)))
    by_layer = any((row.layers or "").startswith("layer:") for row, _ in pairs)
    pairs.sort(key=lambda pair: row_order(pair[0], by_layer))
    return [row for row, _ in pairs], {row.name: row_runs for row, row_runs in pairs}


def compare_group(
    runs: Sequence[Run],
    freed: frozenset[str],
    against: str | None = None,
    trials: Collection[str] = (),
) -> tuple[Comparison, Members]:
    """A comparison of runs with what their records say, and the runs of each row by its name.

    `against` names the baseline, see `rows_called`. `trials` are names of runs that searches tried
    and did not choose.
    """
    rows, members = comparable_rows(runs, freed)
    chosen = {row.name: any(run.name not in trials for run in row.runs) for row in rows}
    # Without a chosen row the trials themselves are compared.
    keys = {row.rival_key for row in rows if chosen[row.name]}
    rows = [
        dataclasses.replace(row, is_trial=not chosen[row.name] and row.rival_key in keys)
        for row in rows
    ]
    baselines = [] if against is None else rows_called(against, rows)
    rows = [_with_baseline(row, rows, baselines) for row in rows]
    scores = {split: run.record.scores[split] for run in runs for split in run.record.scores}
    splits = tuple(split for split in EVALUATED if split in scores)
    key = shared([comparable_key(run.record) for run in runs])
    shown = [run for row in rows for run in members[row.name]]
    speeds = [speed for run in shown if (speed := read_speed(run)) is not None]
    lines = learning_lines(rows)
    comparison = Comparison(
        rows=tuple(rows),
        task_name=rows[0].task_name,
        splits=splits,
        corpus=_names(runs, "corpus"),
        model=_names(runs, "model"),
        context=_names(runs, "context"),
        scorer=_names(runs, "scorer"),
        sizes={
            s: (scores[s].examples, scores[s].words)
            for s in splits
            if {f"{s}.text", f"{s}.tags"} <= key.keys()
        },
        key=key,
        varied=tuple(rows[0].varied),
        machines=_machines(shown),
        speed_machines=tuple(dict.fromkeys(speed.place for speed in speeds)),
        notes=tuple(comparison_notes(rows, members, runs)),
        learning={name: tuple(row.name for row in line) for name, line in lines.items()},
    )
    return dataclasses.replace(comparison, folds=tuple(fold_means(comparison))), members


def rows_called(name: str, rows: Iterable[Row]) -> list[Row]:
    """Rows of this label or with a run of this name, else rows with a label that begins with it."""
    rows = [*rows]
    exact = [r for r in rows if name in (r.label, r.name, *(run.name for run in r.runs))]
    return exact or [row for row in rows if name == base_name(row.tuning, row.layers)]


def _names(runs: Sequence[Run], field: str) -> str:
    """Each value of a signature's field, the most frequent first."""
    values = Counter(str(getattr(run.record.signature, field)) for run in runs)
    return ", ".join(value for value, _ in values.most_common())


def _with_baseline(row: Row, rows: Sequence[Row], named: Sequence[Row]) -> Row:
    """The row with its baseline: one of those that are `named`, or a fully tuned one."""
    # A named baseline may have another encoder or context, but no other text or scorer.
    reachable = [o for o in named if all(o.data(s) == row.data(s) for s in EVALUATED)]
    tuned = [o for o in rows if o.tuning == BASELINE and same_task(o, row)]
    alike = [o for o in reachable if same_task(o, row)]
    chosen = [o for o in tuned if not o.is_trial]
    base = best_by_dev(alike or reachable or chosen or tuned)
    if base is None:
        return row
    if base is row:
        return dataclasses.replace(row, baseline=base.name)
    difference = {s: row.mean(s) - base.mean(s) for s in row.splits if s in base.splits}
    return dataclasses.replace(row, baseline=base.name, difference=difference)


def _machines(runs: Sequence[Run]) -> tuple[str, ...]:
    """Machines that trained the runs or extracted their features."""
    names: dict[str, None] = {}
    for signature in (run.record.signature for run in runs):
        names[f"{signature.device_name}, threads: {signature.threads}"] = None
        if signature.extraction_device not in (None, signature.device_name):
            names[f"{signature.extraction_device} (extraction)"] = None
    return tuple(names)


# One row ------------------------------------------------------------------------------------------


def _row_key(run: Run, freed: frozenset[str]) -> tuple[object, ...]:
    """What two runs of one row share: everything but seed, place and time."""
    record, settings = run.record, dict(run.record.settings)
    if name := settings.get("head_from"):  # another run for each seed, with the same settings
        with contextlib.suppress(FeatbertError):  # it was removed
            settings["head_from"] = find_run(name, run.folder.parent).record.settings
    conditions = tuple(_conditions(record).items())
    cell = _cell_of(record, freed)
    return record.task, record.tuning, record.layers, canonical(settings), conditions, cell


def build_row(
    runs: Sequence[Run],
    varied: Mapping[str, str],
    differing: Mapping[str, str],
    cell: Mapping[str, str],
) -> tuple[Row, tuple[Run, ...]]:
    """The row of `runs`, which belong together, and the newest run of each seed."""
    ordered = sorted(runs, key=lambda run: (run.record.started, run.name))
    newest = {run.record.seed: run for run in ordered}
    by_seed = tuple(newest[seed] for seed in sorted(newest))
    first, last = by_seed[0].record, ordered[-1].record
    row = Row(
        label=with_settings(base_name(last.tuning, last.layers), differing),
        task_name=last.task,
        tuning=last.tuning,
        layers=last.layers,
        layer_indices=None if last.layer_indices is None else tuple(last.layer_indices),
        model=last.signature.model,
        corpus=last.signature.corpus,
        context=last.signature.context,
        casing=first.signature.casing,
        scorer=first.signature.scorer,
        varied=varied,
        settings=last.settings,
        trained_on=tuple(last.trained_on),
        differing=differing,
        conditions=_conditions(first),
        runs=tuple(map(_compared, by_seed)),
        left_out=tuple(run.name for run in reversed(ordered) if newest[run.record.seed] is not run),
        splits=tuple(s for s in EVALUATED if s in last.scores),
        scores=_scores(by_seed),
        floors={
            split: scores.floor
            for split, scores in first.scores.items()
            if scores.floor is not None
        },
        cost=_cost(by_seed, last),
        cell=cell,
        mix=_mix(by_seed),
        train_sentences=Statistic.of([run.record.train_sentences for run in by_seed]),
        encoder_layers=first.signature.encoder_layers,
        searched=any(run.record.configurations_tried > 1 for run in by_seed),
        quote=signature_line(by_seed),
        reliability=_reliability(by_seed),
    )
    return row, by_seed


def _compared(run: Run) -> ComparedRun:
    record, key = run.record, run.task.measure.key
    return ComparedRun(
        name=run.name,
        seed=record.seed,
        scores={split: scores.all_values for split, scores in record.scores.items()},
        best_epoch=record.best_epoch,
        losses=tuple(epoch.train_loss for epoch in record.history),
        dev_scores=tuple((epoch.dev or {}).get(key) for epoch in record.history),
        cost=vars(record.cost),
    )


def _scores(runs: Sequence[Run]) -> dict[str, dict[str, Statistic]]:
    """Scores over seeds by split and key, as far as all runs have them."""
    by_run = [{s: of.all_values for s, of in run.record.scores.items()} for run in runs]
    return {
        split: {
            key: Statistic.of([scores[split][key] for scores in by_run])
            for key in first
            if all(key in scores[split] for scores in by_run)
        }
        for split, first in by_run[0].items()
        if all(split in scores for scores in by_run)
    }


def _reliability(runs: Sequence[Run]) -> dict[str, Reliability]:
    """Bins of confidence added up over seeds, by split, if all runs have them."""
    by_split = grouped(
        (split, scores.probabilities.reliability)
        for split in EVALUATED
        for run in runs
        if (scores := run.record.scores.get(split)) and scores.probabilities
    )
    return {s: Reliability.total(bins) for s, bins in by_split.items() if len(bins) == len(runs)}


def _mix(runs: Sequence[Run]) -> MixStatistic | None:
    """Without the mixes that hold a number which is not finite."""
    every = [run.record.mix for run in runs if run.record.mix is not None]
    mixes = [mix for mix in every if all(map(math.isfinite, [*mix.weights, mix.scale]))]
    if not mixes:
        return None
    weights = zip(*(mix.weights for mix in mixes), strict=True)
    scale = Statistic.of([mix.scale for mix in mixes])
    return MixStatistic(tuple(mixes[0].layers), tuple(map(Statistic.of, weights)), scale)


def _cell_of(record: RunRecord, freed: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """The freed part of a record's comparable key."""
    return tuple((part, value) for part, value in comparable_key(record).items() if part in freed)


def _varied(
    records: Sequence[RunRecord], cells: Sequence[tuple[tuple[str, str], ...]]
) -> list[dict[str, str]]:
    """For each row's record what varies, by column. Fingerprints where names are the same."""
    columns: list[dict[str, str]] = [{} for _ in records]
    for column, parts in VARIED.items():
        values = [tuple(value for part, value in cell if part in parts) for cell in cells]
        if len(set(values)) < 2:
            continue
        names = [str(getattr(record.signature, column)) for record in records]
        for row, name, value in zip(columns, names, values, strict=True):
            clash = len({v for n, v in zip(names, values, strict=True) if n == name}) > 1
            row[column] = f"{name} {'/'.join(v[:8] for v in value)}" if clash else name
    return columns


def _conditions(record: RunRecord) -> dict[str, str]:
    """Signature fields outside the comparable key in which the runs of a row agree."""
    signature = record.signature
    train = signature.splits.get("train")
    values = {name: getattr(signature, name, None) or "none" for name in CONDITIONS}
    values["train"] = f"{train.sentences} sentences {train.text}/{train.tags}" if train else "none"
    return values


def _training_text(value: str, among: Iterable[str]) -> str:
    """A training text by its size. With fingerprints where another one has the same size."""
    size, _, fingerprints = value.rpartition(" ")
    if sum(text.rpartition(" ")[0] == size for text in among) == 1:
        return size or value
    return f"{size} {'/'.join(fingerprint[:8] for fingerprint in fingerprints.split('/'))}"


def _cost(runs: Sequence[Run], newest: RunRecord) -> RowCost:
    costs = [run.record.cost for run in runs]
    speeds = [speed for speed in map(read_speed, runs) if speed is not None]
    seconds = sum(cost.prediction_seconds for cost in costs)
    words = sum(cost.prediction_words for cost in costs)
    from_text = seconds + sum(
        cost.extraction_seconds * cost.prediction_words / run.original.record.words
        for run in runs
        if (cost := run.record.cost).extraction_seconds
    )
    names = [field.name for field in dataclasses.fields(RowCost)]
    whole: dict[str, Any] = {name: getattr(newest.cost, name, None) for name in names}
    whole |= {
        "training_seconds": Statistic.of([cost.training_seconds for cost in costs]),
        "training_flops": statistics.fmean(cost.training_flops for cost in costs),
        "prediction_flops": statistics.fmean(cost.prediction_flops for cost in costs),
        "prediction_words_per_second": words / seconds if seconds > 0 else None,
        "text_words_per_second": words / from_text if from_text > 0 else None,
        "peak_memory_bytes": max(cost.peak_memory_bytes for cost in costs),
    }
    share = statistics.fmean(run.original.record.share_learned_from for run in runs)
    for name in ("extraction_seconds", "extraction_words", "extraction_flops"):
        whole[name] = whole[name] and share * whole[name]
    whole["extraction_words"] = whole["extraction_words"] and round(whole["extraction_words"])
    if speeds:
        for name in ("one_by_one_seconds", "batched_seconds"):
            whole[name] = statistics.fmean(getattr(speed, name) for speed in speeds)
    return RowCost(**whole)

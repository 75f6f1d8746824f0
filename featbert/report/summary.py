"""A comparison in words: which approach is better here, can it be trusted, what does it cost.

Each sentence says what a number of the tables says and no more. The features row and the fine-tuned
row were chosen on dev; what is told of them is told of test where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from featbert.analysis.compare import BASELINE, best_by_dev
from featbert.analysis.curves import lead_line, leads, learning_points
from featbert.analysis.resampling import FEWEST
from featbert.report import units
from featbert.report.tables import CLEAR, p_value
from featbert.runs.grouping import CONDITIONS
from featbert.text import counted, in_percent

if TYPE_CHECKING:
    from featbert.analysis.compare import Comparison, Row
    from featbert.analysis.cost import CostRow
    from featbert.analysis.significance import Difference


@dataclass(frozen=True)
class Finding:
    """What a comparison says of one corpus, encoder and context.

    Attributes:
        about: what it is of where the comparison varies something, else ""; rows are called by
            their labels, which leave that out.
        lines: (topic, sentence) in the order of the three questions.
    """

    about: str
    lines: tuple[tuple[str, str], ...]


def findings(comparison: Comparison) -> list[Finding]:
    """One finding for each freed part of the comparison, in the order of its rows."""
    cells: dict[tuple[tuple[str, str], ...], list[Row]] = {}
    for row in comparison.rows:
        cells.setdefault(tuple(row.cell.items()), []).append(row)
    return [
        Finding(
            units.visible(" · ".join(rows[0].varied.values())),
            tuple((topic, units.visible(line)) for topic, line in _lines(comparison, rows)),
        )
        for rows in cells.values()
    ]


def _lines(comparison: Comparison, rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    data = [lead_line(lead) for lead in leads(learning_points(rows))]
    rows = [row for row in rows if row.train_share == max(other.train_share for other in rows)]
    features = best_by_dev([row for row in rows if row.frozen])
    tuned = best_by_dev([row for row in rows if row.tuning == BASELINE])
    if features is None or tuned is None:
        only = features or tuned
        if only is not None:
            yield "Quality", _alone(only, rows)
        missing = "on features" if features is None else "of fine-tuning"
        yield "Missing", f"There are no runs {missing} here, so the two are not side by side."
    else:
        split = "test" if "test" in features.splits and "test" in tuned.splits else "dev"
        yield "Quality", _quality(features, tuned, split)
        yield "Trust", _trust(comparison, features, tuned, split)
        yield "Cost", _cost(comparison, features, tuned)
        where = _where(comparison, features, tuned, split)
        if where:
            yield "Where", where
    for line in data:
        yield (
            "Data",
            f"{line[0].upper()}{line[1:]}. These are means; the differences say what holds.",
        )
    layers = [] if features is None else _alike(features, rows)
    if len(layers) > 1:
        yield "Layers", _layers(layers)


def _alone(row: Row, rows: Sequence[Row]) -> str:
    split = "test" if "test" in row.splits else "dev"
    among = " is the best row by dev and" if len(rows) > 1 else ""
    return f"{row.label}{among} reaches {_f1(row, split)} {split} F1{_seeds(row)}."


def _quality(features: Row, tuned: Row, split: str) -> str:
    difference = tuned.mean(split) - features.mean(split)
    names = "fine-tuning", "features"
    if units.points(difference) == units.points(0.0):
        verdict = "the two are equal."
    else:
        ahead, behind = names if difference > 0 else reversed(names)
        verdict = f"{ahead} is {_points(difference)} ahead of {behind}."
        if ahead == "features":
            verdict = f"features are {_points(difference)} ahead of {behind}."
    chosen = f"the best features row by dev, {features.label}, {_f1(features, split)}"
    only = " (dev, which also chose the epochs; there is no test)" if split == "dev" else ""
    part = "" if tuned.train_share == 1 else f"With {in_percent(tuned.train_share)} of train, on"
    return (
        f"{part or 'On'} {split}{only}, {tuned.label} reaches {_f1(tuned, split)} F1"
        f"{_seeds(tuned)}, and {chosen}{_seeds(features)}: {verdict}"
    )


def _alike(best: Row, rows: Sequence[Row]) -> list[Row]:
    """Rows on features that differ from the best one in their layers and in nothing else."""

    def shared(row: Row) -> tuple[Any, ...]:
        # Only a learned mix has a rate of its own.
        settings = {n: value for n, value in row.settings.items() if n != "mix_learning_rate"}
        return settings, *(row.signature.get(name) for name in (*CONDITIONS, "splits"))

    return [
        row for row in rows if row.frozen and "dev" in row.splits and shared(row) == shared(best)
    ]


def _trust(comparison: Comparison, features: Row, tuned: Row, split: str) -> str:
    said = _trusted(comparison, features, tuned, split)
    dev = _test_of(comparison, features, tuned, "dev")
    if split == "dev" or dev is None:
        return said
    seeds = ""
    if dev.over_seeds is not None:
        low, high = dev.over_seeds.low, dev.over_seeds.high
        seeds = f" ({units.points(low)} to {units.points(high)} over seeds)"
    p = _equals(p_value(dev.adjusted))
    return f"{said} On dev the difference is {units.points(dev.pooled.difference)}{seeds}, p {p}."


def _trusted(comparison: Comparison, features: Row, tuned: Row, split: str) -> str:
    test = _test_of(comparison, features, tuned, split)
    if test is None:
        return (
            "The difference is not tested: predictions of both rows with a common seed are needed."
        )
    over_text = f"p {_equals(p_value(test.adjusted))} after Holm's correction"
    clear_text = test.adjusted < CLEAR
    if test.over_seeds is None:
        seeds = counted(len(test.seeds), "seed says", "seeds say")
        text = "tells them apart" if clear_text else "does not tell them apart"
        return (
            f"The text {text} ({over_text}); {seeds} nothing about further seeds, for which at "
            f"least {FEWEST} are needed."
        )
    low, high = test.over_seeds.low, test.over_seeds.high
    level = f"{100 * test.over_seeds.level:.0f}%"
    over_seeds = (
        f"{level} interval of the difference to fine-tuning "
        f"{units.points(low)} to {units.points(high)} points"
    )
    clear_seeds = low > 0 or high < 0
    if clear_text and clear_seeds:
        return f"It holds over seeds ({over_seeds}) and over the text ({over_text})."
    if clear_text:
        return (
            f"Over the text it is clear ({over_text}), over seeds it is not ({over_seeds}): "
            "other seeds may turn it."
        )
    if clear_seeds:
        return (
            f"Over seeds it is clear ({over_seeds}), over the text it is not ({over_text}): "
            "another text may turn it."
        )
    return f"Neither seeds ({over_seeds}) nor text ({over_text}) tell the two apart."


def _test_of(comparison: Comparison, features: Row, tuned: Row, split: str) -> Difference | None:
    return next(
        (
            d
            for d in comparison.differences
            if (d.row, d.baseline, d.split) == (features.name, tuned.name, split)
        ),
        None,
    )


def _cost(comparison: Comparison, features: Row, tuned: Row) -> str:
    ours, theirs = features.cost, tuned.cost
    priced = next((c for c in comparison.costs if c.row == features.name), None)
    once = ours.extraction_seconds if priced is None else priced.seconds.once
    paid = f", after {units.duration(once)} of extraction, paid once" if once else ""
    said = (
        f"A run on features trains {units.parameters(ours.trained_parameters)} parameters in "
        f"{units.duration(ours.training_seconds.mean)}{paid}; a fine-tuned run "
        f"{units.parameters(theirs.trained_parameters)} in "
        f"{units.duration(theirs.training_seconds.mean)}"
    )
    if priced is None or priced.against != tuned.name:
        return f"{said}."
    return f"{said}. {_break_even(priced)}"


def _break_even(cost: CostRow) -> str:
    by_time, by_operations = cost.seconds.cheaper_from, cost.flops.cheaper_from
    told = {None: "at no number of runs", 1: "from the first run on"}
    time = told.get(by_time, f"from run {by_time} on")
    operations = told.get(by_operations, f"from run {by_operations} on")
    if time == operations:
        return f"Features are the cheaper way {time}, by time as by operations."
    return f"By time features are the cheaper way {time}, by operations {operations}."


def _where(comparison: Comparison, features: Row, tuned: Row, split: str) -> str:
    """The entity types at which each is ahead most."""
    by_type = [
        b
        for b in comparison.breakdowns
        if b.facet == "type" and b.split == split and {features.name, tuned.name} <= b.rows.keys()
    ]
    if not by_type or len(by_type[0].gold) < 2:
        return ""
    found = by_type[0]
    ahead = {
        kind: found.rows[features.name][kind].mean - found.rows[tuned.name][kind].mean
        for kind in found.gold
    }
    best, worst = max(ahead, key=ahead.__getitem__), min(ahead, key=ahead.__getitem__)
    said = [
        f"{who} at {kind} by {_points(ahead[kind])} ({found.gold[kind]:,} gold entities)"
        for who, kind, is_ahead in (
            ("features", best, ahead[best] > 0),
            ("fine-tuning", worst, ahead[worst] < 0),
        )
        if is_ahead
    ]
    return f"By entity type on {split}, the widest leads are {' and '.join(said)}." if said else ""


def _layers(rows: Sequence[Row]) -> str:
    ordered = sorted(rows, key=lambda row: row.mean("dev"))
    low, high = ordered[0], ordered[-1]
    apart = high.mean("dev") - low.mean("dev")
    return (
        f"The {len(rows)} rows on features lie {_points(apart)} apart on dev, from {low.label} "
        f"({_f1(low, 'dev')}) to {high.label} ({_f1(high, 'dev')})."
    )


def _f1(row: Row, split: str) -> str:
    return units.percent(row.mean(split))


def _points(difference: float) -> str:
    return f"{units.percent(abs(difference))} points"


def _seeds(row: Row) -> str:
    return f" (mean of {len(row.runs)} seeds)" if len(row.runs) > 1 else " (one seed)"


def _equals(p: str) -> str:
    return p if p.startswith("<") else f"= {p}"

"""A comparison in words: which way is better, is that significant, what does it cost.

Each sentence repeats numbers of the tables, and says no more. The features row and the tuned row
were chosen on dev. They are compared on the last split that both were scored on.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from featbert import units
from featbert.analysis.comparison import (
    BASELINE,
    Breakdown,
    Comparison,
    Contest,
    Difference,
    Row,
    best_by_dev,
    rivals,
)
from featbert.analysis.cost import CURRENCIES, machines_of
from featbert.analysis.labels import base_name
from featbert.analysis.notes import side_by_side
from featbert.analysis.resampling import FEWEST, Interval, PairedTest, few_seeds, t_interval
from featbert.analysis.rows import Members
from featbert.analysis.significance import paired_runs, seed_differences
from featbert.data.corpus import EVALUATED
from featbert.encoders.tunings import get_tuning
from featbert.text import counted, enumerated

# The split that epochs and rows are chosen on.
_DEV = EVALUATED[0]
# Rows that a verdict names at most, and the costs of which the summary names the least.
_NAMED = 3
_BOUGHT = ("operations", "kept", "one_by_one", "batched")
# Words for a difference by its significance over text and over seeds (None: too few seeds).
_HOLDS = {
    (True, True): ", clearly",
    (True, None): " on this text",
    (True, False): " on this text, but perhaps not with other seeds",
    (False, True): " with other seeds, too, but perhaps not on other text",
}
# Times within this factor say little.
_AS_QUICK = 1.1


@dataclass(frozen=True)
class _Case:
    """A contest with its rows, for sentences. `timed`: whether training times can be compared."""

    comparison: Comparison
    rows: list[Row]
    features: Row | None
    tuned: Row | None
    split: str | None
    over_text: Difference | None
    timed: bool


def with_contests(comparison: Comparison, members: Members) -> Comparison:
    """The comparison with a contest for each freed part of it, in the order of its rows."""
    contests = tuple(_contest(comparison, rows, members) for rows in rivals(comparison.rows))
    return dataclasses.replace(comparison, contests=contests)


def _contest(comparison: Comparison, rows: list[Row], members: Members) -> Contest:
    features = best_by_dev([row for row in rows if row.frozen])
    tuned = best_by_dev([row for row in rows if row.tuning == BASELINE])
    split, over_seeds, over_text, ahead, timed = None, None, None, None, True
    if features is not None and tuned is not None:
        split = [s for s in comparison.splits if s in features.splits and s in tuned.splits][-1]
        sides = members[tuned.name], members[features.name]
        over_seeds = t_interval(seed_differences(paired_runs(*sides), split))
        pair = (features.name, tuned.name, split)
        tests = (*comparison.differences, *comparison.leads)
        over_text = next((t for t in tests if (t.row, t.baseline, t.split) == pair), None)
        if over_text and (split in features.learned or split in tuned.learned):
            ahead = {1: features.name, -1: tuned.name}.get(over_text.sign)
        timed = not side_by_side(itertools.chain(*sides))
    case = _Case(comparison, rows, features, tuned, split, over_text, timed)
    return Contest(
        about=units.visible(" · ".join(rows[0].varied.values())),
        features=features.name if features else None,
        tuned=tuned.name if tuned else None,
        split=split,
        over_seeds=over_seeds,
        over_text=over_text,
        ahead=ahead,
        findings=tuple((topic, units.visible(line)) for topic, line in _lines(case)),
    )


def _lines(case: _Case) -> Iterator[tuple[str, str]]:
    """Topics and sentences."""
    comparison, rows = case.comparison, case.rows
    leader = best_by_dev(rows)
    if leader is not None and len(rows) > 1:
        yield "Verdict", _verdict(case, leader)
        yield "Trade-offs", _trade_offs(case, leader)
    features, tuned, split = case.features, case.tuned, case.split
    if features is None or tuned is None or split is None:
        if leader is not None and len(rows) == 1:
            split = leader.splits[-1]
            result = f"{_called(case, leader)} reaches {_score(leader, split)} on {split}."
            yield "Quality", result + _floor(leader, split)
        side = "on features" if features is None else f"of {get_tuning(BASELINE).title}"
        yield "Missing", f"There are no runs {side} here to compare with."
    else:
        yield "Quality", _quality(case, features, tuned, split)
        yield "Cost", _cost(case, features, tuned)
        sides = {features.name, tuned.name}
        for breakdown in comparison.breakdowns:
            if (
                breakdown.split == split
                and len(breakdown.gold) > 1
                and sides <= breakdown.rows.keys()
            ):
                yield "Where", _where(case, breakdown, features, tuned)
                break


def _called(case: _Case, row: Row) -> str:
    """A row without its settings, if no other row of the contest has its name."""
    names = [base_name(other.tuning, other.layers) for other in case.rows]
    name = base_name(row.tuning, row.layers)
    return name if names.count(name) == 1 else row.label


def _leads(case: _Case, leader: Row) -> dict[str, Difference]:
    """Tests of the other rows against the leader, by what these are called, the nearest first."""
    names = {row.name: _called(case, row) for row in case.rows}
    leads = [d for d in case.comparison.leads if d.baseline == leader.name]
    leads.sort(key=lambda lead: -lead.mean)
    return {names[lead.row]: lead for lead in leads if lead.row in names}


def _verdict(case: _Case, leader: Row) -> str:
    """The best row and its lead. "Undecided" if the lead is not significant."""
    split, leads, name = leader.splits[-1], _leads(case, leader), _called(case, leader)
    score = (
        f"{name}, the best row by {leader.splits[0]}, reaches {_score(leader, split)} on {split}"
    )
    if not any(split in row.learned for row in case.rows):
        return f"No row learned anything: {score}.{_floor(leader, split)}"
    if not leads:
        return f"Undecided: {score}; differences are not tested."
    near = {label: lead for label, lead in leads.items() if lead.sign >= 0}
    n_untested = len(case.rows) - 1 - len(leads)
    untested = f" {counted(n_untested, 'row is', 'rows are')} not tested." if n_untested else ""
    if not near:
        label, lead = next(iter(leads.items()))
        return (
            f"{name} is the best of {len(leads) + 1} rows: {_score(leader, split)} on "
            f"{split}. The next is {label} ({_apart(lead)}).{untested}"
        )
    parts, alike = [f"Undecided: {score}"], dict[str, list[str]]()
    for label, lead in near.items():
        alike.setdefault(_stands(lead), []).append(f"{label} ({_apart(lead)})")
    for stands, labels in alike.items():
        if len(labels) > _NAMED:
            labels[_NAMED:] = [f"{len(labels) - _NAMED} more"]
        parts.append(f"{stands}: {enumerated(labels)}")
    if behind := len(leads) - len(near):
        parts.append(f"Clearly below it: {counted(behind, 'row')}")
    if (n_seeds := max(len(lead.seeds) for lead in near.values())) < FEWEST:
        parts.append(few_seeds(n_seeds))
    return f"{'. '.join(parts)}.{untested}"


def _stands(lead: Difference) -> str:
    """A row's position relative to the leader, which is not clearly ahead of it."""
    if lead.sign:
        return "Clearly above it"
    if not (lead.holds_on_text or lead.holds_over_seeds):
        return "Not significantly different from it"
    return f"{'Above' if lead.mean > 0 else 'Below'} it{_holds(lead)}"


def _holds(lead: Difference) -> str:
    """Whether a difference holds on other text and seeds."""
    return _HOLDS.get((lead.holds_on_text, lead.holds_over_seeds), ", not significantly")


def _apart(lead: Difference) -> str:
    """`1.20 points below it; 95% interval over seeds: 0.40 to 2.00 below; adjusted p = 0.012`"""
    over, interval = ("seeds", lead.over_seeds) if lead.over_seeds else ("text", lead.pooled)
    level = f"{100 * interval.level:.0f}% interval over {over}"
    if lead.mean == interval.low == interval.high == 0:
        return "equal to it"
    return f"{_above(lead.mean)} it; {level}: {_from_to(interval)}; adjusted {_p(lead.adjusted)}"


def _above(difference: float) -> str:
    return f"{_points(difference)} {'below' if difference < 0 else 'above'}"


def _from_to(interval: Interval | PairedTest) -> str:
    """`0.40 to 2.00 below`, `0.40 below to 2.00 above`"""
    low, high = interval.low, interval.high
    if low < 0 < high:
        return f"{units.percent(-low)} below to {units.percent(high)} above"
    near, far = (units.percent(end) for end in sorted((abs(low), abs(high))))
    return f"{near} to {far} {'below' if low < 0 else 'above'}"


def _trade_offs(case: _Case, leader: Row) -> str:
    """The row with the least of each cost, and how far it is from the best one by dev.

    Of rows that cost as little, it is the one with the best score.
    """
    split, leads, best = leader.splits[-1], _leads(case, leader), _called(case, leader)
    rows = [row for row in case.rows if split in row.splits]
    gains_by_row = {best: [f"the best {leader.splits[0]} score"]}
    for name in _BOUGHT:
        currency, places = CURRENCIES[name], machines_of(case.comparison, name)
        costs = [(cost, row) for row in rows if (cost := currency.of(row))]
        if len(costs) > 1 and len(places) < 2:
            show, least = units.SHOWN[currency.unit], min(cost for cost, _ in costs)
            limit = _AS_QUICK * least if currency.timed else least
            equal = [pair for pair in costs if pair[0] <= limit or show(pair[0]) == show(least)]
            cost, row = max(equal, key=lambda pair: pair[1].mean(split))
            gains_by_row.setdefault(_called(case, row), []).append(
                f"{currency.least} ({show(cost)})"
            )
    for label, lead in leads.items():
        if label in gains_by_row:
            holds = "" if lead.sign else f" ({_holds(lead).lstrip(', ')})"
            gains_by_row[label].append(f"{_above(lead.mean)} {best} on {split}{holds}")
    return "; ".join(f"{label}: {', '.join(gains)}" for label, gains in gains_by_row.items()) + "."


def _quality(case: _Case, features: Row, tuned: Row, split: str) -> str:
    """Both scores, and their difference with its intervals."""
    theirs, ours = _called(case, tuned), _called(case, features)
    only = f" ({_DEV} also chose the epochs)" if split == _DEV else ""
    part = f", with {tuned.part_name}" if tuned.part_name else ""
    text = (
        f"On {split}{only}{part}, {theirs} reaches {_score(tuned, split)}, and the best row on "
        f"features by dev, {ours}, {_score(features, split)}"
    )
    floor, difference = _floor(tuned, split), features.mean(split) - tuned.mean(split)
    if not (split in features.learned or split in tuned.learned):
        return f"{text}: neither learned anything.{floor}"
    equal = units.points(difference) == units.points(0.0)
    text += ". The two are equal" if equal else f". {ours} is {_above(difference)} {theirs}"
    test = case.over_text
    if test is None:
        return f"{text} (not tested against each other).{floor}"
    if not equal:
        text += _holds(test)
    over = "" if test.over_seeds is None else f"over seeds: {_from_to(test.over_seeds)}; "
    text += (
        f" ({100 * test.pooled.level:.0f}% interval {over}over text: {_from_to(test.pooled)}; "
        f"adjusted {_p(test.adjusted)})."
    )
    if test.over_seeds is None:
        text += f" {few_seeds(len(test.seeds))}."
    return text + floor


def _floor(row: Row, split: str) -> str:
    """The score without skill on a row's text, if known."""
    value = row.floors.get(split)
    if value is None:
        return ""
    return f" {row.task.floor.capitalize()} gives {units.percent(value)}."


def _cost(case: _Case, features: Row, tuned: Row) -> str:
    comparison = case.comparison
    ours, theirs = features.cost, tuned.cost
    price = comparison.prices.get(features.name)
    once = ours.extraction_seconds
    paid = f", after {units.duration(once)} of extraction, paid once" if once else ""
    text = (
        f"A run on features trains {units.parameters(ours.trained_parameters)} parameters in "
        f"{units.duration(ours.training_seconds.mean)}{paid}; a tuned run "
        f"{units.parameters(theirs.trained_parameters)} in "
        f"{units.duration(theirs.training_seconds.mean)}."
    )
    if price is None or price.tuned_row != tuned.name:
        return text
    words = {math.inf: "at no number of runs", 1: "from the first run on"}
    runs = price.seconds_cheaper_from, price.flops_cheaper_from
    time, operations = (words.get(run or 0, f"from run {run:.0f} on") for run in runs)
    timed = len(machines_of(comparison)) < 2 and case.timed
    time_part = f"less time {time}, and " * timed
    return f"{text} Features take {time_part}fewer operations {operations}."


def _where(case: _Case, breakdown: Breakdown, features: Row, tuned: Row) -> str:
    """The buckets of a facet at which each is ahead most."""
    ours, theirs = breakdown.rows[features.name], breakdown.rows[tuned.name]
    ahead = {bucket: ours[bucket].mean - theirs[bucket].mean for bucket in breakdown.gold}
    best, worst = max(ahead, key=ahead.__getitem__), min(ahead, key=ahead.__getitem__)
    leading = ((features, best, ahead[best] > 0), (tuned, worst, ahead[worst] < 0))
    parts = [
        f"{_called(case, row)} at {bucket} by {_points(ahead[bucket])} "
        f"({breakdown.gold[bucket]:,} in gold)"
        for row, bucket, is_ahead in leading
        if is_ahead
    ]
    if not parts:
        return f"By {breakdown.meaning} on {breakdown.split}, neither row leads anywhere."
    return f"By {breakdown.meaning} on {breakdown.split}, the widest leads: {' and '.join(parts)}."


def _score(row: Row, split: str) -> str:
    seeds = f"mean of {len(row.runs)} seeds" if len(row.runs) > 1 else "one seed"
    return f"{units.percent(row.mean(split))} {row.task.measure.name} ({seeds})"


def _points(difference: float) -> str:
    return f"{units.percent(abs(difference))} points"


def _p(value: float) -> str:
    return f"p = {units.p_value(value)}".replace("= <", "<")

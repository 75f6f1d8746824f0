"""A comparison in words: which way is better here, can it be trusted, what does it cost.

Each sentence says what a number of the tables says and no more. The features row and the tuned row
were chosen on dev; they are compared on the last split that both were scored on.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from featbert.analysis.compare import CLEAR, Comparison, Difference
from featbert.analysis.cost import CURRENCIES
from featbert.analysis.curves import lead_lines
from featbert.analysis.overview import Contest, contests, test_of
from featbert.analysis.resampling import FEWEST
from featbert.analysis.rows import BASELINE, Row, best_by_dev
from featbert.encoders.tunings import get_tuning
from featbert.report import units
from featbert.runs.grouping import EVALUATED
from featbert.text import counted, enumerated, in_percent

# The split that epochs and rows are chosen on.
_DEV = EVALUATED[0]
# Rows that a verdict names at most, and the costs of which the summary names the least.
_NAMED = 3
_BOUGHT = ("operations", "kept", "one_by_one", "batched")
# Times within this factor say little.
_AS_QUICK = 1.1


class Finding(NamedTuple):
    """What a comparison says of one corpus, encoder and context: (topic, sentence) in order."""

    about: str
    lines: list[tuple[str, str]]


def findings(comparison: Comparison) -> list[Finding]:
    """One finding for each freed part of the comparison, in the order of its rows."""
    return [
        Finding(
            units.visible(" · ".join(contest.rows[0].varied.values())),
            [(topic, units.visible(line)) for topic, line in _lines(contest)],
        )
        for contest in contests(comparison)
    ]


def _lines(contest: Contest) -> Iterator[tuple[str, str]]:
    comparison, rows = contest.comparison, contest.rows
    leader = best_by_dev(rows)
    if leader is not None and len(rows) > 1:
        yield "Verdict", _verdict(contest, leader)
        yield "Buys", _buys(contest, leader)
    features, tuned, split = contest.features, contest.tuned, contest.split
    if features is None or tuned is None or split is None:
        only = features or tuned
        if only is not None:
            among = " is the best row by dev and" if len(rows) > 1 else ""
            split = only.splits[-1]
            said = f"{only.label}{among} reaches {_score(only, split)}."
            yield "Quality", said + _floor(only, split)
        missing = "on features" if features is None else f"of {get_tuning(BASELINE).title}"
        yield "Missing", f"There are no runs {missing} here to compare with."
    else:
        yield "Quality", _quality(features, tuned, split)
        yield "Trust", _trust(contest, features, tuned, split)
        yield "Cost", _cost(comparison, features, tuned)
        for breakdown in comparison.breakdowns[:1]:
            yield "Where", _where(comparison, breakdown.facet, features, tuned, split)
    for line in lead_lines([row for row in comparison.rows if row.cell == rows[0].cell]):
        yield "Data", f"{line[0].upper()}{line[1:]}. These are means."
    alike = [row for row in rows if row.frozen and features and row.reading == features.reading]
    scored = sorted((row.mean(_DEV), row.label) for row in alike if _DEV in row.splits)
    if len(scored) > 1:
        low, high = scored[0], scored[-1]
        yield (
            "Layers",
            f"The {len(scored)} rows on features differ by up to {_points(high[0] - low[0])} on "
            f"{_DEV}, from {low[1]} ({units.percent(low[0])}) to {high[1]} "
            f"({units.percent(high[0])}).",
        )


def _leads(contest: Contest, leader: Row) -> dict[str, Difference]:
    """Tests of the other rows against the leader, by their labels, the nearest first."""
    labels = {row.name: row.label for row in contest.rows}
    leads = [d for d in contest.comparison.leads if d.baseline == leader.name]
    leads.sort(key=lambda lead: -lead.pooled.difference)
    return {labels[lead.row]: lead for lead in leads if lead.row in labels}


def verdicts(comparison: Comparison) -> list[str]:
    """A line for each freed part of the comparison: which row is the best, by how much."""
    found = [(contest, best_by_dev(contest.rows)) for contest in contests(comparison)]
    return [
        units.visible(": ".join([*contest.rows[0].varied.values(), _verdict(contest, leader)]))
        for contest, leader in found
        if leader is not None and len(contest.rows) > 1
    ]


def _verdict(contest: Contest, leader: Row) -> str:
    """Which row is the best and by how much; "Undecided" where text or seeds do not say it."""
    split, leads = leader.splits[-1], _leads(contest, leader)
    score = (
        f"{leader.label}, the best row by {leader.splits[0]}, reaches {_score(leader, split)} on "
        f"{split}"
    )
    if not leads:
        return f"Undecided: {score}; differences are not tested."
    near = {label: lead for label, lead in leads.items() if lead.sign >= 0}
    if not near:
        label, lead = next(iter(leads.items()))
        return (
            f"{leader.label} is the best of {len(contest.rows)} rows: {_score(leader, split)} on "
            f"{split}; the next is {_apart(label, lead)}."
        )
    named = [_apart(label, lead) for label, lead in near.items()]
    if len(named) > _NAMED:
        named[_NAMED:] = [f"{len(named) - _NAMED} more"]
    parts = [f"Undecided: {score}", f"it is not shown to be ahead of {enumerated(named)}"]
    if behind := len(leads) - len(near):
        parts.append(f"{counted(behind, 'row is', 'rows are')} clearly behind")
    if (most := max(len(lead.seeds) for lead in near.values())) < FEWEST:
        parts.append(f"{counted(most, 'seed says', 'seeds say')} nothing about further seeds")
    return f"{'; '.join(parts)}."


def _apart(label: str, lead: Difference) -> str:
    """`last (-1.20 points, 95% interval over seeds -2.00 to -0.40, p = 0.012)`"""
    over, interval = ("seeds", lead.over_seeds) if lead.over_seeds else ("text", lead.pooled)
    low, high = units.points(interval.low), units.points(interval.high)
    return (
        f"{label} ({units.points(lead.pooled.difference)} points, {100 * interval.level:.0f}% "
        f"interval over {over} {low} to {high}, {_p(lead.adjusted)})"
    )


def _buys(contest: Contest, leader: Row) -> str:
    """The row with the least of each cost, and how far it is from the best one by dev.

    Of rows that cost as little, it is the one with the best score.
    """
    split, leads = leader.splits[-1], _leads(contest, leader)
    rows = [row for row in contest.rows if split in row.splits]
    found = {leader.label: [f"the best {leader.splits[0]} score"]}
    for currency in map(CURRENCIES.__getitem__, _BOUGHT):
        known = [(cost, row) for row in rows if (cost := currency.of(row)) and math.isfinite(cost)]
        if len(known) > 1:
            show, least = units.SHOWN[currency.unit], min(cost for cost, _ in known)
            most = _AS_QUICK * least if currency.timed else least
            equal = [one for one in known if one[0] <= most or show(one[0]) == show(least)]
            cost, row = max(equal, key=lambda one: one[1].mean(split))
            found.setdefault(row.label, []).append(f"{currency.least} ({show(cost)})")
    for label, lead in leads.items():
        if label in found:
            clear = "" if lead.sign else ", not distinguished"
            found[label].append(f"{units.points(lead.pooled.difference)} points on {split}{clear}")
    return "; ".join(f"{label}: {', '.join(gains)}" for label, gains in found.items()) + "."


def _quality(features: Row, tuned: Row, split: str) -> str:
    difference = tuned.mean(split) - features.mean(split)
    ahead, behind = (tuned, features) if difference > 0 else (features, tuned)
    verdict = f"{ahead.label} is {_points(difference)} ahead of {behind.label}."
    if units.points(difference) == units.points(0.0):
        verdict = "the two are equal."
    only = f" ({_DEV} also chose the epochs)" if split == _DEV else ""
    part = f", with {in_percent(tuned.train_share)} of train" if tuned.train_share != 1 else ""
    return (
        f"On {split}{only}{part}, {tuned.label} reaches {_score(tuned, split)}, and the best row "
        f"on features by dev, {features.label}, {_score(features, split)}: {verdict}"
        f"{_floor(tuned, split)}"
    )


def _floor(row: Row, split: str) -> str:
    """What a system without skill gets on the text of a row, where it is known."""
    value = row.runs[0].record.scores[split].floor
    if value is None:
        return ""
    floor = row.task.floor
    return f" {floor[0].upper()}{floor[1:]} gives {units.percent(value)}."


def _trust(contest: Contest, features: Row, tuned: Row, split: str) -> str:
    test, dev = contest.over_text, test_of(contest.comparison, features, tuned, _DEV)
    if test is None:
        return (
            "The difference is not tested: predictions of both rows with a common seed are needed."
        )
    words, seeds = {True: "clear", False: "not clear"}, test.over_seeds
    said = (
        f"The difference is {words[test.adjusted < CLEAR]} over the text ({_p(test.adjusted)} "
        "after Holm's correction)"
    )
    if seeds is None:
        says = counted(len(test.seeds), "seed says", "seeds say")
        said += f"; {says} nothing about further seeds, for which at least {FEWEST} are needed."
    else:
        said += (
            f" and {words[seeds.low > 0 or seeds.high < 0]} over seeds ({100 * seeds.level:.0f}% "
            f"interval {units.points(seeds.low)} to {units.points(seeds.high)} points)."
        )
    if split == _DEV or dev is None:
        return said
    apart = units.points(dev.pooled.difference)
    return f"{said} On {_DEV} it is {apart}, {_p(dev.adjusted)}."


def _cost(comparison: Comparison, features: Row, tuned: Row) -> str:
    ours, theirs = features.cost, tuned.cost
    priced = next((c for c in comparison.costs if c.row == features.name), None)
    once = ours.extraction_seconds if priced is None else priced.seconds.once
    paid = f", after {units.duration(once)} of extraction, paid once" if once else ""
    said = (
        f"A run on features trains {units.parameters(ours.trained_parameters)} parameters in "
        f"{units.duration(ours.training_seconds.mean)}{paid}; a tuned run "
        f"{units.parameters(theirs.trained_parameters)} in "
        f"{units.duration(theirs.training_seconds.mean)}."
    )
    if priced is None or priced.against != tuned.name:
        return said
    words = {None: "never become cheaper", 1: "are cheaper from the first run on"}
    time, operations = (
        words.get(price.cheaper_from, f"are cheaper from run {price.cheaper_from} on")
        for price in (priced.seconds, priced.flops)
    )
    if time == operations:
        return f"{said} Features {time}, in time and in operations."
    return f"{said} Features {time} in time and {operations} in operations."


def _where(comparison: Comparison, facet: str, features: Row, tuned: Row, split: str) -> str:
    """The buckets of a facet at which each is ahead most."""
    both = [b for b in comparison.breakdowns if {features.name, tuned.name} <= b.rows.keys()]
    of_split = (b for b in both if (b.facet, b.split) == (facet, split) and len(b.gold) > 1)
    found = next(of_split, None)
    if found is None:
        return f"No scores of both rows by {facet}."
    ours, theirs = found.rows[features.name], found.rows[tuned.name]
    ahead = {bucket: ours[bucket].mean - theirs[bucket].mean for bucket in found.gold}
    best, worst = max(ahead, key=ahead.__getitem__), min(ahead, key=ahead.__getitem__)
    leading = ((features, best, ahead[best] > 0), (tuned, worst, ahead[worst] < 0))
    said = [
        f"{row.label} at {bucket} by {_points(ahead[bucket])} ({found.gold[bucket]:,} in gold)"
        for row, bucket, is_ahead in leading
        if is_ahead
    ]
    return f"By {found.meaning} on {split}, the widest leads are {' and '.join(said) or 'none'}."


def _score(row: Row, split: str) -> str:
    seeds = f"mean of {len(row.runs)} seeds" if len(row.runs) > 1 else "one seed"
    return f"{units.percent(row.mean(split))} {row.task.measure.name} ({seeds})"


def _points(difference: float) -> str:
    return f"{units.percent(abs(difference))} points"


def _p(value: float) -> str:
    return f"p = {units.p_value(value)}".replace("= <", "<")

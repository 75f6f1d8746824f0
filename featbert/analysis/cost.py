"""What rows cost, when features become cheaper, and the Pareto front of quality and cost.

n runs cost E + nF on features against nT tuned (`docs/explanation/cost.md`). E is of the words that
a row read (`RowCost`).

A point of a Pareto front is one run from text to trained tagger, with its extraction. A row
is on the front if it learned and no other is both at least as cheap and at least as good, and one
of the two strictly. Trials of a search are not on it.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from featbert.analysis.comparison import (
    BASELINE,
    Comparison,
    ParetoFront,
    ParetoPoint,
    Price,
    Row,
    grouped,
    same_task,
)
from featbert.analysis.labels import short_names
from featbert.config import TIMED_SENTENCES

# What separates rows that cannot be compared with each other has a column of these.
_PARTS = ("corpus", "scorer")


def with_costs(comparison: Comparison) -> Comparison:
    """The comparison with the prices of its rows."""
    places, rows = comparison.speed_machines, comparison.rows
    note = f"labelling was timed on different hardware ({'; '.join(places)})"
    return dataclasses.replace(
        comparison,
        prices={row.name: _price(row, rows) for row in rows},
        cost_notes=(note,) if len(places) > 1 else (),
    )


def cheaper_from(once: float, run: float, other: float) -> float:
    """The fewest runs n with once + n * run < n * other. Infinite if there are none."""
    return math.inf if run >= other else math.floor(once / (other - run)) + 1.0


def _price(row: Row, rows: Sequence[Row]) -> Price:
    # Features are compared with the fully tuned row like their baseline, or the first.
    label = next((r.label for r in rows if r.name == row.baseline), None)
    candidates = [r for r in rows if row.frozen and r.tuning == BASELINE and same_task(r, row)]
    tuned = min(candidates, key=lambda r: r.label != label, default=None)
    if tuned is None:
        return Price(None, None, None)
    cheaper: list[float | None] = []
    for currency in ("seconds", "flops"):
        once, run = spent(row, currency)
        _, tuned_run = spent(tuned, currency)
        cheaper.append(None if once is None else cheaper_from(once, run, tuned_run))
    return Price(tuned.name, *cheaper)


def spent(row: Row, currency: str) -> tuple[float | None, float]:
    """On extraction, as far as it is known, and on training one run."""
    cost = row.cost
    if currency == "seconds":
        return cost.extraction_seconds, cost.training_seconds.mean
    return cost.extraction_flops, cost.training_flops


# Quality against cost ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Currency:
    """A cost that rows have.

    Attributes:
        title: of an axis.
        unit: "operations", "seconds", "bytes" or "parameters".
        field: of `RowCost`. "seconds" and "flops" are of one run, with its extraction.
        timed: "training" or "labelling" if it depends on the machine.
    """

    title: str
    unit: str
    field: str
    timed: Literal["", "training", "labelling"] = ""

    def of(self, row: Row) -> float | None:
        """A row's cost, None if a part of it is not known."""
        if self.field not in ("seconds", "flops"):
            cost: float | None = getattr(row.cost, self.field)
            return cost
        extraction, training = spent(row, self.field)
        if not row.frozen:
            return training
        return None if extraction is None else extraction + training


# By figure name. `--figure pareto` means the first.
CURRENCIES = {
    "operations": Currency("operations of one run, extraction included", "operations", "flops"),
    "time": Currency("time of one run, extraction included", "seconds", "seconds", "training"),
    "trained": Currency("trained parameters", "parameters", "trained_parameters"),
    "kept": Currency("bytes to keep for a task", "bytes", "run_bytes"),
    "memory": Currency("peak memory of a run", "bytes", "peak_memory_bytes"),
    "one_by_one": Currency(
        f"time to label {TIMED_SENTENCES:,}, one at a time",
        "seconds",
        "one_by_one_seconds",
        "labelling",
    ),
    "batched": Currency(
        f"time to label {TIMED_SENTENCES:,}, batched", "seconds", "batched_seconds", "labelling"
    ),
}


def pareto_fronts(comparison: Comparison) -> Iterator[ParetoFront]:
    """A front for each split, currency and text, except for seconds of several machines."""
    for split, (name, currency) in itertools.product(comparison.splits, CURRENCIES.items()):
        machines = machines_of(comparison, name)
        scored = [row for row in comparison.rows if split in row.splits]
        groups = grouped((row.data(split), row) for row in scored).values()
        parts = _PARTS if len(groups) > 1 else ()
        for rows in groups if len(machines) < 2 else ():
            costs = [(row, currency.of(row) or None) for row in rows]
            points = tuple(_points(costs, split, parts))
            if points and not any(point.on_front for point in points):
                continue  # no row learned
            yield ParetoFront(
                split=split,
                currency=name,
                label=" · ".join(v for k, v in rows[0].varied.items() if k in parts),
                machine="".join(machines),
                points=points,
                left_out=tuple(row.name for row, cost in costs if cost is None),
            )


def _points(
    costs: Sequence[tuple[Row, float | None]], split: str, parts: Sequence[str]
) -> Iterator[ParetoPoint]:
    priced = [(row, cost, row.mean(split)) for row, cost in costs if cost is not None]
    names = short_names([row for row, _, _ in priced], parts)
    for (row, cost, mean), name in zip(priced, names, strict=True):
        beaten = not row.competes or any(
            rival.competes and c <= cost and m >= mean and (c, m) != (cost, mean)
            for rival, c, m in priced
        )
        yield ParetoPoint(row.name, name, float(cost), on_front=not beaten)


def machines_of(comparison: Comparison, currency: str = "time") -> tuple[str, ...]:
    """Where seconds of a currency were measured. Empty for a cost that holds on every machine."""
    machines = {"training": comparison.machines, "labelling": comparison.speed_machines}
    return machines.get(CURRENCIES[currency].timed, ())

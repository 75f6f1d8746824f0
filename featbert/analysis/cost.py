"""What rows cost, when features become cheaper, and the Pareto front of quality and cost.

n runs cost E + nF on features against nT tuned (`docs/explanation/cost.md`). E is of the words that
a row read (`RowCost`).

A point of a Pareto front is one run from text to trained tagger, with the whole extraction. A row
is on the front if no other is both at least as cheap and at least as good, and one of the two
strictly.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
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
from featbert.config import TIMED_SENTENCES

Spent = Literal["seconds", "flops"]
# What separates rows that cannot be compared with each other has a column of these.
_PARTS = ("corpus", "scorer")


def with_costs(comparison: Comparison) -> Comparison:
    """The comparison with the prices of its rows."""
    places, rows = comparison.speed_machines, comparison.rows
    notes = f"labelling was timed on different hardware ({'; '.join(places)})"
    prices = {row.name: _price(row, rows) for row in rows}
    return dataclasses.replace(
        comparison, prices=prices, cost_notes=(notes,) if len(places) > 1 else ()
    )


def cheaper_from(once: float, run: float, other: float) -> int | None:
    """The fewest runs n with once + n * run < n * other. None if there are none."""
    return None if run >= other else math.floor(once / (other - run)) + 1


def _price(row: Row, rows: Sequence[Row]) -> Price:
    tuned = _tuned(row, rows)

    def cheaper(currency: Spent) -> float | None:
        if tuned is None:
            return None
        once, run = paid_once(row, currency), _spent(row, currency)[1]
        return float(cheaper_from(once, run, _spent(tuned, currency)[1]) or math.inf)

    return Price(tuned.name if tuned else None, cheaper("seconds"), cheaper("flops"))


def paid_once(row: Row, currency: Spent) -> float:
    """Extraction of the words that the row read. 0 if it is not known, or nothing was extracted."""
    return _spent(row, currency)[0] or 0.0


def _spent(row: Row, currency: Spent) -> tuple[float | None, float]:
    """On extraction, as far as it is known, and on training one run."""
    cost = row.cost
    if currency == "seconds":
        return cost.extraction_seconds, cost.training_seconds.mean
    return cost.extraction_flops, cost.training_flops


def _tuned(row: Row, rows: Sequence[Row]) -> Row | None:
    """The fully tuned row that features are compared with: their baseline, or the first one."""
    if not row.frozen:
        return None
    alike = [other for other in rows if other.tuning == BASELINE and same_task(other, row)]
    labels = {other.name: other.label for other in rows}
    namesakes = [other for other in alike if row.baseline and other.label == labels[row.baseline]]
    return next(iter([*namesakes, *alike]), None)


# Quality against cost ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Currency:
    """A cost that rows have.

    Attributes:
        title: of an axis.
        unit: "operations", "seconds", "bytes" or "parameters".
        least: description of the row with the least cost.
        of: a row's cost, None if it is not known.
        timed: "training" or "labelling" if it depends on the machine.
    """

    title: str
    unit: str
    least: str
    of: Callable[[Row], float | None]
    timed: Literal["", "training", "labelling"] = ""


# By figure name. `--figure pareto` means the first.
CURRENCIES = {
    "operations": Currency(
        "operations of one run, extraction included",
        "operations",
        "fewest operations to train, with extraction",
        lambda row: _of_one_run(row, "flops"),
    ),
    "time": Currency(
        "time of one run, extraction included",
        "seconds",
        "quickest to train, within a tenth",
        lambda row: _of_one_run(row, "seconds"),
        "training",
    ),
    "trained": Currency(
        "trained parameters",
        "parameters",
        "fewest trained parameters",
        lambda row: row.cost.trained_parameters,
    ),
    "kept": Currency(
        "bytes to keep for a task", "bytes", "smallest to keep", lambda row: row.cost.run_bytes
    ),
    "memory": Currency(
        "peak memory of a run", "bytes", "least memory", lambda row: row.cost.peak_memory_bytes
    ),
    "one_by_one": Currency(
        f"time to label {TIMED_SENTENCES:,}, one at a time",
        "seconds",
        "quickest to label one at a time, within a tenth",
        lambda row: row.cost.one_by_one_seconds,
        "labelling",
    ),
    "batched": Currency(
        f"time to label {TIMED_SENTENCES:,}, batched",
        "seconds",
        "quickest to label in batches, within a tenth",
        lambda row: row.cost.batched_seconds,
        "labelling",
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
            yield ParetoFront(
                split=split,
                currency=name,
                label=" · ".join(v for k, v in rows[0].varied.items() if k in parts),
                machine="".join(machines),
                points=tuple(_points(costs, split, parts)),
                left_out=tuple(row.name for row, cost in costs if cost is None),
            )


def _points(
    costs: Sequence[tuple[Row, float | None]], split: str, parts: Sequence[str]
) -> Iterator[ParetoPoint]:
    priced = [(row, cost, row.mean(split)) for row, cost in costs if cost is not None]
    for row, cost, mean in priced:
        beaten = any(c <= cost and m >= mean and (c, m) != (cost, mean) for _, c, m in priced)
        name = " · ".join([row.label, *(v for k, v in row.varied.items() if k not in parts)])
        yield ParetoPoint(row.name, name, float(cost), on_front=not beaten)


def machines_of(comparison: Comparison, currency: str = "time") -> tuple[str, ...]:
    """Where seconds of a currency were measured. Empty for a cost that holds on every machine."""
    machines = {"training": comparison.machines, "labelling": comparison.speed_machines}
    return machines.get(CURRENCIES[currency].timed, ())


def _of_one_run(row: Row, currency: Spent) -> float | None:
    """One run's cost with extraction. None if a part of it is not known."""
    extraction, training = _spent(row, currency)
    if not row.frozen:
        return training
    return None if extraction is None else extraction + training

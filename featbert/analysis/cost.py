"""What rows cost, when features become cheaper, and the Pareto front of quality and cost.

n runs cost E + nF on features against nT tuned (`docs/explanation/cost.md`); E is of the words that
a row read (`RowCost`).

A point of a Pareto front is one run from text to trained tagger, with the whole extraction. A row
is on the front if no other is both at least as cheap and at least as good, and one of the two
strictly.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from featbert.analysis.compare import Comparison
from featbert.analysis.rows import BASELINE, Row, Statistic, grouped, same_task
from featbert.inference.speed import PER, read_speed

Spent = Literal["seconds", "flops"]
# What separates rows that cannot be compared with each other has a column of these.
_PARTS = ("corpus", "scorer")


def with_costs(comparison: Comparison) -> Comparison:
    """The comparison with every row's cost, in the order of rows."""
    rows, notes = comparison.rows, comparison.notes
    places = machines_of(comparison, "one_by_one")
    if len(places) > 1:
        notes = (*notes, f"labelling was timed on different hardware ({'; '.join(places)})")
    costs = {row.name: _priced(row, rows) for row in rows}
    return dataclasses.replace(comparison, costs=costs, notes=notes)


def cheaper_from(once: float, run: float, other: float) -> int | None:
    """The fewest runs n with once + n * run < n * other; None if there are none."""
    return None if run >= other else math.floor(once / (other - run)) + 1


def _priced(row: Row, rows: Sequence[Row]) -> dict[str, Any]:
    """In each currency the cost of extraction (`once`), of training a run, and `cheaper_from`.

    That is the number of runs from which the row costs less than `tuned_row` as often: the fully
    tuned one on the same text, if any; it is infinite where it never does.
    """
    tuned = _tuned(row, rows)
    found: dict[str, Any] = {"tuned_row": tuned and tuned.name}
    for name in get_args(Spent):
        once, (_, run) = paid_once(row, name), _spent(row, name)
        first = tuned and (cheaper_from(once, run, _spent(tuned, name)[1]) or math.inf)
        found |= {f"{name}_once": once or None, f"{name}_run": run, f"{name}_cheaper_from": first}
    return found


def paid_once(row: Row, currency: Spent) -> float:
    """Extraction of what the row read; 0 where it is not known, or nothing was extracted."""
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
    alike = [o for o in rows if o.tuning == BASELINE and same_task(o, row)]
    named = row.baseline and row.baseline.label
    return next((o for o in alike if o.label == named), alike[0] if alike else None)


# Quality against cost ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Currency:
    """A cost that rows have.

    Attributes:
        title: of an axis.
        unit: "operations", "seconds", "bytes" or "parameters".
        least: what the row is that has the least of it.
        of: a row's cost, None where it is not known.
        timed: "training" or "labelling" where it depends on the machine.
    """

    title: str
    unit: str
    least: str
    of: Callable[[Row], float | None]
    timed: Literal["", "training", "labelling"] = ""


# By the names that figures have; the first is that of `--figure pareto` without more.
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
        f"time to label {PER:,}, one at a time",
        "seconds",
        "quickest to label one at a time, within a tenth",
        lambda row: row.cost.one_by_one_seconds,
        "labelling",
    ),
    "batched": Currency(
        f"time to label {PER:,}, batched",
        "seconds",
        "quickest to label in batches, within a tenth",
        lambda row: row.cost.batched_seconds,
        "labelling",
    ),
}


@dataclass(frozen=True)
class ParetoPoint:
    """A row's quality and cost, which is above 0, and its number in the comparison."""

    number: int
    name: str
    tuning: str
    score: Statistic
    cost: float
    on_front: bool


@dataclass(frozen=True)
class ParetoFront:
    """Rows that were scored on one text, by cost and quality.

    Attributes:
        label: what distinguishes its text from that of the comparison's other fronts, or "".
        machine: where seconds were measured, "" for what holds on every machine.
        left_out: names of rows with a score whose cost is not known.
    """

    label: str
    currency: Currency
    machine: str
    points: tuple[ParetoPoint, ...]
    left_out: tuple[str, ...]


def pareto_fronts(comparison: Comparison, split: str, name: str) -> list[ParetoFront]:
    """A front of a currency for each text; none for seconds of several machines."""
    currency = CURRENCIES[name]
    machines = machines_of(comparison, name)
    if len(machines) > 1:
        return []
    scored = [
        (number, row, currency.of(row) or None)
        for number, row in enumerate(comparison.rows, 1)
        if split in row.splits
    ]
    groups = grouped((one[1].data(split), one) for one in scored).values()
    parts = _PARTS if len(groups) > 1 else ()
    return [
        ParetoFront(
            label=" · ".join(v for k, v in group[0][1].varied.items() if k in parts),
            currency=currency,
            machine="".join(machines),
            points=tuple(_points(group, split, parts)),
            left_out=tuple(row.name for _, row, cost in group if cost is None),
        )
        for group in groups
    ]


def _points(
    rows: Sequence[tuple[int, Row, float | None]], split: str, parts: Sequence[str]
) -> Iterator[ParetoPoint]:
    priced = [(n, row, cost, row.mean(split)) for n, row, cost in rows if cost is not None]
    for n, row, cost, mean in priced:
        beaten = any(c <= cost and m >= mean and (c, m) != (cost, mean) for _, _, c, m in priced)
        name = " · ".join([row.label, *(v for k, v in row.varied.items() if k not in parts)])
        score = row.score(split)
        assert score is not None
        yield ParetoPoint(n, name, row.tuning, score, cost, on_front=not beaten)


def machines_of(comparison: Comparison, name: str = "time") -> list[str]:
    """Where seconds of a currency were measured; none for what holds on every machine."""
    found: dict[str, None] = {}
    timed, runs = CURRENCIES[name].timed, [run for row in comparison.rows for run in row.runs]
    for run in runs if timed == "labelling" else ():
        if (speed := read_speed(run)) is not None:
            found[speed.place] = None
    for signature in (run.record.signature for run in runs if timed == "training"):
        found[f"{signature.device_name}, threads: {signature.threads}"] = None
        if signature.extraction_device not in (None, signature.device_name):
            found[f"{signature.extraction_device} (extraction)"] = None
    return list(found)


def _of_one_run(row: Row, currency: Spent) -> float | None:
    """Of one run, extraction included; None where a part of it is not known."""
    extraction, training = _spent(row, currency)
    if not row.frozen:
        return training
    return None if extraction is None else extraction + training

"""Quality against cost: which rows are worth their price.

A row's cost is that of one run from text to trained tagger: extraction and training on its
vectors, or fine-tuning. Where n runs share one extraction (seeds, layer combinations, a search),
each bears its n-th part: with E for extraction and F for training, a run costs E / n + F.
Extraction is counted whole, as the record has it: all splits, and all layers that the store holds.

A row is on the front if no other is both at least as cheap and at least as good, and one of the two
strictly. Rows are set against each other only on one text, with one scorer. Seconds compare on one
machine alone; operations, estimated from shapes, compare anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from featbert.analysis.compare import Comparison
from featbert.analysis.curves import title_of
from featbert.analysis.rows import Row, Statistic
from featbert.errors import InputError

Currency = Literal["seconds", "flops"]
# What parts rows that cannot be set against each other, by the column that names it.
_PARTS = {"corpus": ("text", "tags"), "scorer": ("scorer",)}


@dataclass(frozen=True)
class ParetoPoint:
    """A row's quality and cost.

    Attributes:
        number: of the row in its comparison, from 1.
        name: of the row.
        f1: micro entity F1 in [0, 1] over seeds.
        cost: of one run, in the front's currency; above 0.
        on_front: whether no row of the same front is both cheaper and better.
    """

    number: int
    name: str
    tuning: str
    f1: Statistic
    cost: float
    on_front: bool


@dataclass(frozen=True)
class ParetoFront:
    """Rows that were scored on one text, by cost and quality.

    Attributes:
        title: corpus, encoder and context of the comparison.
        label: what tells its text from that of the comparison's other fronts, "" for the only one.
        runs: how many runs share one extraction.
        machine: where seconds were measured, "" for operations.
        points: in the comparison's order.
        left_out: names of rows with a score whose cost is not known.
    """

    title: str
    label: str
    split: str
    currency: Currency
    runs: int
    machine: str
    points: tuple[ParetoPoint, ...]
    left_out: tuple[str, ...]


def pareto_points(
    comparison: Comparison, *, split: str = "test", currency: Currency | None = None, runs: int = 1
) -> tuple[ParetoFront, ...]:
    """One front for each text that rows were scored on, in the comparison's order.

    Args:
        split: "dev" or "test"; rows without a score on it are left out.
        currency: "seconds" or "flops"; None for seconds where they compare, else operations.
        runs: how many runs share one extraction.

    Raises:
        InputError: seconds asked of several machines, or fewer runs than one.
    """
    if runs < 1:
        raise InputError(f"one run or more expected to share an extraction, found {runs}")
    machines = machines_of(comparison)
    if currency == "seconds" and len(machines) > 1:
        raise InputError(
            f"runs on one machine expected to compare seconds, found {'; '.join(machines)}; "
            "compare operations (flops)"
        )
    chosen: Currency = currency or ("seconds" if len(machines) == 1 else "flops")
    scored = [(n, row) for n, row in enumerate(comparison.rows, 1) if split in row.splits]
    groups: dict[tuple[str | None, ...], list[tuple[int, Row]]] = {}
    for n, row in scored:
        groups.setdefault(_text(row, split), []).append((n, row))
    several = len(groups) > 1
    return tuple(
        ParetoFront(
            title=title_of(comparison),
            label=_label(group[0][1]) if several else "",
            split=split,
            currency=chosen,
            runs=runs,
            machine=machines[0] if chosen == "seconds" else "",
            points=_points(group, split, chosen, runs, several=several),
            left_out=tuple(row.name for _, row in group if _cost(row, chosen, runs) is None),
        )
        for group in groups.values()
    )


def machines_of(comparison: Comparison) -> list[str]:
    """Where the comparison's runs were trained, and their vectors extracted if elsewhere."""
    found: dict[str, None] = {}
    for signature in (run.record.signature for row in comparison.rows for run in row.runs):
        found[f"{signature.device_name}, threads: {signature.threads}"] = None
        if signature.extraction_device not in (None, signature.device_name):
            found[f"{signature.extraction_device} (extraction)"] = None
    return list(found)


def _text(row: Row, split: str) -> tuple[str | None, ...]:
    """What rows of one front share: text and tags of the split, and the scorer."""
    return tuple(row.cell.get(part) for part in (f"{split}.text", f"{split}.tags", "scorer"))


def _label(row: Row) -> str:
    return " · ".join(row.varied[column] for column in _PARTS if column in row.varied)


def _name(row: Row, *, several: bool) -> str:
    """The row's name, less what the label of its front says already."""
    told = _PARTS if several else ()
    return " · ".join([row.label, *(v for name, v in row.varied.items() if name not in told)])


def _points(
    group: Iterable[tuple[int, Row]], split: str, currency: Currency, runs: int, *, several: bool
) -> tuple[ParetoPoint, ...]:
    found = [
        (n, row, row.splits[split].f1, cost)
        for n, row in group
        if (cost := _cost(row, currency, runs)) is not None
    ]
    places = [(cost, f1.mean) for _, _, f1, cost in found]
    return tuple(
        ParetoPoint(
            number=n,
            name=_name(row, several=several),
            tuning=row.tuning,
            f1=f1,
            cost=cost,
            on_front=_on_front((cost, f1.mean), places),
        )
        for n, row, f1, cost in found
    )


def _on_front(place: tuple[float, float], places: Sequence[tuple[float, float]]) -> bool:
    cost, f1 = place
    return not any(c <= cost and q >= f1 and (c, q) != place for c, q in places)


def _cost(row: Row, currency: Currency, runs: int) -> float | None:
    """Of one run; None where a part of it is not known."""
    cost = row.cost
    training, extraction = (
        (cost.training_seconds.mean, cost.extraction_seconds)
        if currency == "seconds"
        else (cost.training_flops, cost.extraction_flops)
    )
    if row.tuning == "full":
        extraction = 0.0
    if extraction is None:
        return None
    whole = extraction / runs + training
    return whole if whole > 0 and math.isfinite(whole) else None

"""One cell of a transfer matrix: the runs of a row, scored on the data of a column."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from featbert.analysis.rows import Statistic
from featbert.analysis.transfer_data import DataKey, ScoredRun
from featbert.runs.evaluations import EvaluationRecord


@dataclass(frozen=True)
class TransferCell:
    """The runs of a row on the data of a column.

    Attributes:
        f1: micro entity F1 in [0, 1], in the order of `seeds` and `runs`.
        seeds, runs: of those of the row's runs that were scored on this data.
        own: whether it is the corpus that they were trained on; then the scores are those of
            their own records, with no type mapped.
        mapping: what types were called instead before scoring; "O" takes a type out.
        unseen_types: types of the data that the runs were never taught.
        absent_types: types the runs were taught that the data has not.
        set_aside: evaluations that do not count, since a newer one does: what they were.
    """

    f1: Statistic
    seeds: tuple[int, ...]
    runs: tuple[str, ...]
    own: bool
    mapping: Mapping[str, str]
    unseen_types: tuple[str, ...]
    absent_types: tuple[str, ...]
    set_aside: tuple[str, ...]


def own_cell(kept: Sequence[ScoredRun], split: str) -> TransferCell:
    """The cell of the data that the runs, one a seed, were trained for."""
    return TransferCell(
        f1=Statistic.of([s.run.record.scores[split].values["f1"] for s in kept]),
        seeds=tuple(s.run.record.seed for s in kept),
        runs=tuple(s.run.name for s in kept),
        own=True,
        mapping={},
        unseen_types=(),
        absent_types=(),
        set_aside=(),
    )


def other_cell(kept: Sequence[ScoredRun], key: DataKey) -> TransferCell | None:
    """The cell of other data, None where no run was scored on it.

    All its scores have one mapping of types, that of the newest evaluation: a mean over seeds
    that were scored differently would be a mean of nothing.
    """
    found = [(one, evaluation) for one in kept for evaluation in one.on(key)]
    if not found:
        return None
    mapping = max((evaluation for _, evaluation in found), key=lambda e: e.started).mapping
    counted: dict[int, tuple[ScoredRun, EvaluationRecord]] = {}
    set_aside = []
    for one, evaluation in found:
        seed = one.run.record.seed
        if evaluation.mapping == mapping and seed not in counted:
            counted[seed] = one, evaluation
        else:
            set_aside.append(f"{one.run.name} with {told_mapping(evaluation.mapping)}")
    pairs = [counted[seed] for seed in sorted(counted)]
    evaluations = [evaluation for _, evaluation in pairs]
    return TransferCell(
        f1=Statistic.of([e.scores.values["f1"] for e in evaluations]),
        seeds=tuple(sorted(counted)),
        runs=tuple(one.run.name for one, _ in pairs),
        own=False,
        mapping=mapping,
        unseen_types=_all(e.unseen_types for e in evaluations),
        absent_types=_all(e.absent_types for e in evaluations),
        set_aside=tuple(set_aside),
    )


def zero_shot_average(
    cells: Sequence[TransferCell | None],
) -> tuple[float | None, float | None]:
    """Mean over the cells on other data of their means, and its spread over seeds.

    The spread is the sample standard deviation of each seed's own average; None where the cells
    do not share two seeds or more.
    """
    others = [cell for cell in cells if cell is not None and not cell.own]
    if not others:
        return None, None
    mean = statistics.fmean(cell.f1.mean for cell in others)
    if len({cell.seeds for cell in others}) > 1:
        return mean, None
    by_seed = [statistics.fmean(f1s) for f1s in zip(*(c.f1.values for c in others), strict=True)]
    return mean, Statistic.of(by_seed).sd


def told_mapping(mapping: Mapping[str, str]) -> str:
    """`GPE as LOC, MISC taken out`, or `no type mapped`."""
    told = [
        f"{old} taken out" if new == "O" else f"{old} as {new}"
        for old, new in mapping.items()
        if old != new
    ]
    return ", ".join(told) or "no type mapped"


def _all(lists: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(sorted({name for names in lists for name in names}))

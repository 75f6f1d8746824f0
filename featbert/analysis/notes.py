"""Lines that a reader of a comparison should know: runs left out, other machines."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from featbert.analysis.comparison import Row, grouped
from featbert.runs.run import Run
from featbert.text import in_percent, listed


def comparison_notes(
    rows: Sequence[Row], members: Mapping[str, Sequence[Run]], runs: Sequence[Run]
) -> Iterator[str]:
    """The notes of a comparison.

    `members` are the runs of each row by its name. `runs` also has older runs of a seed.
    """
    yield from left_out(rows)
    unlearned: dict[str, list[str]] = {}
    for row in rows:
        reasons = ((run.why_unlearned, str(run.record.seed)) for run in members[row.name])
        for reason, seeds in grouped(reasons).items():
            which = "" if len(seeds) == len(row.seeds) else f", seed {', '.join(seeds)}"
            unlearned.setdefault(reason, []).append(row.name + which)
    yield from (f"{'; '.join(names)}: {reason}" for reason, names in unlearned.items() if reason)
    without = [row.name for row in rows if row.baseline is None]
    if len(rows) > 1 and not any(row.is_baseline for row in rows):
        yield "no row is fully tuned, so there is no Δ; --against ROW names a baseline"
    elif len(rows) > 1 and without:
        yield (
            f"no Δ for {listed(without)}: no baseline was trained on the same text with the same "
            "encoder"
        )
    unit = rows[0].task.unit
    shares, names = {row.train_share for row in rows}, {row.part_name for row in rows}
    if len(names) == 1 and "" not in names:
        (share,) = shares
        of_train = f"{in_percent(share)} of the training {unit}s"
        yield f"all rows learned from {of_train if share != 1 else names.pop()}"
    dev_shares = {float(run.record.reading.get("dev_share", 0)) for run in runs} - {0.0}
    if dev_shares:
        parts = " or ".join(map(in_percent, sorted(dev_shares)))
        yield f"dev was drawn from train: {parts} of its {unit}s"
    if any(row.frozen and row.train_part != (1.0, math.inf) for row in rows):
        yield "costs count extraction only for the part of train that a row learned from"

    signatures = [run.record.signature for run in runs]
    machines = dict.fromkeys(f"{s.device_name}, threads: {s.threads}" for s in signatures)
    if len(machines) > 1:
        yield f"run on different hardware ({'; '.join(machines)}): scores compare, times do not"
    if side_by_side(runs):
        yield "runs were trained at the same time: on one machine their times are too long"


def left_out(rows: Iterable[Row]) -> Iterator[str]:
    """A note for each row that has runs of a seed twice."""
    for row in rows:
        if row.left_out:
            yield (
                f"{row.label}: of runs with one seed and settings the newest counts, not "
                f"{', '.join(row.left_out)}"
            )


def side_by_side(runs: Iterable[Run]) -> bool:
    """Whether a run began while another one was trained, on what may be one machine."""
    spans = [
        (
            datetime.fromisoformat(r.started[:19]),
            -sum(epoch.seconds for epoch in r.history[r.resumed_after :]),
        )
        for r in (run.record for run in runs)
    ]
    second = timedelta(seconds=1)  # the precision of beginnings
    pairs = itertools.pairwise(sorted(spans))
    return any(
        later + second < start - second * negative for (start, negative), (later, _) in pairs
    )

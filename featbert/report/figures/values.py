"""What several figures read from comparisons and rows."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Sequence

from matplotlib.lines import Line2D

from featbert.analysis.compare import Comparison
from featbert.analysis.rows import PARTS, Row, part_of
from featbert.encoders.tunings import TUNINGS
from featbert.report.figures.style import Look, key, looks


def about(comparison: Comparison, *more: str) -> str:
    """Corpus, encoder and context, and what else is to be noted."""
    return " · ".join(part for part in (comparison.title, *more) if part)


def score_name(comparison: Comparison, split: str) -> str:
    """What is on an axis: `dev accuracy`."""
    return f"{split} {comparison.task.measure.name}"


def tuning_title(name: str) -> str:
    """A way to tune, for people."""
    return TUNINGS[name].title if name in TUNINGS else name


def tuning_look(name: str) -> Look:
    """The same colour and marker in every figure; ways that are not known follow the known."""
    return dict(zip(dict.fromkeys([*TUNINGS, name]), looks(), strict=False))[name]


def line_looks(tunings: Iterable[str]) -> list[Look]:
    """The first line of each way to tune has its look; others have looks that no way has."""
    lines = list(tunings)
    firsts = {name: tuning_look(name) for name in lines}
    taken = {tuning_look(name) for name in [*TUNINGS, *lines]}
    others = itertools.filterfalse(taken.__contains__, looks())
    return [firsts.pop(name) if name in firsts else next(others) for name in lines]


def tuning_keys(names: Iterable[str]) -> list[Line2D]:
    """Marks of a legend."""
    return [key(tuning_title(name), tuning_look(name)) for name in dict.fromkeys(names)]


def num_layers(row: Row) -> int:
    """Transformer layers of the row's encoder."""
    return row.runs[0].record.signature.encoder_layers


def line_names(rows: Sequence[Row], without: Collection[str], base: str) -> list[str]:
    """What tells each row's line from others: what it varies, and settings beside `without`."""
    names = dict.fromkeys(name for row in rows for name in row.differing if name not in without)
    values = [{name: _shown(row, name) for name in names} for row in rows]
    return [
        " · ".join(
            [
                ", ".join(v if n in PARTS else f"{n}={v}" for n, v in own.items()) or base,
                *row.varied.values(),
            ]
        )
        for row, own in zip(rows, values, strict=True)
    ]


def _shown(row: Row, name: str) -> str:
    """A setting as labels show it; rows without namesakes have none in their label."""
    if name in PARTS:
        return part_of(row.settings, name)
    if name in row.differing or name not in row.settings:
        return row.differing.get(name, "unset")
    value = row.settings[name]
    return value if isinstance(value, str) else json.dumps(value)


def baseline_mean(row: Row, split: str) -> float | None:
    """Mean score of the row that this one is compared with, which may be itself."""
    own = row.score(split)
    if own is None:
        return None
    if row.is_baseline:
        return own.mean
    less = (row.difference or {}).get(split)
    return None if less is None else own.mean - less

"""Learning curves: scores by how many training sentences rows learned from."""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from featbert.analysis.comparison import Row, grouped
from featbert.analysis.labels import OF_HEADS, base_name, with_settings
from featbert.text import in_percent

# Settings that say which part of train a row learned from.
_PARTS = {"train_share", "equal_steps", "shots"}


def learning_lines(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by the name of their line, in the order of shares, without rows that learned from dev.

    Rows of one tuning and layer combination that differ in settings besides the share are lines
    of their own, except for settings that a search chose for each share.
    """
    trained = [row for row in rows if row.trained_on == ("train",)]
    alike = grouped(((row.tuning, row.layers, tuple(row.varied.values())), row) for row in trained)
    rows_by_name = []
    for row, apart in itertools.chain.from_iterable(map(_apart, alike.values())):
        base = with_settings(base_name(row.tuning, row.layers), apart)
        rows_by_name.append((" · ".join([base, *row.varied.values()]), row))
    lines = grouped(rows_by_name).items()
    return {name: sorted(line, key=lambda row: row.train_part) for name, line in lines}


def part_tick(row: Row) -> str:
    """The part of train that a row learned from, on the axis `part_axis`: `25%` or `8`."""
    return str(row.settings.get("shots") or in_percent(row.train_share))


def part_axis(rows: Sequence[Row]) -> str:
    """The name of the axis of parts of train."""
    has_shots = any(row.settings.get("shots") for row in rows)
    return "examples of each class" if has_shots else "share of train"


def freely_chosen(
    rows: Sequence[Row], differing: Sequence[Mapping[str, str]], places: Sequence[object]
) -> set[str]:
    """Settings in which rows differ only because a search chose them for each place.

    `differing` and `places` are of each row. A setting that two rows of one place need is not one.
    """
    if not any(row.searched for row in rows):
        return set()
    names = dict.fromkeys(name for settings in differing for name in settings)
    values = {name: {settings.get(name) for settings in differing} for name in names}
    apart = [name for name in names if len(values[name]) > 1]
    chosen = [name for name in apart if any(name in row.settings for row in rows)]
    for name in sorted(chosen, key=lambda name: -len(values[name])):
        fewer = [setting for setting in apart if setting != name]
        keys = {
            (place, *map(settings.get, fewer))
            for place, settings in zip(places, differing, strict=True)
        }
        if len(keys) == len(rows):
            apart = fewer
    return {*chosen} - {*apart}


def _apart(rows: Sequence[Row]) -> Iterator[tuple[Row, dict[str, str]]]:
    """Rows of one tuning and layer combination, each with what distinguishes its line from others.

    Of settings that a search chose, each that two rows of one share do not need is left out.
    """
    differing = [
        {name: value for name, value in row.differing.items() if name not in _PARTS} for row in rows
    ]
    names = dict.fromkeys(name for settings in differing for name in settings)
    free = freely_chosen(rows, differing, [row.train_part for row in rows])
    apart = [
        name
        for name in names
        if name not in free and len({settings.get(name) for settings in differing}) > 1
    ]
    heads = [name for name in names if name in OF_HEADS and name not in apart]
    for row, settings in zip(rows, differing, strict=True):
        yield row, {name: settings[name] for name in (*heads, *apart) if name in settings}

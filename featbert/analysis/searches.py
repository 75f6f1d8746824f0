"""Searches of experiments that found the rows of a comparison."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from featbert.errors import InputError
from featbert.runs.record import SUFFIX, ExperimentRecord, SearchRecord, read_json
from featbert.runs.results import listed_in
from featbert.runs.run import Run

# Settings with a best value that should be inside the searched range.
_RATES = ("learning_rate", "head_learning_rate")


def searches_of(runs: Iterable[Run]) -> list[SearchRecord]:
    """Searches of the experiments in the runs directories of `runs`."""
    searches: list[SearchRecord] = []
    for folder in sorted({run.folder.parent for run in runs}):
        searches += _searches_in(folder)
    return searches


def _searches_in(folder: Path) -> Iterator[SearchRecord]:
    for path in listed_in(folder, f"*{SUFFIX}"):
        with contextlib.suppress(InputError):  # of another version, or damaged
            yield from read_json(path, ExperimentRecord, str(path)).searches


def names_of_trials(searches: Sequence[SearchRecord]) -> set[str]:
    """Names of runs that searches tried and did not choose."""
    names = {name for search in searches for trial in search.tried for name in trial.runs}
    return names - {name for search in searches for name in search.rows}


def edges(searches: Sequence[SearchRecord], names: Iterable[str]) -> Iterator[str]:
    """Phrases about rates at the edge of the search that found the runs of these names."""
    runs = {*names}
    for search in searches:
        if search.chosen is None or not runs & {*search.rows}:
            continue
        for setting in _RATES:
            values = {trial.settings.get(setting) for trial in search.tried if trial.dev}
            numbers = sorted(value for value in values if isinstance(value, float))
            chosen = search.tried[search.chosen].settings.get(setting)
            if len(numbers) > 1 and chosen in (numbers[0], numbers[-1]):
                end = "lowest" if chosen == numbers[0] else "highest"
                yield f"{setting.replace('_', ' ')} {chosen:g} is the {end} of the search"

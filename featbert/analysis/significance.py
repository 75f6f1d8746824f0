"""Scores and differences with one interval each, over other seeds and other text.

Each row is tested against its baseline, and against the best row by dev. On a split that chose no
rows, the pairs of an answer are tested alone. p-values of all other pairs of a split are adjusted
by Holm together. Results are kept in `<runs directory>/.statistics` by a hash of the predictions.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import pydantic.dataclasses

from featbert.analysis.comparison import (
    Comparison,
    Difference,
    Row,
    answer_pairs,
    best_by_dev,
    first_two,
    rivals,
)
from featbert.analysis.interval import (
    FEWEST,
    FEWEST_UNITS,
    LEVEL,
    Estimate,
    Moments,
    contributions,
    estimate,
    for_every_seed,
    holm,
    moments,
    score_estimate,
    seeds_estimate,
)
from featbert.analysis.rows import Members
from featbert.errors import FeatbertError, MissingError
from featbert.io import file_hash, json_hash, replacing, unlinked
from featbert.progress import track
from featbert.runs.folder import TESTS
from featbert.runs.record import read_json, to_json
from featbert.runs.results import results_file
from featbert.runs.run import Run
from featbert.schema import STRICT
from featbert.text import counted, listed

VERSION = 3
# Effects of missing predictions.
_SEEDS_ONLY = "some intervals cover other seeds only"
_NO_INTERVAL = f"and seeds are fewer than {FEWEST} or score the same, so there is no interval"


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class KeptTest:
    """An estimate in a file.

    Attributes:
        of: hash of everything that the estimate was computed from. It is the name of the file.
        predictions: SHA-256 of the predictions of each run.
    """

    of: str
    predictions: list[str]
    test: Estimate


def with_estimates(comparison: Comparison, members: Members) -> Comparison:
    """The comparison with the intervals of its rows' scores, and its `differences`.

    `test_notes` name the rows without counts. `members` are the runs of each row by its name.
    """
    estimates = _Estimates(members)
    comparison = dataclasses.replace(comparison, rows=tuple(map(estimates.of_row, comparison.rows)))
    differences: list[Difference] = []
    few_units: list[str] = []
    for split in comparison.splits:
        tests: list[Difference] = []
        pairs = _pairs(comparison, split)
        for row, base in track(pairs, f"testing differences on {split}", "pairs"):
            tests += estimates.of_pair(row, base, split)
        alone = {
            frozenset((row.name, rival.name))
            for row, rival in answer_pairs(comparison.rows)
            if split not in (row.splits[0], rival.splits[0])
        }
        tests = [
            dataclasses.replace(d, alone=frozenset((d.row, d.baseline)) in alone) for d in tests
        ]
        differences += [d for d in tests if d.alone]
        differences += _adjusted([d for d in tests if not d.alone])
        sizes = dict.fromkeys((test.estimate.units, test.units) for test in tests)
        few_units += [
            f"{n} {units} of {split} are few: intervals are rough"
            for n, units in sizes
            if 0 < n < 2 * FEWEST_UNITS
        ]
    comparison = dataclasses.replace(comparison, differences=tuple(differences))
    return dataclasses.replace(
        comparison,
        best={split: tuple(_best(comparison, split)) for split in comparison.splits},
        test_notes=(*estimates.notes(), *few_units),
    )


def _pairs(comparison: Comparison, split: str) -> list[tuple[Row, Row]]:
    """Pairs of rows that are tested on a split, each once: (row, its rival).

    A trial of a search is no claim, so it is not tested.
    """
    rows = [row for row in comparison.rows if split in row.splits and not row.is_trial]
    candidates = [(row, comparison.rival(row, split)) for row in rows]
    for group in rivals(comparison.rows):
        best = best_by_dev([row for row in group if row.competes])
        candidates += [(row, best) for row in group if row.competes]
    candidates += [(following, first) for first, following in first_two(rows, split)]
    candidates += answer_pairs(comparison.rows)
    pairs: dict[frozenset[str], tuple[Row, Row]] = {}
    for row, base in candidates:
        if base is None or base is row or base.is_trial or split not in base.splits:
            continue
        if row.data(split) == base.data(split):
            pairs.setdefault(frozenset((row.name, base.name)), (row, base))
    return [*pairs.values()]


def _best(comparison: Comparison, split: str) -> Iterator[str]:
    """Names of rows that are better than the next one by the adjusted test."""
    rows = [row for row in comparison.rows if split in row.splits]
    for first, following in first_two(rows, split):
        difference = comparison.difference(first, following, split)
        if difference is not None and difference.sign > 0:
            yield first.name


class _Estimates:
    """Estimates of rows and pairs. Counts of a row are read once."""

    def __init__(self, members: Members) -> None:
        self.members = members
        self.moments: dict[tuple[object, ...], Moments] = {}
        self.without_predictions: dict[str, dict[str, None]] = {_SEEDS_ONLY: {}, _NO_INTERVAL: {}}
        self.uncounted = 0
        self.reasons: dict[tuple[str, str], dict[str, None]] = {}

    def of_row(self, row: Row) -> Row:
        """The row with `estimates` and `learned`."""
        estimates, learned = {}, []
        for split in row.splits:
            runs, floor = self.members[row.name], row.floors.get(split, 0.0)
            result = self._estimate([row], split, floor)
            has_learned = result is None or result.low > floor
            if result is not None:
                estimates[split] = result
            if result is None or not result.covers_text:
                has_learned &= any(run.record.scores[split].exceeds_floor for run in runs)
            learned += [split] * has_learned
        return dataclasses.replace(row, estimates=estimates, learned=tuple(learned))

    def of_pair(self, row: Row, base: Row, split: str) -> Iterator[Difference]:
        """The difference of a row from another one, if it can be estimated."""
        result = self._estimate([base, row], split)
        if result is not None:
            scores = self.members[row.name][0].record.scores[split]
            unit = row.task.group if 0 < result.units < scores.examples else row.task.unit
            ends = result.p_value, result.low, result.high
            yield Difference(row.name, base.name, split, f"{unit}s", result, *ends)

    def notes(self) -> Iterator[str]:
        """Rows without an interval over text, and why."""
        for effect, names in self.without_predictions.items():
            if names:
                yield f"predictions are missing, {effect}: {listed(names)}"
        for (split, error), row_names in self.reasons.items():
            yield f"no interval over text of {split} for {listed(row_names)}: {error}"
        if self.uncounted:
            number = counted(self.uncounted, "interval")
            yield f"{number} from before the predictions were removed, not to be computed again"

    def _estimate(self, rows: Sequence[Row], split: str, null: float = 0.0) -> Estimate | None:
        lacks_predictions = False
        try:
            result = self._over_text(rows, split, null)
            check_variance(result)
            if not any(row.has_seed for row in rows):
                result = dataclasses.replace(result, covers_seeds=True)
            return result
        except MissingError:
            lacks_predictions = True
        except FeatbertError as error:
            self.reasons.setdefault((split, str(error)), {}).update({r.name: None for r in rows})
        scores = [row.score(split) for row in rows]
        values = [() if score is None else score.values for score in scores]
        over_seeds = seeds_estimate(*for_every_seed(values, [row.has_seed for row in rows]))
        if lacks_predictions:
            effect = _SEEDS_ONLY if over_seeds else _NO_INTERVAL
            self.without_predictions[effect] |= {row.name: None for row in rows}
        return over_seeds

    def _over_text(self, rows: Sequence[Row], split: str, null: float) -> Estimate:
        """The estimate from counts, or the kept one."""
        members = [self.members[row.name] for row in rows]
        by_row = for_every_seed(members, [row.has_seed for row in rows])
        hashes = [[_hash(run, split) for run in runs] for runs in by_row]
        first = by_row[0][0]
        name = json_hash([VERSION, null, first.record.signature.scorer, hashes])[:32]
        path = first.folder.parent / TESTS / f"{name}.json"
        with contextlib.suppress(FeatbertError):  # without a sound file it is computed
            if (kept_test := read_json(path, KeptTest, "")).of == name:
                self.uncounted += results_file(path) is not None
                return kept_test.test
        result = estimate([self._moments(of_row, split) for of_row in by_row], null)
        # Nothing is kept if the runs directory is read-only or the folder of tests is a link.
        with contextlib.suppress(OSError, FeatbertError):
            unlinked(path.parent).mkdir(exist_ok=True)
            with replacing(path, durable=False) as temporary:
                kept_test = KeptTest(name, [h for row in hashes for h in row], result)
                temporary.write_text(to_json(kept_test), "utf-8")
        return result

    def _moments(self, runs: Sequence[Run], split: str) -> Moments:
        key = (split, *(run.folder for run in runs))
        if key not in self.moments:
            # A row's counts by class have the same columns.
            classes = sorted({n for run in runs for n in run.record.signature.entity_types})
            counts = [run.counts(split, classes).units for run in runs]
            units = len(counts[0])
            if units < FEWEST_UNITS:
                raise FeatbertError(f"{counted(units, 'unit')} of text are too few")
            values = contributions(np.array(counts, np.float64), runs[0].task.measure.of)
            self.moments[key] = moments(*values)
        return self.moments[key]


def _adjusted(differences: Sequence[Difference]) -> Iterator[Difference]:
    """Differences with p-values adjusted for all of them, and fitting levels.

    A rejected hypothesis has the level at which Holm rejects it. The others share the level of the
    first one that Holm does not reject (Guilbaud 2008).
    """
    p_values = [difference.estimate.p_value for difference in differences]
    after_holm = holm(p_values)
    n_open = sum(p >= 1 - LEVEL for p in after_holm)
    for difference, before, after in zip(differences, p_values, after_holm, strict=True):
        tests_at_once: float = n_open if after >= 1 - LEVEL else len(p_values)
        if before > 0 and after < 1 - LEVEL:  # a p-value of 0 does not show Holm's factor
            tests_at_once = after / before
        level = 1 - (1 - LEVEL) / tests_at_once
        low, high = difference.estimate.ends(level)
        yield dataclasses.replace(difference, adjusted=after, low=low, high=high, level=level)


def run_estimate(run: Run, split: str) -> Estimate:
    """The interval of one run's measure over other text. FeatbertError if there is none."""
    result = score_estimate(run.counts(split).units[None], run.task.measure.of)
    check_variance(result)
    return result


def check_variance(result: Estimate) -> None:
    """Raises FeatbertError for an estimate without one. Other text may have other scores."""
    if not result.over_seeds + result.over_text:
        raise FeatbertError("the score is the same on every part of the text, without a variance")


def _hash(run: Run, split: str) -> str:
    """SHA-256 of the predictions, from the record if they were removed."""
    with contextlib.suppress(OSError):
        return file_hash(run.predictions_path(split))
    if split not in run.record.predictions:
        run.predictions(split)  # raises an error with the reason
    return run.record.predictions[split]

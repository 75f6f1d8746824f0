"""Is a difference significant: each row against its baseline, over seeds and over text.

The best row by dev is also tested against all others, on the last split: is it the best?

p-values are adjusted by Holm for all pairs of rows that are tested on a split. Results are kept in
`<runs directory>/.statistics` by a hash of the predictions.
"""

import contextlib
import dataclasses
import statistics
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pydantic.dataclasses

from featbert.analysis.comparison import (
    CLEAR,
    Comparison,
    Difference,
    Row,
    best_by_dev,
    grouped,
    rivals,
)
from featbert.analysis.resampling import (
    RESAMPLES,
    Counts,
    PairedTest,
    bootstrap_interval,
    holm,
    paired_test,
    t_interval,
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
from featbert.text import counted

# Counts of baselines, summed over runs, by split, classes and folders: many rows share one.
BaselineCounts = dict[tuple[object, ...], Counts]
VERSION = 2


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class KeptTest:
    """A test in a file.

    Attributes:
        of: hash of everything that the test was computed from. It is the name of the file.
        predictions: SHA-256 of the predictions of each run.
    """

    of: str
    predictions: list[str]
    test: PairedTest


def with_significance(
    comparison: Comparison, members: Members, *, resamples: int = RESAMPLES
) -> Comparison:
    """The comparison with its `differences` and `leads`. `test_notes` name the untested rows.

    `members` are the runs of each row by its name.
    """
    differences: list[Difference] = []
    leads: list[Difference] = []
    notes: dict[str, None] = {}
    rows_without_counts: dict[str, None] = {}
    baseline_counts: BaselineCounts = {}

    def tests(pairs: Iterable[tuple[Row, Row | None]], split: str) -> Iterator[Difference]:
        for row, base in pairs:
            if base is None:
                continue
            try:
                yield _difference(row, base, members, split, resamples, baseline_counts)
            except MissingError:
                rows_without_counts[row.name] = None
            except FeatbertError as error:
                notes[f"{row.name} on {split} is not tested: {error}"] = None

    for split in comparison.splits:
        rows = track(comparison.rows, f"testing differences on {split}", "rows")
        differences += tests(((row, comparison.rival(row, split)) for row in rows), split)
    for group in rivals(comparison.rows):
        best = best_by_dev(group)
        if best is not None:
            split = best.splits[-1]
            competitors = [row for row in group if row is not best and split in row.splits]
            rows = track(competitors, f"testing the best row by dev on {split}", "rows")
            leads += tests(((row, best) for row in rows), split)
    adjusted = _adjusted([*differences, *leads])
    if rows_without_counts:
        notes[f"not tested, for the lack of predictions: {', '.join(rows_without_counts)}"] = None
    if uncounted := sum(difference.uncounted for difference in adjusted):
        number = counted(uncounted, "test")
        notes[f"{number} from before the predictions were removed, not to be computed again"] = None
    return dataclasses.replace(
        comparison,
        differences=adjusted[: len(differences)],
        leads=adjusted[len(differences) :],
        test_notes=(*notes, *_too_few(adjusted)),
    )


def _too_few(differences: Sequence[Difference]) -> Iterator[str]:
    """A note for each split with so few units that no p-value could be below `CLEAR`."""
    for split, tests in grouped((test.split, test) for test in differences).items():
        pairs = {frozenset((test.row, test.baseline)) for test in tests}
        largest = max(tests, key=lambda test: test.pooled.units)
        # Two ways to exchange units give the largest difference: none and all.
        lowest_p = 2 / 2 ** min(largest.pooled.units, 62)
        if lowest_p * len(pairs) >= CLEAR:
            yield (
                f"{largest.pooled.units} {largest.units} of {split} are too few for a significant "
                f"difference over text: no p is below {lowest_p:.2g}, and Holm's is up to "
                f"{len(pairs)} times that"
            )


def _adjusted(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """Differences with adjusted p-values. A pair of rows that is tested twice counts once."""
    pairs = [(test.split, frozenset((test.row, test.baseline))) for test in differences]
    p_values = {pair: test.pooled.p_value for pair, test in zip(pairs, differences, strict=True)}
    for split in {split for split, _ in pairs}:
        family = [pair for pair in p_values if pair[0] == split]
        p_values |= zip(family, holm([p_values[pair] for pair in family]), strict=True)
    tests = zip(pairs, differences, strict=True)
    return tuple(dataclasses.replace(test, adjusted=p_values[pair]) for pair, test in tests)


def _difference(
    row: Row,
    base: Row,
    members: Members,
    split: str,
    resamples: int,
    baseline_counts: BaselineCounts,
) -> Difference:
    pairs = paired_runs(members[base.name], members[row.name])
    if not pairs:
        raise FeatbertError(
            f"no seed in common with {base.name}: "
            f"{', '.join(map(str, row.seeds))} and {', '.join(map(str, base.seeds))}"
        )
    by_seed = seed_differences(pairs, split)
    pooled, uncounted = _pooled(pairs, split, resamples, baseline_counts)
    scores = pairs[0][0].record.scores[split]
    return Difference(
        row=row.name,
        baseline=base.name,
        split=split,
        seeds=tuple(run.record.seed for _, run in pairs),
        mean=statistics.fmean(by_seed),
        over_seeds=t_interval(by_seed),
        pooled=pooled,
        units=f"{row.task.unit if pooled.units == scores.examples else row.task.group}s",
        adjusted=1.0,
        uncounted=uncounted,
    )


def paired_runs(base: Sequence[Run], row: Sequence[Run]) -> list[tuple[Run, Run]]:
    """The runs of two rows with the same seed, in the order of seeds."""
    by_seed = {run.record.seed: run for run in base}
    return [(by_seed[run.record.seed], run) for run in row if run.record.seed in by_seed]


def seed_differences(pairs: Sequence[tuple[Run, Run]], split: str) -> list[float]:
    """Second run's score less the first's, for each pair."""
    scores = [[run.record.score(split) or 0.0 for run in pair] for pair in pairs]
    return [second - first for first, second in scores]


def _pooled(
    pairs: Sequence[tuple[Run, Run]], split: str, resamples: int, baseline_counts: BaselineCounts
) -> tuple[PairedTest, bool]:
    """The test of second runs against first ones, on counts summed over pairs. Results are kept.

    Also whether the test is from a results file, which keeps tests of removed predictions.
    """
    first, runs = pairs[0][0], [run for pair in pairs for run in pair]
    hashes = [_hash(run, split) for run in runs]
    by_pair = [[*pair] for pair in zip(hashes[::2], hashes[1::2], strict=True)]
    name = json_hash([VERSION, resamples, first.record.signature.scorer, by_pair])[:32]
    path = first.folder.parent / TESTS / f"{name}.json"
    with contextlib.suppress(FeatbertError):  # without a sound file the test is computed
        if (kept_test := read_json(path, KeptTest, "")).of == name:
            return kept_test.test, results_file(path) is not None
    # Counts by class are exchanged class by class, so all runs need the classes of all.
    classes = tuple(sorted({name for run in runs for name in run.record.signature.entity_types}))
    key = (split, classes, *(run.folder for run, _ in pairs))
    if key not in baseline_counts:
        units = [run.counts(split, classes).units for run, _ in pairs]
        baseline_counts[key] = np.sum(units, axis=0)
    counts = np.sum([run.counts(split, classes).units for _, run in pairs], axis=0)
    test = paired_test(baseline_counts[key], counts, first.task.measure.of, resamples=resamples)
    # Nothing is kept if the runs directory is read-only or the folder of tests is a link.
    with contextlib.suppress(OSError, FeatbertError):
        unlinked(path.parent).mkdir(exist_ok=True)
        with replacing(path, durable=False) as temporary:
            temporary.write_text(to_json(KeptTest(name, hashes, test)), "utf-8")
    return test, False


def score_interval(run: Run, split: str) -> tuple[float, float]:
    """Bootstrap interval over the units of a run's measure."""
    counts = run.counts(split).units
    # Counts of zero have a value of 0.
    return bootstrap_interval(np.zeros_like(counts), counts, run.task.measure.of)


def _hash(run: Run, split: str) -> str:
    """SHA-256 of the predictions, from the record if they were removed."""
    with contextlib.suppress(OSError):
        return file_hash(run.predictions_path(split))
    if split not in run.record.predictions:
        run.predictions(split)  # raises an error with the reason
    return run.record.predictions[split]

"""Is a difference significant: each row against its baseline, over seeds and over text.

The best row by dev is also tested against all others, on the last split: is it the best?

p-values are adjusted by Holm for all pairs of rows that are tested on a split. Results are kept in
`<runs directory>/.statistics`, by a hash of the predictions.
"""

import contextlib
import dataclasses
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence

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
from featbert.errors import FeatbertError, MissingError
from featbert.io import file_hash, json_hash, replacing, unlinked
from featbert.progress import track
from featbert.runs.folder import TESTS
from featbert.runs.record import read_json, to_json
from featbert.runs.results import results_file
from featbert.runs.run import Run
from featbert.schema import STRICT
from featbert.text import counted

# Summed counts of baselines, which many rows share, by split and folders of runs.
Known = dict[tuple[object, ...], Counts]
# Runs of each row by its name.
Members = Mapping[str, Sequence[Run]]
VERSION = 2


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class KeptTest:
    """A test in a file.

    Attributes:
        of: hash of all that it was computed from, the file's name.
        predictions: SHA-256 of the predictions of each run.
    """

    of: str
    predictions: list[str]
    test: PairedTest


def with_significance(
    comparison: Comparison, members: Members, *, resamples: int = RESAMPLES
) -> Comparison:
    """The comparison with its `differences` and `leads`; what cannot be tested is in `test_notes`.

    `members` are the runs of each row by its name.
    """
    found: list[Difference] = []
    notes: dict[str, None] = {}
    lacking: dict[str, None] = {}
    known: Known = {}

    def tested(pairs: Iterable[tuple[Row, Row | None]], split: str) -> Iterator[Difference]:
        for row, base in pairs:
            if base is None:
                continue
            try:
                yield _difference(row, base, members, split, resamples, known)
            except MissingError:
                lacking[row.name] = None
            except FeatbertError as error:
                notes[f"{row.name} on {split} is not tested: {error}"] = None

    for split in comparison.splits:
        rows = track(comparison.rows, f"testing differences on {split}", "rows")
        found += tested(((row, comparison.rival(row, split)) for row in rows), split)
    leads: list[Difference] = []
    for alike in rivals(comparison.rows):
        first = best_by_dev(alike)
        if first is not None:
            split = first.splits[-1]
            others = [row for row in alike if row is not first and split in row.splits]
            rows = track(others, f"testing the best row by dev on {split}", "rows")
            leads += tested(((row, first) for row in rows), split)
    adjusted = _adjusted([*found, *leads])
    if lacking:
        notes[f"not tested, for the lack of predictions: {', '.join(lacking)}"] = None
    if uncounted := sum(one.uncounted for one in adjusted):
        tests = counted(uncounted, "test")
        notes[f"{tests} from before the predictions were removed, not to be computed again"] = None
    return dataclasses.replace(
        comparison,
        differences=adjusted[: len(found)],
        leads=adjusted[len(found) :],
        test_notes=(*notes, *_too_few(adjusted)),
    )


def _too_few(found: Sequence[Difference]) -> Iterator[str]:
    """A note for each split with so few units that no p-value could be below `CLEAR`."""
    for split, tests in grouped((one.split, one) for one in found).items():
        pairs = {frozenset((one.row, one.baseline)) for one in tests}
        most = max(tests, key=lambda one: one.pooled.units)
        # Of all ways to exchange units, two differ as much as the most: none and all.
        least = 2 / 2 ** min(most.pooled.units, 62)
        if least * len(pairs) >= CLEAR:
            yield (
                f"{most.pooled.units} {most.units} of {split} are too few for a significant "
                f"difference over text: no p is below {least:.2g}, and Holm's is up to "
                f"{len(pairs)} times that"
            )


def _adjusted(found: Sequence[Difference]) -> tuple[Difference, ...]:
    """Tests with their adjusted p-values; a pair of rows that is tested twice counts once."""
    pairs = [(one.split, frozenset((one.row, one.baseline))) for one in found]
    p_values = {pair: one.pooled.p_value for pair, one in zip(pairs, found, strict=True)}
    for split in {split for split, _ in pairs}:
        family = [pair for pair in p_values if pair[0] == split]
        p_values |= zip(family, holm([p_values[pair] for pair in family]), strict=True)
    tests = zip(pairs, found, strict=True)
    return tuple(dataclasses.replace(one, adjusted=p_values[pair]) for pair, one in tests)


def _difference(
    row: Row, base: Row, members: Members, split: str, resamples: int, known: Known
) -> Difference:
    pairs = paired_runs(members[base.name], members[row.name])
    if not pairs:
        raise FeatbertError(
            f"no seed in common with {base.name}: "
            f"{', '.join(map(str, row.seeds))} and {', '.join(map(str, base.seeds))}"
        )
    apart = seed_differences(pairs, split)
    pooled, uncounted = _pooled(pairs, split, resamples, known)
    scores = pairs[0][0].record.scores[split]
    return Difference(
        row=row.name,
        baseline=base.name,
        split=split,
        seeds=tuple(run.record.seed for _, run in pairs),
        mean=statistics.fmean(apart),
        over_seeds=t_interval(apart),
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
    """The score of each pair's second run less that of its first."""
    scores = [[run.record.score(split) or 0.0 for run in pair] for pair in pairs]
    return [second - first for first, second in scores]


def _pooled(
    pairs: Sequence[tuple[Run, Run]], split: str, resamples: int, known: Known
) -> tuple[PairedTest, bool]:
    """The test of second against first, counts summed over the pairs; results are kept.

    Also whether a results file has it because the predictions are gone.
    """
    one = pairs[0][0]
    hashes = [[_hash(run, split) for run in pair] for pair in pairs]
    name = json_hash([VERSION, resamples, one.record.signature.scorer, hashes])[:32]
    kept = one.folder.parent / TESTS / f"{name}.json"
    with contextlib.suppress(FeatbertError):  # missing, damaged or of another test: made anew
        if (before := read_json(kept, KeptTest, "")).of == name:
            return before.test, results_file(kept) is not None
    # Counts by class are exchanged class by class, so all runs are counted by the classes of all.
    classes = tuple(sorted({n for p in pairs for r in p for n in r.record.signature.entity_types}))
    key = (split, classes, *(run.folder for run, _ in pairs))
    if key not in known:
        known[key] = np.sum([run.counts(split, classes).units for run, _ in pairs], axis=0)
    second = np.sum([run.counts(split, classes).units for _, run in pairs], axis=0)
    found = paired_test(known[key], second, one.task.measure.of, resamples=resamples)
    # The runs directory may be read-only, or its folder a link: then nothing is kept.
    with contextlib.suppress(OSError, FeatbertError):
        unlinked(kept.parent).mkdir(exist_ok=True)
        with replacing(kept, durable=False) as temporary:
            compared = KeptTest(name, [one for pair in hashes for one in pair], found)
            temporary.write_text(to_json(compared), "utf-8")
    return found, False


def score_interval(run: Run, split: str) -> tuple[float, float]:
    """Bootstrap interval over the units of a run's measure."""
    counts = run.counts(split).units
    # Nothing counted has a value of 0.
    return bootstrap_interval(np.zeros_like(counts), counts, run.task.measure.of)


def _hash(run: Run, split: str) -> str:
    """Of the predictions, which are all that a test depends on; a kept record alone has it too."""
    try:
        return file_hash(run.predictions_path(split))
    except OSError:
        if split in run.record.predictions:
            return run.record.predictions[split]
        run.predictions(split)  # says what is wrong
        raise

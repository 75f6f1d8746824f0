"""Can a difference be trusted: each row against its baseline, over seeds and over text.

p-values are adjusted by Holm for each split. Results are kept in `<runs directory>/.statistics`, by
a hash of the predictions.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from featbert.analysis.compare import Comparison
from featbert.analysis.resampling import (
    RESAMPLES,
    Counts,
    PairedTest,
    by_unit,
    holm,
    paired_interval,
    paired_test,
)
from featbert.analysis.results import Difference
from featbert.analysis.rows import Row, baseline_of
from featbert.errors import FeatbertError
from featbert.io import file_hash, json_hash, replacing
from featbert.progress import track
from featbert.runs.run import Run

FOLDER = ".statistics"
VERSION = 1


def with_significance(comparison: Comparison, *, resamples: int = RESAMPLES) -> Comparison:
    """The comparison with its `differences`; what cannot be tested is in its notes."""
    found: list[Difference] = []
    notes: list[str] = []
    for split in comparison.splits:
        tested = []
        for row in track(comparison.rows, f"testing differences on {split}", "rows"):
            base = baseline_of(row, comparison.rows, split)
            if base is None:
                continue
            try:
                tested.append(_difference(row, base, split, resamples))
            except FeatbertError as error:
                notes.append(f"{row.name} on {split} is not tested: {error}")
        adjusted = holm([difference.pooled.p_value for difference in tested])
        found += [dataclasses.replace(d, adjusted=p) for d, p in zip(tested, adjusted, strict=True)]
    return dataclasses.replace(
        comparison, differences=tuple(found), notes=(*comparison.notes, *notes)
    )


def _difference(row: Row, base: Row, split: str, resamples: int) -> Difference:
    ours = {run.record.seed: run for run in row.runs}
    theirs = {run.record.seed: run for run in base.runs}
    seeds = tuple(sorted(ours.keys() & theirs.keys()))
    if not seeds:
        raise FeatbertError(
            f"no seed in common with {base.name}: "
            f"{', '.join(map(str, row.seeds))} and {', '.join(map(str, base.seeds))}"
        )
    pairs = [(theirs[seed], ours[seed]) for seed in seeds]
    scores = [[run.record.score(split) or 0.0 for run in pair] for pair in pairs]
    tests = _Tests(split, resamples)
    return Difference(
        row=row.name,
        baseline=base.name,
        split=split,
        seeds=seeds,
        over_seeds=paired_interval(*zip(*scores, strict=True)),
        by_seed=tuple(tests.of([pair]) for pair in pairs),
        pooled=tests.of(pairs),
        units=tests.units(pairs[0][0]),
        adjusted=1.0,
    )


class _Tests:
    """Predictions are read once, results are kept with the runs."""

    def __init__(self, split: str, resamples: int) -> None:
        self.split, self.resamples = split, resamples
        self.counted: dict[Path, Counts] = {}

    def of(self, pairs: Sequence[tuple[Run, Run]]) -> PairedTest:
        """The test of second against first, counts summed over the pairs."""
        one = pairs[0][0]
        hashes = [[_hash(run, self.split) for run in pair] for pair in pairs]
        name = json_hash([VERSION, self.resamples, one.record.signature.scorer, hashes])[:32]
        kept = one.folder.parent / FOLDER / f"{name}.json"
        if (found := _read_kept(kept)) is not None:
            return found
        first, second = (
            sum(counts[1:], counts[0])
            for counts in ([self._counts(run) for run in side] for side in zip(*pairs, strict=True))
        )
        found = paired_test(first, second, one.task.measure.of, resamples=self.resamples)
        # The runs directory may be read-only: then nothing is kept.
        with contextlib.suppress(OSError):
            kept.parent.mkdir(exist_ok=True)
            with replacing(kept, durable=False) as temporary:
                temporary.write_text(json.dumps(dataclasses.asdict(found)), "utf-8")
        return found

    def units(self, run: Run) -> str:
        marked = any(run.predictions(self.split).documents)
        return f"{run.task.group if marked else run.task.unit}s"

    def _counts(self, run: Run) -> Counts:
        if run.folder not in self.counted:
            self.counted[run.folder] = unit_counts(run, self.split)
        return self.counted[run.folder]


def unit_counts(run: Run, split: str) -> Counts:
    """(U, K) counts of each document, or sentence without documents."""
    found = run.predictions(split)
    classes = run.record.signature.entity_types
    counts = run.task.counts(found.gold, found.predicted, classes)
    if not any(found.documents):
        return counts
    numbers = {document: place for place, document in enumerate(dict.fromkeys(found.documents))}
    return by_unit(counts, [numbers[document] for document in found.documents])


def _hash(run: Run, split: str) -> str:
    """Of the predictions, which are all that a test depends on."""
    try:
        return file_hash(run.predictions_path(split))
    except OSError:
        run.predictions(split)  # says what is wrong
        raise


def _read_kept(path: Path) -> PairedTest | None:
    try:
        return PairedTest(**json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return None

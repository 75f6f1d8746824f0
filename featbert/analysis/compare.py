"""A comparison: rows of approach x layers x settings, with means over seeds and a baseline.

Built from runs alone, so a row's every number can be traced to the runs it names. The baseline
of a row is the fine-tuned row with the best mean dev F1 among the rows that share its freed part
of the key and learned from as much: differences are never taken across texts, encoders or amounts
of training text without being asked for.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from featbert.analysis.baselines import best_by_dev
from featbert.analysis.labels import Naming, name_rows, row_key
from featbert.analysis.learning import lead_line, leads, learning_points
from featbert.analysis.ordering import place_of_row
from featbert.analysis.rows import Row, build_row, same_task
from featbert.errors import InputError, MissingError, nearest
from featbert.lazy import late
from featbert.runs.grouping import (
    EVALUATED,
    check_comparable,
    comparable_key,
    freed_keys,
    group_comparable,
    unknown_vary,
)
from featbert.runs.run import Run
from featbert.text import counted, in_percent, natural

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from featbert.analysis.breakdowns import Breakdown
    from featbert.analysis.cost import CostRow
    from featbert.analysis.reproduction import Reproduction
    from featbert.analysis.scorers import ScorerRow
    from featbert.analysis.significance import Difference


@dataclass(frozen=True)
class Comparison:
    """Comparable runs side by side.

    Attributes:
        rows: features by layer combination, then fine-tuning.
        splits: evaluated splits, of "dev", "test".
        corpus: name of the corpus; several, joined by commas, where it varies.
        model: the encoder, likewise.
        context: likewise.
        scorer: likewise.
        sizes: (sentences, words) by evaluated split; a split whose text varies is absent.
        key: parts of the comparable key that all rows share.
        varied: names of what rows differ in by declaration: keys of every row's `varied`.
        notes: what a reader should know, one line each: runs left out, unequal seeds.
        differences: each row against its baseline, as `with_significance` tests them; none unless
            asked for.
        costs: what rows cost, once and by the run, likewise (`with_costs`).
        scorers: rows under several scorers, likewise (`with_scorers`).
        breakdowns: scores by what an entity is like, likewise (`with_breakdowns`).
        reproductions: published tables set beside it, as `reproduce` does; none unless asked for.
    """

    rows: tuple[Row, ...]
    splits: tuple[str, ...]
    corpus: str
    model: str
    context: str
    scorer: str
    sizes: Mapping[str, tuple[int, int]]
    key: Mapping[str, str]
    varied: tuple[str, ...]
    notes: tuple[str, ...]
    reproductions: tuple[Reproduction, ...] = ()
    differences: tuple[Difference, ...] = ()
    breakdowns: tuple[Breakdown, ...] = ()
    costs: tuple[CostRow, ...] = ()
    scorers: tuple[ScorerRow, ...] = ()

    def __repr__(self) -> str:
        runs = sum(len(row.runs) for row in self.rows)
        told = f"{counted(len(self.rows), 'row')} of {counted(runs, 'run')}"
        return f"<Comparison: {self.corpus} · {self.model} · context: {self.context} · {told}>"

    def _repr_html_(self) -> str:
        """The tables, as notebooks show them."""
        html: str = late("featbert.report.notebook", "comparison_html")(self)
        return html

    def to_pandas(self, *, by_seed: bool = False) -> pandas.DataFrame:
        """One line a row, or one line a run: names, scores, differences to the baseline, costs.

        F1 and other scores are unrounded and in [0, 1], not in percent; costs are in the unit that
        ends their name. Settings in which rows differ are columns called `setting_...`.

        Args:
            by_seed: one line a run, with its `seed` and name (`run`), in place of means (`_mean`)
                and sample standard deviations (`_sd`) over seeds; a difference is then to the
                baseline's run with the same seed.

        Raises:
            MissingError: pandas is not installed.
        """
        from featbert.analysis.frame import comparison_frame

        return comparison_frame(self, by_seed=by_seed)

    def plot(
        self, kind: str = "seeds", *, split: str | None = None, width: float | None = None
    ) -> Figure:
        """A figure of the comparison; in a notebook it shows itself.

        Args:
            kind: a name of `featbert.report.figures.registry.NAMES`, such as "seeds" or "pareto";
                where a kind has several figures, "types-length" is one of them.
            split: the first evaluated split by default.
            width: inches; by default one column of a page or both, as the figure needs.

        Raises:
            InputError: an unknown kind or split, or one that these runs have nothing for.
            MissingError: matplotlib is not installed.
        """
        figure: Figure = late("featbert.report.figures.registry", "plot")(
            self, kind, split=split, width=width
        )
        return figure


class Comparisons(list[Comparison]):
    """Comparisons in a list that notebooks show as tables."""

    def _repr_html_(self) -> str:
        """The tables of all, one below the other."""
        html: str = late("featbert.report.notebook", "comparisons_html")(self)
        return html


def compare(runs: Iterable[Run], *, baseline: str | None = None) -> Comparisons:
    """A comparison for each group of comparable runs, in a list.

    Args:
        runs: finished runs, such as `find_runs(directory)`.
        baseline: name of a run whose row is its group's baseline, in place of the best
            fine-tuned row.

    Raises:
        MissingError: no run is called `baseline`.
    """
    runs = _once(runs)
    _check_baseline(runs, baseline)
    return Comparisons(
        _comparison(group, freed_keys(group[0].record.vary), baseline)
        for group in group_comparable(runs)
    )


def compare_runs(
    runs: Iterable[Run], *, vary: Iterable[str] = (), baseline: str | None = None
) -> Comparison:
    """One comparison of runs that were named one by one.

    Args:
        runs: at least one run.
        vary: what may differ beside what the runs' own experiments declare, as in `VARYABLE`.
        baseline: as in `compare`.

    Raises:
        IncomparableError: the runs do not fit together; names the keys that differ.
        InputError: no runs.
        MissingError: no run is called `baseline`.
    """
    runs = _once(runs)
    if not runs:
        raise InputError("at least one finished run expected, none was given")
    _check_baseline(runs, baseline)
    return _comparison(runs, check_comparable(runs, vary=vary), baseline)


def _once(runs: Iterable[Run]) -> list[Run]:
    """Each folder once, by name."""
    by_folder = {run.folder.absolute(): run for run in runs}
    return sorted(by_folder.values(), key=lambda run: natural(run.name))


def _check_baseline(runs: Sequence[Run], baseline: str | None) -> None:
    names = [run.name for run in runs]
    if baseline is not None and baseline not in names:
        raise MissingError(
            f"a finished run to be the baseline expected, there is no {baseline!r} among the "
            f"compared runs{nearest(baseline, names)}"
        )


def _comparison(runs: Sequence[Run], freed: frozenset[str], baseline: str | None) -> Comparison:
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(row_key(run, freed), []).append(run)
    members = list(groups.values())
    rows = []
    for group, naming in zip(members, name_rows(members, freed), strict=True):
        key = comparable_key(group[0].record)
        rows.append(_row(group, naming, {part: key[part] for part in key if part in freed}))
    by_layer = any((row.layers or "").startswith("layer:") for row in rows)
    rows = _with_differences(
        sorted(rows, key=lambda row: place_of_row(row, by_layer=by_layer)), baseline
    )
    first = comparable_key(runs[0].record)
    splits = tuple(s for s in EVALUATED if any(s in run.record.scores for run in runs))
    shared_texts = [s for s in splits if _agree(runs, f"{s}.text")]
    scores = {s: run.record.scores[s] for run in runs for s in run.record.scores}
    return Comparison(
        rows=tuple(rows),
        splits=splits,
        corpus=_names(run.record.signature.corpus for run in runs),
        model=_names(run.record.signature.model for run in runs),
        context=_names(run.record.signature.context for run in runs),
        scorer=_names(run.record.signature.scorer for run in runs),
        sizes={s: (scores[s].examples, scores[s].words) for s in shared_texts},
        key={part: value for part, value in first.items() if _agree(runs, part)},
        varied=tuple(rows[0].varied),
        notes=tuple(_notes(rows, runs)),
    )


def _row(group: Sequence[Run], naming: Naming, cell: Mapping[str, str]) -> Row:
    return build_row(
        group, label=naming.label, varied=naming.varied, differing=naming.differing, cell=cell
    )


def _agree(runs: Sequence[Run], part: str) -> bool:
    return len({comparable_key(run.record).get(part) for run in runs}) == 1


def _names(names: Iterable[str]) -> str:
    """Each name once, the most frequent first."""
    return ", ".join(name for name, _ in Counter(names).most_common())


def _with_differences(rows: Sequence[Row], baseline: str | None) -> list[Row]:
    """The rows, each with its baseline and the differences to it."""
    named = next((r for r in rows if any(run.name == baseline for run in r.runs)), None)
    return [_with_difference(row, rows, named) for row in rows]


def _with_difference(row: Row, rows: Sequence[Row], named: Row | None) -> Row:
    base = best_by_dev([o for o in rows if o.tuning == "full" and same_task(o, row)])
    if named is not None and _same_data(named, row):
        base = named
    if base is None:
        return row
    if base is row:
        return dataclasses.replace(row, baseline=row.label, is_baseline=True)
    difference = {
        s: row.splits[s].f1.mean - base.splits[s].f1.mean for s in row.splits if s in base.splits
    }
    return dataclasses.replace(row, baseline=base.label, difference=difference)


def _same_data(one: Row, other: Row) -> bool:
    """Whether two rows were scored on one text with one scorer; encoder and context may differ."""
    parts = {p for p in one.cell if p == "scorer" or p.endswith((".text", ".tags"))}
    return all(one.cell[part] == other.cell[part] for part in parts)


def _notes(rows: Sequence[Row], runs: Sequence[Run]) -> Iterable[str]:
    for row in rows:
        if row.left_out:
            names = ", ".join(run.name for run in row.left_out)
            yield f"{row.label}: of runs with one seed and settings the newest counts, not {names}"
    shares = {row.train_share for row in rows}
    if len(shares) == 1 and shares != {1.0}:
        yield f"all rows learned from {in_percent(shares.pop())} of the training sentences"
    if len({row.seeds for row in rows}) > 1:
        yield "the rows do not share the same seeds"
    places = Counter(
        f"{run.record.signature.device_name}, threads: {run.record.signature.threads}"
        for run in runs
    )
    if len(places) > 1:
        yield f"run on different hardware ({'; '.join(places)}): scores compare, times do not"
    unknown = dict.fromkeys(
        name for run in runs for name in unknown_vary(run.record.vary, run.record.settings)
    )
    if unknown:
        yield f"declared as varied but unknown, so it frees nothing: {', '.join(unknown)}"
    yield from map(lead_line, leads(learning_points(rows)))

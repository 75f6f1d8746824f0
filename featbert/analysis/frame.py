"""A comparison as lines of values by name, which tables show, and as a pandas frame.

Numbers are unrounded, scores in [0, 1]. The name of a cost ends with its unit. Comparisons of one
task have the same columns (except settings), so their frames can be concatenated.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from featbert.analysis.comparison import (
    ComparedRun,
    Comparison,
    Difference,
    FoldMeans,
    Row,
    Statistic,
    grouped,
)
from featbert.analysis.cost import CURRENCIES, spent
from featbert.analysis.curves import freely_chosen
from featbert.analysis.labels import BARE, base_name, with_settings
from featbert.config import with_later
from featbert.data.corpus import EVALUATED
from featbert.errors import check_known

if TYPE_CHECKING:
    import pandas

# Whole numbers that not every row has: pandas would make floats of them.
_WHOLE = (
    *("extraction_words", "store_bytes", "prediction_words", "peak_memory_bytes"),
    *("trained_parameters", "total_parameters", "run_bytes", "seeds", "seed", "best_epoch"),
)
# Names that may vary between the rows of a comparison, each a column.
_VARIED = ("corpus", "model", "context", "casing", "scorer")
_NAMES = (
    *("row", "label", "tuning", "layers", *_VARIED, "baseline", "baseline_row", "tuned_row"),
    *("run", *(f"{split}_winner" for split in EVALUATED)),
)
_KINDS: Mapping[str, str] = {
    # Arrow's strings refuse names of files that are no UTF-8.
    **dict.fromkeys(_NAMES, "string[python]"),
    **dict.fromkeys(_WHOLE, "Int64"),
    "is_baseline": "bool",
}


# Differences are shown in points with two digits. A smaller difference counts as none.
_DIGITS = 4
# What tests say of a row on a split.
_TESTED = ("difference", "low", "high", "p", "p_adjusted")
# Unit of a line.
Per = Literal["row", "run"]


def comparison_lines(comparison: Comparison, *, per: Per = "row") -> list[dict[str, Any]]:
    """A comparison's scores, differences to the baseline, costs and names.

    Settings in which rows differ are called `setting_...`.

    Args:
        per: "row": a line for each row, with means (`_mean`) and sample standard deviations (`_sd`)
            over seeds, and further analyses (all names: `docs/how-to/notebooks.md`). "run": a line
            for each run, with its `seed` and name (`run`).
    """
    check_known("line per", [per], get_args(Per))
    rows = comparison.rows
    setting_names = {name for row in rows for name in row.settings}
    differing = dict.fromkeys(name for row in rows for name in row.differing)
    settings = [name for name in differing if name in setting_names]
    analysed: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, columns in _of_analyses(comparison):
        analysed[name] |= columns
    lines = []
    for row in rows:
        row_settings = with_later(row.settings, row.tuning)
        names = {
            "tuning": row.tuning,
            "layers": row.layers,
            **{name: row.varied.get(name, getattr(row, name)) for name in _VARIED},
            "baseline": row.baseline and comparison.row(row.baseline).label,
            "is_baseline": row.is_baseline,
            **{f"setting_{name}": row_settings.get(name) for name in settings},
        }
        if per == "row":
            parts = [_of_row(row) | analysed[row.name]]
        else:
            parts = [_of_run(row, run) for run in row.runs]
        first = {"row": row.name, "label": row.label}
        lines += [first | part | names for part in parts]
    return [{name: _typed(name, value) for name, value in line.items()} for line in lines]


def _typed(name: str, value: Any) -> Any:
    """A value with the type of its column: costs and scores are floats, counts are ints."""
    types = {"float64": float, "Int64": int}
    as_type = None if name.startswith("setting_") else types.get(_KINDS.get(name, "float64"))
    return as_type(value) if as_type and has_value(value) else value


def comparison_frame(comparison: Comparison, *, per: Per = "row") -> pandas.DataFrame:
    """`comparison_lines` as a pandas table with a type for each column."""
    import pandas

    frame = pandas.DataFrame(comparison_lines(comparison, per=per), dtype=object)
    free = [name for name in frame if str(name).startswith("setting_")]
    frame[free] = frame[free].infer_objects()
    return frame.astype({n: _KINDS.get(n, "float64") for n in frame if n not in free})


def has_value(value: Any) -> bool:
    """Whether a value is neither None nor NaN."""
    return value is not None and value == value


def statistic(name: str, score: Statistic | None) -> dict[str, float | None]:
    """Mean and standard deviation as two columns."""
    mean, sd = (None, None) if score is None else (score.mean, score.sd)
    return {f"{name}_mean": mean, f"{name}_sd": sd}


def _of_row(row: Row) -> dict[str, Any]:
    line: dict[str, Any] = {"seeds": len(row.runs), "baseline_row": None}
    for split in EVALUATED:
        for key in row.task.all_columns:
            line |= statistic(f"{split}_{key}", row.score(split, key))
        line[f"{split}_{row.task.measure.key}_difference"] = (row.difference or {}).get(split)
        line |= dict.fromkeys(f"{split}_{name}" for name in _TESTED)
    costs = {**vars(row.cost), "operations": CURRENCIES["operations"].of(row)}
    return line | statistic("training_seconds", costs.pop("training_seconds")) | costs


def _of_analyses(comparison: Comparison) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Names of rows, and what further analyses say of them."""
    for row, d in tested_against(comparison):
        values = (d.value, d.low, d.high, d.estimate.p_value, d.adjusted)
        columns = zip((f"{d.split}_{name}" for name in _TESTED), values, strict=True)
        yield row.name, {"baseline_row": d.baseline, **dict(columns)}
    for name, price in comparison.prices.items():
        yield name, {"tuned_row": price.tuned_row}
        for currency in ("seconds", "flops"):
            once, run = spent(comparison.row(name), currency)
            cheaper = getattr(price, f"{currency}_cheaper_from")
            yield name, {f"{currency}_once": once or None, f"{currency}_run": run}
            yield name, {f"{currency}_cheaper_from": cheaper}
    for row, split in itertools.product(comparison.rows, comparison.splits):
        rival = comparison.rival(row, split)
        differences = {
            name: None if rival is None else row.mean(split, name) - rival.mean(split, name)
            for name in comparison.scorers
        }
        yield row.name, {f"{split}_{name}_difference": d for name, d in differences.items()}
        if differences:
            yield row.name, {f"{split}_winner": _winner(differences.values())}
    for breakdown in comparison.breakdowns:
        of = f"{breakdown.split}_{comparison.task.measure.key}_{breakdown.facet}"
        for name, buckets in breakdown.rows.items():
            for bucket, score in buckets.items():
                yield name, statistic(f"{of}_{bucket}", score)


def tested_against(comparison: Comparison) -> Iterator[tuple[Row, Difference]]:
    """Each row's difference from its baseline, or from the best row by dev without a baseline."""
    leaders = [comparison.row(c.leader) for c in comparison.contests if c.leader]
    has_baseline = any(row.is_baseline for row in comparison.rows)
    for row, split in itertools.product(comparison.rows, comparison.splits):
        rival = comparison.rival(row, split)
        opponents = [rival] if rival else [] if has_baseline else leaders
        tests = (comparison.difference(row, opponent, split) for opponent in opponents)
        if difference := next(filter(None, tests), None):
            yield row, difference


def _winner(differences: Iterable[float | None]) -> str | None:
    """Whether differences by several scorers have one sign. None without a baseline."""
    rounded = [round(difference, _DIGITS) for difference in differences if difference is not None]
    signs = {(difference > 0) - (difference < 0) for difference in rounded}
    return None if not signs else "same" if len(signs) == 1 else "differs"


def _of_run(row: Row, run: ComparedRun) -> dict[str, Any]:
    line: dict[str, Any] = {"seed": run.seed, "run": run.name}
    for split in EVALUATED:
        scores = run.scores.get(split, {})
        line |= {f"{split}_{key}": scores.get(key) for key in row.task.all_columns}
    return {**line, "best_epoch": run.best_epoch, **run.cost}


def overview_lines(comparisons: Iterable[Comparison]) -> list[dict[str, Any]]:
    """A line for each corpus, encoder and task in which features and fine-tuning can be compared.

    Differences are features less tuned, in [0, 1]. `ahead` is the tuning that is better by the
    adjusted test, "neither" if there is none, and None if that was not tested.
    """
    lines = []
    pairs = [(comparison, contest) for comparison in comparisons for contest in comparison.contests]
    for comparison, contest in pairs:
        if contest.features is None or contest.tuned is None:
            continue
        features, tuned = comparison.row(contest.features), comparison.row(contest.tuned)
        splits = [s for s in comparison.splits if s in features.splits and s in tuned.splits]
        if not splits:
            continue
        split = splits[-1]
        test = contest.difference
        ahead = comparison.row(contest.ahead).tuning if contest.ahead else "neither"
        line = {
            "task": features.task.name,
            "corpus": features.corpus_name,
            "model": features.model,
            "context": features.context,
            "measure": features.task.measure.name,
            "chosen_on": features.splits[0],
            "split": split,
            "features": features.label,
            **statistic("features", features.score(split)),
            "tuned": tuned.label,
            **statistic("tuned", tuned.score(split)),
            "difference": features.mean(split) - tuned.mean(split),
            "low": test and test.low,
            "high": test and test.high,
            "p_adjusted": test and test.adjusted,
            "ahead": ahead if test else None,
        }
        lines.append(line)
    return lines


_FOLD = re.compile(r"^(?P<of>.+)-fold-\d+-of-(?P<folds>\d+)$")


def fold_means(comparison: Comparison) -> Iterator[FoldMeans]:
    """Means over folds of means over seeds, if two or more folds of a corpus have the same rows.

    Settings that a search chose for each fold may differ.
    """
    if not any(_FOLD.match(row.corpus) for row in comparison.rows):
        return
    frame = comparison_frame(comparison)
    frame["label"] = frame["row"].map(_labels_over_folds(comparison.rows))
    parts = frame["corpus"].str.extract(_FOLD)
    keys = [*(name for name in comparison.varied if name != "corpus"), "label"]
    columns = {"number": ("label", "size"), "is_baseline": ("is_baseline", "all")}
    differences = [f"{s}_{comparison.task.measure.key}_difference" for s in comparison.splits]
    frame.loc[frame["is_baseline"], differences] = 0.0  # a row may be the baseline in some folds
    for split in comparison.splits:
        name = f"{split}_{comparison.task.measure.key}"
        columns |= {f"{name}_mean": (f"{name}_mean", "mean"), f"{name}_sd": (f"{name}_mean", "std")}
        columns[f"{name}_difference"] = (f"{name}_difference", "mean")
    for (corpus, folds), rows in frame.join(parts).groupby(["of", "folds"], sort=False):
        lines = rows.groupby(keys, sort=False).agg(**columns).reset_index().astype(object)
        if lines["number"].max() > 1:
            lines.loc[lines["is_baseline"].astype(bool), differences] = None
            lines = lines.where(lines.notna(), None)
            yield FoldMeans(corpus, folds, tuple(lines.to_dict("records")))


def _labels_over_folds(rows: Sequence[Row]) -> dict[str, str]:
    """Labels without the settings that a search chose for each fold, by name of the row."""
    alike = grouped(
        ((row.tuning, row.layers, tuple(v for n, v in row.varied.items() if n != "corpus")), row)
        for row in rows
    )
    labels = {}
    for of_way in alike.values():
        differing, corpora = [r.differing for r in of_way], [r.corpus_name for r in of_way]
        free = freely_chosen(of_way, differing, corpora) - {*BARE}
        for row in of_way:
            settings = {name: value for name, value in row.differing.items() if name not in free}
            labels[row.name] = with_settings(base_name(row.tuning, row.layers), settings)
    return labels

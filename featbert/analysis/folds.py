"""Means over the folds of a corpus."""

import re
from collections.abc import Iterator

from featbert.analysis.comparison import Comparison, FoldMeans

_FOLD = re.compile(r"^(?P<of>.+)-fold-\d+-of-(?P<folds>\d+)$")


def fold_means(comparison: Comparison) -> Iterator[FoldMeans]:
    """Means over folds of means over seeds, if two or more folds of a corpus have the same rows."""
    if not any(_FOLD.match(row.corpus) for row in comparison.rows):
        return
    frame = comparison.frame()
    parts = frame["corpus"].str.extract(_FOLD)
    keys = [*(name for name in comparison.varied if name != "corpus"), "label"]
    columns = {"number": ("label", "size"), "is_baseline": ("is_baseline", "all")}
    for split in comparison.splits:
        name = f"{split}_{comparison.task.measure.key}"
        columns |= {f"{name}_mean": (f"{name}_mean", "mean"), f"{name}_sd": (f"{name}_mean", "std")}
        columns[f"{name}_difference"] = (f"{name}_difference", "mean")
    for (corpus, folds), rows in frame.join(parts).groupby(["of", "folds"], sort=False):
        lines = rows.groupby(keys, sort=False).agg(**columns).reset_index().astype(object)
        if lines["number"].max() > 1:
            lines = lines.where(lines.notna(), None)
            yield FoldMeans(corpus, folds, tuple(lines.to_dict("records")))

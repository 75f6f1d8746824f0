"""Features against fine-tuning, a line for each corpus and task: the answer in one table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from featbert.analysis.comparison import Comparison
from featbert.analysis.frame import statistic


def overview_lines(comparisons: Iterable[Comparison]) -> list[dict[str, Any]]:
    """A line for each corpus, encoder and task in which features and fine-tuning can be compared.

    Differences are features less tuned, in [0, 1]. `ahead` is the tuning that text and seeds both
    say is better, "neither" if they do not, and None if that was not tested.
    """
    lines = []
    for comparison, contest in (
        (shown, contest) for shown in comparisons for contest in shown.contests
    ):
        if contest.features is None or contest.tuned is None or contest.split is None:
            continue
        features, tuned = comparison.row(contest.features), comparison.row(contest.tuned)
        seeds, test, split = contest.over_seeds, contest.over_text, contest.split
        ahead = comparison.row(contest.ahead).tuning if contest.ahead else "neither"
        line = {
            "task": features.task.name,
            "corpus": features.corpus,
            "model": features.model,
            "context": features.context,
            "measure": features.task.measure.name,
            "split": split,
            "features": features.label,
            **statistic("features", features.score(split)),
            "tuned": tuned.label,
            **statistic("tuned", tuned.score(split)),
            "difference": features.mean(split) - tuned.mean(split),
            "over_text_low": test and test.pooled.low,
            "over_text_high": test and test.pooled.high,
            "over_seeds_low": seeds and seeds.low,
            "over_seeds_high": seeds and seeds.high,
            "p_adjusted": test and test.adjusted,
            "ahead": ahead if test else None,
        }
        lines.append(line)
    return lines

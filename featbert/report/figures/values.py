"""What several figures read from comparisons and rows."""

from collections import Counter
from collections.abc import Iterable, Sequence

from matplotlib.lines import Line2D

from featbert.analysis.comparison import Comparison, Row
from featbert.analysis.interval import FEWEST, LEVEL
from featbert.encoders.tunings import TUNINGS, tuning_title
from featbert.report.figures.style import Look, key, looks, shade


def about(comparison: Comparison, *more: str) -> str:
    """Corpus, encoder and context, then further notes."""
    return " · ".join(part for part in (comparison.title, *more) if part)


def score_name(comparison: Comparison, split: str) -> str:
    """Axis label: `dev accuracy`."""
    return f"{split} {comparison.task.measure.name}"


def floors(comparison: Comparison, split: str) -> list[float]:
    """Scores in [0, 1] that need no skill (`Task.floor`): one for each text of the split."""
    return sorted({score for (of, _), score in comparison.floors.items() if of == split})


def bars(rows: Sequence[Row], split: str) -> tuple[dict[str, tuple[float, float]], str]:
    """Ends in [0, 1] of a bar for each row's mean, by the row's name, and their meaning.

    All bars are of one kind: 95% intervals if all rows of several seeds have three or more, else
    ± 1 standard deviation.
    """
    scored = [(row, score) for row in rows if (score := row.score(split))]
    several = [score.n for _, score in scored if score.n > 1]
    if not several:
        return {}, ""
    if min(several) < FEWEST:
        spreads = [(row, score.mean, score.sd) for row, score in scored if score.sd is not None]
        return {row.name: (mean - sd, mean + sd) for row, mean, sd in spreads}, "mean ± 1 sd"
    estimates = {row.name: row.estimates[split] for row, _ in scored if split in row.estimates}
    with_text = [estimate.covers_text for estimate in estimates.values()]
    text = " and text" if all(with_text) else ", and text if predictions exist" * any(with_text)
    ends = {name: (estimate.low, estimate.high) for name, estimate in estimates.items()}
    has_seeds = all(estimate.covers_seeds for estimate in estimates.values())
    seeds = "seeds" if has_seeds else f"seeds (from {FEWEST} on)"
    return ends, f"{LEVEL:.0%} interval over {seeds}{text}"


def method_title(name: str) -> str:
    """A tuning's name in a legend."""
    return "frozen" if name == "none" else tuning_title(name)


def tuning_look(name: str) -> Look:
    """The same colour and marker in every figure for a tuning, without its number.

    Unknown tunings have the first unused ones.
    """
    tuning = name.partition(":")[0]
    return dict(zip(dict.fromkeys([*TUNINGS, tuning]), looks(), strict=False))[tuning]


def line_looks(tunings: Sequence[str]) -> list[Look]:
    """The first line of each tuning has the tuning's look, further ones shades of its colour."""
    counts = Counter[Look]()
    looks_of_lines = []
    for look in map(tuning_look, tunings):
        looks_of_lines.append(shade(look, counts[look]))
        counts[look] += 1
    return looks_of_lines


def tuning_keys(names: Iterable[str]) -> list[Line2D]:
    """Marks of a legend."""
    return [key(method_title(name), tuning_look(name)) for name in dict.fromkeys(names)]

"""What several figures read from comparisons and rows."""

from collections.abc import Iterable

from matplotlib.lines import Line2D

from featbert.analysis.comparison import Comparison
from featbert.encoders.tunings import TUNINGS, tuning_title
from featbert.report.figures.style import Look, key, looks


def about(comparison: Comparison, *more: str) -> str:
    """Corpus, encoder and context, then further notes."""
    return " · ".join(part for part in (comparison.title, *more) if part)


def score_name(comparison: Comparison, split: str) -> str:
    """Axis label: `dev accuracy`."""
    return f"{split} {comparison.task.measure.name}"


def floors(comparison: Comparison, split: str) -> list[float]:
    """Scores in [0, 1] that need no skill (`Task.floor`): one for each text of the split."""
    return sorted({score for (of, _), score in comparison.floors.items() if of == split})


def tuning_look(name: str) -> Look:
    """The same colour and marker in every figure for a tuning, without its number.

    Unknown tunings have the first unused ones.
    """
    tuning = name.partition(":")[0]
    return dict(zip(dict.fromkeys([*TUNINGS, tuning]), looks(), strict=False))[tuning]


def tuning_keys(names: Iterable[str]) -> list[Line2D]:
    """Marks of a legend."""
    return [key(tuning_title(name), tuning_look(name)) for name in dict.fromkeys(names)]

"""What several figures read from comparisons and rows."""

from collections.abc import Iterable

from matplotlib.lines import Line2D

from featbert.analysis.comparison import Comparison
from featbert.encoders.tunings import TUNINGS, tuning_title
from featbert.report.figures.style import Look, key, looks


def about(comparison: Comparison, *more: str) -> str:
    """Corpus, encoder and context, and what else is to be noted."""
    return " · ".join(part for part in (comparison.title, *more) if part)


def score_name(comparison: Comparison, split: str) -> str:
    """Axis label: `dev accuracy`."""
    return f"{split} {comparison.task.measure.name}"


def floors(comparison: Comparison, split: str) -> list[float]:
    """Scores in [0, 1] that need no skill (`Task.floor`): one for each text of the split."""
    return sorted({floor.score for floor in comparison.floors if floor.split == split})


def tuning_look(name: str) -> Look:
    """The same colour and marker in every figure, whatever number a way has.

    Ways that are not known follow the known.
    """
    way = name.partition(":")[0]
    return dict(zip(dict.fromkeys([*TUNINGS, way]), looks(), strict=False))[way]


def tuning_keys(names: Iterable[str]) -> list[Line2D]:
    """Marks of a legend."""
    return [key(tuning_title(name), tuning_look(name)) for name in dict.fromkeys(names)]

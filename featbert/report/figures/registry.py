"""All figures by name, with facts for readers and the report.

A figure is a function in the module of its name in this folder (`docs/how-to/add-a-figure.md`).
Modules are imported when their figure is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from featbert.errors import InputError, check_known, spelling
from featbert.registry import Entry, Registry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from featbert.analysis.comparison import Comparison

# In the order of the report.
FIGURES = Registry(
    "figure",
    {
        name: Entry(f"featbert.report.figures.{name}:{name}")
        for name in (
            *("overview", "tradeoff", "tasks", "seeds", "reliability"),
            *("pareto", "budget", "learning", "layers", "freezing"),
            *("mix", "types", "confusion", "training", "transfer"),
        )
    },
)
# Parts of the report.
Section = Literal["tasks", "scores", "cost", "learning", "layers", "where", "training", "transfer"]
Draw = Callable[[Any, str, float | None], Any]


@dataclass(kw_only=True)
class Kind:
    """A kind of figure, made by decorating the function that draws it.

    Attributes:
        needs: data that a comparison must have.
        settings: settings of training that give these data, with examples of values. Their names
            are keys of an experiment file, such as "features.layers".
        of: its subject: one comparison, or all comparisons together.
        splits: one figure for each evaluated split, for the last one, or without a split.
        draw: takes the subject, a split, and a width in inches or None. Returns a figure, several
            by name, or None if there is nothing to show.
    """

    caption: str
    section: Section = "scores"
    needs: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    of: Literal["comparison", "comparisons"] = "comparison"
    splits: Literal["each", "last", "none"] = "each"

    name: str = field(init=False)
    draw: Draw = field(init=False)

    def __call__(self, draw: Draw) -> Kind:
        self.name, self.draw = draw.__name__, draw
        return self

    @property
    def advice(self) -> str:
        """The needed data, and how to train for them."""
        settings = " or ".join(_spelled(*setting) for setting in self.settings.items())
        return self.needs + f"; train with {settings}" * bool(settings)

    def figures(self, subject: Any, split: str, width: float | None = None) -> dict[str, Figure]:
        """Figures by full name, such as `types-length-dev`."""
        from featbert.report.figures.style import styled

        with styled():
            result = self.draw(subject, split, width)
        by_name = result if isinstance(result, Mapping) else {} if result is None else {"": result}
        ending = "" if self.splits == "none" else split
        return {
            "-".join(part for part in (self.name, name, ending) if part): figure
            for name, figure in by_name.items()
        }


def _spelled(key: str, value: Any) -> str:
    """A setting as its user writes it: with its table only after --set."""
    text = spelling(key, value)
    return text if text.startswith("--set ") else spelling(key.rpartition(".")[2], value)


figure = Kind


def plot(
    comparisons: Comparison | Sequence[Comparison],
    name: str,
    *,
    split: str | None = None,
    width: float | None = None,
) -> Figure:
    """A figure of one comparison or several. In a notebook it shows itself.

    Args:
        comparisons: "overview", "tradeoff", "tasks" and "transfer" are drawn of all together, other
            figures of a single one.
        name: one of `FIGURES`, such as "seeds" or "pareto". If it draws several figures,
            "types-length" names one of them.
        split: the first evaluated split by default. Figures of all comparisons choose their own.
        width: inches. By default one column of a page or both, as the figure needs.

    InputError if these runs have nothing to draw for it, or if there are several comparisons for a
    figure of one. MissingError without matplotlib.
    """
    from featbert.analysis.comparison import Comparisons

    comparisons = Comparisons.of(comparisons)
    base = next((registered for registered in FIGURES if name.startswith(f"{registered}-")), name)
    kind: Kind = FIGURES.load(base)
    if kind.of == "comparison" and len(comparisons) != 1:
        number = f"of {len(comparisons):,}"
        raise InputError(f"{name!r} shows one comparison {number}; index one: comparisons[0]")
    subject = comparisons[0] if kind.of == "comparison" else comparisons
    splits = [*dict.fromkeys(split for comparison in comparisons for split in comparison.splits)]
    check_known("split", [] if split is None else [split], splits)
    split = split or next(iter(splits), "")
    figures = kind.figures(subject, split, width)
    full_name = name if kind.splits == "none" else f"{name}-{split}"
    if not figures:
        on = "" if kind.splits == "none" else f" on {split}"
        raise InputError(f"nothing to draw for {name!r}{on}: it needs {kind.advice}")
    if full_name not in figures and (name != base or len(figures) > 1):
        names = [full.removesuffix(f"-{split}") for full in figures]
        raise InputError(f"{name!r} has several figures here; choose {', '.join(names)}")
    return figures.get(full_name) or next(iter(figures.values()))


def comparison_figures(
    comparison: Comparison, only: Collection[str] = ()
) -> Iterator[tuple[Kind, str, Figure]]:
    """Kind, full name and figure of all kinds, or of `only` some, that have something to show."""
    return _figures("comparison", comparison, comparison.splits, only)


def crossing_figures(
    comparisons: Sequence[Comparison], only: Collection[str] = ()
) -> Iterator[tuple[Kind, str, Figure]]:
    """The same of all comparisons together."""
    from featbert.analysis.comparison import Comparisons

    return _figures("comparisons", Comparisons.of(comparisons), [""], only)


def _figures(
    of: str, subject: Any, splits: Sequence[str], only: Collection[str]
) -> Iterator[tuple[Kind, str, Figure]]:
    kinds: list[Kind] = [FIGURES.load(name) for name in FIGURES if not only or name in only]
    for kind in (kind for kind in kinds if kind.of == of):
        for split in splits if kind.splits == "each" else splits[-1:]:
            for name, image in kind.figures(subject, split).items():
                yield kind, name, image

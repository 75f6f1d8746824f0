"""All figures by name, with facts for readers and the report.

A figure is a function in the module of its name in this folder (`docs/how-to/add-a-figure.md`).
Modules are imported when their figure is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from featbert.errors import InputError, check_known
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
        of: its subject: one comparison, all comparisons together, or transfer matrices.
        splits: one figure for each evaluated split, for the last one, or without a split.
        draw: takes the subject, a split, and a width in inches or None. Returns a figure, several
            by name, or None if there is nothing to show.
    """

    caption: str
    section: Section = "scores"
    needs: str
    of: Literal["comparison", "comparisons", "matrices"] = "comparison"
    splits: Literal["each", "last", "none"] = "each"

    name: str = field(init=False)
    draw: Draw = field(init=False)

    def __call__(self, draw: Draw) -> Kind:
        self.name, self.draw = draw.__name__, draw
        return self

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


figure = Kind


def plot(
    comparison: Comparison, name: str, *, split: str | None = None, width: float | None = None
) -> Figure:
    """A figure of a comparison. In a notebook it shows itself.

    Args:
        name: one of `FIGURES`, such as "seeds" or "pareto". If it draws several figures,
            "types-length" names one of them.
        split: the first evaluated split by default.
        width: inches. By default one column of a page or both, as the figure needs.

    InputError if these runs have nothing to draw for it, MissingError without matplotlib.
    """
    base = next((registered for registered in FIGURES if name.startswith(f"{registered}-")), name)
    kind: Kind = FIGURES.load(base)
    if kind.of != "comparison":
        raise InputError(f"{name!r} is not drawn of one comparison; use --figures-dir")
    split = comparison.splits[0] if split is None else split
    check_known("split", [split], comparison.splits)
    figures = kind.figures(comparison, split, width)
    full_name = name if kind.splits == "none" else f"{name}-{split}"
    if not figures:
        raise InputError(f"nothing to draw for {name!r} on {split}: it needs {kind.needs}")
    if full_name not in figures and (name != base or len(figures) > 1):
        names = [full.removesuffix(f"-{split}") for full in figures]
        raise InputError(f"{name!r} has several figures here; choose {', '.join(names)}")
    return figures.get(full_name) or next(iter(figures.values()))


def comparison_figures(
    comparison: Comparison, only: Collection[str] = ()
) -> Iterator[tuple[Kind, str, Figure]]:
    """Kind, full name and figure of all kinds, or of `only` some, that have something to show."""
    for kind in _kinds(only, "comparison"):
        for split in comparison.splits if kind.splits == "each" else comparison.splits[-1:]:
            for name, fig in kind.figures(comparison, split).items():
                yield kind, name, fig


def crossing_figures(
    comparisons: Sequence[Comparison],
    matrices: Sequence[Any] = (),
    only: Collection[str] = (),
) -> Iterator[tuple[Kind, str, Figure]]:
    """The same of all comparisons together, and of transfer matrices."""
    for of, subject in (("comparisons", comparisons), ("matrices", matrices)):
        for kind in _kinds(only, of) if subject else ():
            for name, fig in kind.figures(subject, "").items():
                yield kind, name, fig


def _kinds(only: Collection[str], of: str) -> list[Kind]:
    kinds: list[Kind] = [FIGURES.load(name) for name in FIGURES if not only or name in only]
    return [kind for kind in kinds if kind.of == of]

"""Which figures a comparison has something to show in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from featbert.analysis.compare import Comparison
from featbert.analysis.curves import freezing_points, layer_points, mix_points, title_of
from featbert.analysis.learning import learning_curves
from featbert.analysis.pareto import pareto_points
from featbert.analysis.reproduction import Reproduction
from featbert.analysis.training_curves import training_curves
from featbert.analysis.transfer import TransferMatrix
from featbert.analysis.transfer_published import PublishedMatrix
from featbert.report.figures import style
from featbert.report.figures.curve import freezing_curve, layer_curve
from featbert.report.figures.heatmap import transfer_heatmap
from featbert.report.figures.learning import learning_curve
from featbert.report.figures.mix import mix_weights
from featbert.report.figures.pareto import pareto_plot
from featbert.report.figures.published import published_dots
from featbert.report.figures.seeds import seed_dots
from featbert.report.figures.training import training_curve
from featbert.report.figures.types import type_heatmap
from featbert.report.units import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Inches of a row's name for which one column of a page is wide enough.
_SHORT = 1.25


def figures_of(
    comparison: Comparison,
    matrices: Sequence[TransferMatrix] = (),
    published: Sequence[PublishedMatrix] = (),
) -> Iterator[tuple[str, Figure]]:
    """Names for files, and figures: those for which a comparison has enough to show.

    Seeds and cost need two rows, training two epochs; a curve needs at least three places along its
    axis, and a curve over layers three neighbours: a line across layers that nobody tried would
    claim what is not known. Breakdowns and published tables are drawn where they were asked for.
    """
    yield from _of_rows(comparison)
    for split in comparison.splits:
        freezing = freezing_points(comparison)
        if len({(p.freeze_to, p.whole) for p in freezing.points if split in p.f1}) >= 3:
            yield f"freezing-{split}", freezing_curve(freezing, split=split)
        layers = layer_points(comparison)
        if neighbours({p.layer for p in layers.points if split in p.f1}) >= 3:
            yield f"layers-{split}", layer_curve(layers, split=split)
        learning = learning_curves(comparison)
        if learning is not None and any(split in point.f1 for point in learning.points):
            yield f"learning-{split}", learning_curve(learning, split=split)
    profiles = mix_points(run for row in comparison.rows for run in row.runs)
    if profiles:
        wide = style.COLUMN_WIDTH if len(profiles) == 1 else style.FULL_WIDTH
        yield "mix-weights", mix_weights(*profiles, width=wide)
    yield from _of_breakdowns(comparison)
    curves = training_curves(comparison)
    if any(len(seed.epochs) > 1 for row in curves.rows for seed in row.seeds):
        wide = style.COLUMN_WIDTH if len(curves.rows) <= 2 else style.FULL_WIDTH
        yield "training", training_curve(curves, width=wide)
    for reproduction in comparison.reproductions:
        yield from _of_published(reproduction)
    if matrices:
        yield "transfer", transfer_heatmap(*matrices)
    if published:
        yield "transfer-published", transfer_heatmap(*published)


def _of_rows(comparison: Comparison) -> Iterator[tuple[str, Figure]]:
    """Every seed's F1 by split, and quality on the last split against cost."""
    names = [row.name for row in comparison.rows]
    for split in comparison.splits:
        if sum(split in row.splits for row in comparison.rows) > 1:
            yield f"seeds-{split}", seed_dots(comparison, split=split, width=_width(names))
    for split in comparison.splits[-1:]:
        fronts = pareto_points(comparison, split=split)
        if any(len(front.points) > 1 for front in fronts):
            wide = _width([point.name for front in fronts for point in front.points])
            wide = wide if len(fronts) == 1 else style.FULL_WIDTH
            yield f"pareto-{split}", pareto_plot(*fronts, width=wide)


def _of_breakdowns(comparison: Comparison) -> Iterator[tuple[str, Figure]]:
    """A heat map each; rows of several texts have several by one facet, which are numbered."""
    about = title_of(comparison)
    names: dict[str, int] = {}
    for breakdown in comparison.breakdowns:
        if not breakdown.gold or not breakdown.rows:
            continue
        kind = "types" if breakdown.facet == "type" else f"by-{breakdown.facet}"
        names[kind + breakdown.split] = number = names.get(kind + breakdown.split, 0) + 1
        name = f"{kind}-{breakdown.split}" if number == 1 else f"{kind}-{number}-{breakdown.split}"
        few = len(breakdown.gold) <= 4
        wide = _width([*breakdown.rows]) if few else style.FULL_WIDTH
        yield name, type_heatmap(breakdown, about=about, width=wide)


def _of_published(reproduction: Reproduction) -> Iterator[tuple[str, Figure]]:
    """By split, where some row has both figures."""
    for split in reproduction.splits:
        both = [row for row in reproduction.rows if row.figures[split].difference is not None]
        if both:
            wide = _width([row.label for row in reproduction.rows])
            name = f"published-{reproduction.table.id}-{split}"
            yield name, published_dots(reproduction, split=split, width=wide)


def _width(names: Sequence[str]) -> float:
    """One column of a page where names are short, else both."""
    short = style.widest([visible(name) for name in names], style.SMALL) <= _SHORT
    return style.COLUMN_WIDTH if short else style.FULL_WIDTH


def neighbours(layers: Collection[int]) -> int:
    """Length of the longest run of layers that follow one another."""
    longest = run = 0
    for layer in range(max(layers, default=-1) + 1):
        run = run + 1 if layer in layers else 0
        longest = max(longest, run)
    return longest

"""Which figures a comparison has something to show in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from featbert.comparison.compare import Comparison
from featbert.comparison.curves import freezing_points, layer_points, mix_points
from featbert.comparison.transfer import TransferMatrix
from featbert.comparison.transfer_published import PublishedMatrix
from featbert.report.figures import style
from featbert.report.figures.curve import freezing_curve, layer_curve
from featbert.report.figures.heatmap import transfer_heatmap
from featbert.report.figures.mix import mix_weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures_of(
    comparison: Comparison,
    matrices: Sequence[TransferMatrix] = (),
    published: Sequence[PublishedMatrix] = (),
) -> Iterator[tuple[str, Figure]]:
    """Names for files, and figures: by frozen layer, by single layer, mix weights, transfer.

    A curve needs at least three places along its axis, and a curve over layers three neighbours: a
    line across layers that nobody tried would claim what is not known. A comparison of nothing of
    the kind has no figure.
    """
    for split in comparison.splits:
        freezing = freezing_points(comparison)
        if len({(p.freeze_to, p.whole) for p in freezing.points if split in p.f1}) >= 3:
            yield f"freezing-{split}", freezing_curve(freezing, split=split)
        layers = layer_points(comparison)
        if _neighbours({p.layer for p in layers.points if split in p.f1}) >= 3:
            yield f"layers-{split}", layer_curve(layers, split=split)
    profiles = mix_points(run for row in comparison.rows for run in row.runs)
    if profiles:
        wide = style.COLUMN_WIDTH if len(profiles) == 1 else style.FULL_WIDTH
        yield "mix-weights", mix_weights(*profiles, width=wide)
    if matrices:
        yield "transfer", transfer_heatmap(*matrices)
    if published:
        yield "transfer-published", transfer_heatmap(*published)


def _neighbours(layers: Collection[int]) -> int:
    """Length of the longest run of layers that follow one another."""
    longest = run = 0
    for layer in range(max(layers, default=-1) + 1):
        run = run + 1 if layer in layers else 0
        longest = max(longest, run)
    return longest

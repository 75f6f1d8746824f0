"""Figures of comparisons as files."""

from collections.abc import Collection, Iterator
from pathlib import Path

from featbert.analysis.comparison import Comparisons
from featbert.progress import stage
from featbert.report.figures.registry import FIGURES, comparison_figures, crossing_figures
from featbert.report.figures.style import save_figure


def save_figures(
    comparisons: Comparisons, folder: Path, names: Collection[str] = ()
) -> Iterator[str]:
    """Draws all figures, or those with these names, as PNG and PDF.

    Yields lines: which files were written, and why others are missing. Files are numbered like the
    tables if there are several comparisons.
    """
    figures = [
        (f"{number}-" if len(comparisons) > 1 else "", comparison_figures(view, names))
        for number, view in enumerate(map(comparisons.view.drawn, comparisons), 1)
    ]
    figures.append(("", crossing_figures(comparisons, names)))
    written, kinds = list[str](), set[str]()
    with stage("drawing", "figures") as advance:  # their number is not known before
        for prefix, of_comparison in figures:
            for kind, name, figure in of_comparison:
                kinds.add(kind.name)
                for ending in (".png", ".pdf"):
                    path = folder / f"{prefix}{name}{ending}"
                    written.append(save_figure(figure, path).name)
                advance(1)
    if written or not names:
        nothing = "no figure: figures need several rows, epochs or layers"
        yield f"{folder}: {', '.join(written) or nothing}"
    for name in dict.fromkeys(names):
        if name not in kinds:
            yield f"no figure {name}: it needs {FIGURES.load(name).advice}"

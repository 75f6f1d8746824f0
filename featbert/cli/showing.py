"""What `compare` and `run` show: tables on stdout, figures into a folder."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from featbert.errors import InputError
from featbert.progress import stage
from featbert.text import printable

if TYPE_CHECKING:
    from featbert.analysis.compare import Comparison
    from featbert.analysis.published import PublishedMatrix
    from featbert.analysis.results import PublishedFigures
    from featbert.analysis.transfer import TransferMatrix

FIGURE_FORMATS = (".png", ".pdf")


def shown(
    comparisons: Sequence[Comparison],
    format: str,
    notes: Sequence[str] = (),
    *,
    show: Sequence[str] = (),
    matrices: Sequence[TransferMatrix] = (),
    published: Sequence[PublishedMatrix] = (),
) -> str:
    """The tables, as wide as the terminal where there is one, and coloured there.

    Transfer matrices follow the comparisons.
    """
    from featbert.report.rendering import render

    return render(
        comparisons,
        format,
        notes=notes,
        show=show,
        matrices=matrices,
        published=published,
        **_terminal(format),
    )


def _terminal(format: str) -> dict[str, Any]:
    if format != "text" or not sys.stdout.isatty():
        return {}
    return {"width": shutil.get_terminal_size().columns, "color": True}


def published_of(
    comparison: Comparison, names: Sequence[str]
) -> tuple[tuple[PublishedFigures, ...], list[str]]:
    """The published tables of these names next to a comparison, and why some cannot be.

    Tables by language are left to the transfer matrices.
    """
    from featbert.analysis.published import is_by_language, published_figures
    from featbert.runs.published import published_table

    found, notes = [], []
    for name in names:
        table = published_table(name)
        if is_by_language(table):
            continue
        try:
            found.append(published_figures(comparison, table))
        except InputError as error:
            notes.append(f"{name}: {error}")
    return tuple(found), notes


def published_matrices_of(names: Sequence[str]) -> list[PublishedMatrix]:
    """Those of the published tables that are by language."""
    from featbert.analysis.published import is_by_language, published_matrix
    from featbert.runs.published import published_table

    found = map(published_table, dict.fromkeys(names))
    return [published_matrix(table) for table in found if is_by_language(table)]


def write_figures(
    folder: Path,
    comparisons: Sequence[Comparison],
    matrices: Sequence[TransferMatrix] = (),
    published: Sequence[PublishedMatrix] = (),
    *,
    only: Sequence[str] = (),
) -> list[Path]:
    """Each figure as PNG and PDF; the files that were written.

    Figures of several comparisons are numbered in the order of their tables.

    Args:
        only: names of kinds; all of them by default.
    """
    from featbert.report.figures.registry import comparison_figures, transfer_figures
    from featbert.report.figures.style import save_figure

    written = []
    with stage("drawing", "figures") as advance:  # how many there are shows as they are drawn
        for number, comparison in enumerate(comparisons, 1):
            prefix = "" if len(comparisons) == 1 else f"{number}-"
            found = [
                (prefix + name, figure) for _, name, figure in comparison_figures(comparison, only)
            ]
            if number == len(comparisons):
                found += [
                    (name, figure)
                    for _, name, figure in transfer_figures(matrices, published, only)
                ]
            for name, figure in found:
                paths = [folder / f"{name}{ending}" for ending in FIGURE_FORMATS]
                written += [save_figure(figure, path) for path in paths]
                advance(1)
    return written


def told_figures(folder: Path, written: Sequence[Path], *, quiet: bool) -> None:
    """Says on stderr which figures there are."""
    if quiet:
        return
    names = ", ".join(path.name for path in written)
    nothing = "no figure: figures need several rows, epochs or layers"
    sys.stderr.write(printable(f"{folder}: {names or nothing}") + "\n")

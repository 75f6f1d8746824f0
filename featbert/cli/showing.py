"""What `compare` and `run` show: tables on stdout, figures into a folder."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from featbert.cli.text import json_lines, printable
from featbert.errors import InputError
from featbert.progress import stage

if TYPE_CHECKING:
    from featbert.analysis.compare import Comparison
    from featbert.analysis.reproduction import Reproduction
    from featbert.analysis.transfer import TransferMatrix
    from featbert.analysis.transfer_published import PublishedMatrix

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

    Transfer matrices follow the comparison; in JSON they are its key `transfer`.
    """
    from featbert.report.rendering import render

    if not matrices:
        return render(comparisons, format, notes=notes, show=show, **_terminal(format))
    from featbert.report.transfer_rendering import render_transfer

    if format == "json":
        import json

        data = json.loads(render(comparisons, format, notes=notes))
        data["transfer"] = json.loads(render_transfer(matrices, format, published=published))
        return json_lines(data) + "\n"
    terminal = _terminal(format)
    tables = render(comparisons, format, notes=notes, show=show, **terminal)
    return tables + "\n" + render_transfer(matrices, format, published=published, **terminal)


def _terminal(format: str) -> dict[str, Any]:
    if format != "text" or not sys.stdout.isatty():
        return {}
    return {"width": shutil.get_terminal_size().columns, "color": True}


def reproductions_of(
    comparison: Comparison, names: Sequence[str]
) -> tuple[tuple[Reproduction, ...], list[str]]:
    """The published tables of an experiment beside it, and why some cannot stand there.

    Tables by language are passed over: they stand beside the transfer matrices.
    """
    from featbert.analysis.reproduction import reproduce
    from featbert.analysis.transfer_published import published_matrices
    from featbert.runs.published import published_table

    by_language = {matrix.id for matrix in published_matrices()}
    found, notes = [], []
    for name in names:
        if name in by_language:
            continue
        try:
            found.append(reproduce(comparison, published_table(name)))
        except InputError as error:
            notes.append(f"{name}: {error}")
    return tuple(found), notes


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
    with stage("drawing", "figures") as tell:  # how many there are shows as they are drawn
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
                tell(1)
    return written


def told_figures(folder: Path, written: Sequence[Path], *, quiet: bool) -> None:
    """Says on stderr which figures there are."""
    if quiet:
        return
    names = ", ".join(path.name for path in written)
    nothing = "no figure: they set rows beside each other, or show several epochs or layers"
    sys.stderr.write(printable(f"{folder}: {names or nothing}") + "\n")

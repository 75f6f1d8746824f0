"""What commands show: lines and tables on stdout, figures into a folder, a report as HTML."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from featbert.cli.options import check_folder
from featbert.errors import InputError, check_known
from featbert.progress import report as say
from featbert.progress import stage
from featbert.report.figures.registry import NAMES
from featbert.report.units import duration, size
from featbert.text import counted, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from featbert.analysis.compare import Comparison
    from featbert.analysis.published import PublishedMatrix
    from featbert.analysis.transfer import TransferMatrix
    from featbert.runs.experiment_record import ExperimentRecord
    from featbert.runs.run import Run

FIGURE_FORMATS = (".png", ".pdf")


@dataclass(frozen=True)
class Outputs:
    """What --format, --figures, --figure and --report ask for, checked before any work."""

    format: str
    figures: Path | None
    figure: Sequence[str]
    report: Path | None

    def __post_init__(self) -> None:
        if self.figures is not None:
            check_folder(self.figures, "--figures")
        elif self.figure:
            raise InputError("--figure has no folder to draw to; add --figures DIR")
        check_known("figure", self.figure, NAMES)
        if self.report is not None:
            from featbert.report.html.page import check_report_path

            check_report_path(self.report)

    def show(
        self,
        comparisons: Sequence[Comparison],
        matrices: Sequence[TransferMatrix],
        *,
        published: Sequence[str],
        show: Sequence[str] = (),
        notes: Sequence[str] = (),
        name: str = "",
    ) -> None:
        """Prints the tables, draws the figures and writes the report.

        `show` are keys of further scores, `notes` further lines, `name` the experiment's.
        """
        from featbert.report.rendering import render

        tables = _published_matrices(published)
        terminal = self.format == "text" and sys.stdout.isatty()
        text = render(
            comparisons,
            self.format,
            notes=notes,
            show=show,
            matrices=matrices,
            published=tables,
            width=shutil.get_terminal_size().columns if terminal else None,
            color=terminal,
        )
        typer.echo(text, nl=False)
        if self.figures is not None:
            _save(self.figures, self._draw(comparisons, matrices, tables))
        if self.report is not None:
            from featbert.analysis.breakdown import with_breakdowns, with_scorers
            from featbert.analysis.cost import with_costs
            from featbert.analysis.significance import with_significance
            from featbert.report.html.page import html_report, write_report

            analysed = [with_scorers(with_costs(with_significance(one))) for one in comparisons]
            analysed = [with_breakdowns(one, list(one.task.facets)) for one in analysed]
            page = html_report(
                analysed, matrices=matrices, published=tables, notes=notes, name=name
            )
            written = write_report(self.report, page)
            say(f"{written}: {size(written.stat().st_size)}, opens in any browser")

    def _draw(
        self,
        comparisons: Sequence[Comparison],
        matrices: Sequence[TransferMatrix],
        published: Sequence[PublishedMatrix],
    ) -> Iterator[tuple[str, Figure]]:
        """Figures by name; of several comparisons they are numbered in the order of the tables."""
        from featbert.report.figures.registry import comparison_figures, crossing_figures

        for number, comparison in enumerate(comparisons, 1):
            prefix = "" if len(comparisons) == 1 else f"{number}-"
            for _, name, figure in comparison_figures(comparison, self.figure):
                yield prefix + name, figure
        for _, name, figure in crossing_figures(comparisons, matrices, published, self.figure):
            yield name, figure


def _save(folder: Path, figures: Iterable[tuple[str, Figure]]) -> None:
    from featbert.report.figures.style import save_figure

    written: list[str] = []
    with stage("drawing", "figures") as advance:  # how many there are shows as they are drawn
        for name, figure in figures:
            paths = [folder / f"{name}{ending}" for ending in FIGURE_FORMATS]
            written += [save_figure(figure, path).name for path in paths]
            advance(1)
    nothing = "no figure: figures need several rows, epochs or layers"
    say(f"{folder}: {', '.join(written) or nothing}")


def with_published(
    comparisons: Sequence[Comparison], names: Sequence[str]
) -> tuple[list[Comparison], list[str]]:
    """Comparisons with the published tables of these names, and why some cannot be shown."""
    from featbert.analysis.published import is_matrix, published_figures
    from featbert.runs.published import published_table

    notes: dict[str, None] = {}
    found = []
    tables = [table for table in map(published_table, names) if not is_matrix(table)]
    for comparison in comparisons:
        published = list(comparison.published)
        for table in (one for one in tables if one.task == comparison.task.name):
            try:
                published.append(published_figures(comparison, table))
            except InputError as error:
                notes[f"{table.id}: {error}"] = None
        found.append(replace(comparison, published=tuple(published)))
    return found, [*notes]


def of_experiment(
    asked: ExperimentRecord,
    runs: Iterable[Run],
    *,
    vary: Iterable[str] = (),
    baseline: str | None = None,
) -> tuple[list[Comparison], list[str]]:
    """The tables of an experiment, and lines on what its searches chose and what is missing."""
    from featbert.analysis.compare import compare_tasks
    from featbert.report.tables import search_line

    found = compare_tasks(runs, vary=[*asked.vary, *vary], baseline=baseline)
    comparisons, lines = with_published(found, asked.published)
    notes = [*map(search_line, asked.searches), *lines]
    if asked.missing:
        notes.append(f"not finished of {asked.name}: {counted(len(asked.missing), 'run')}")
    return comparisons, notes


def _published_matrices(names: Sequence[str]) -> list[PublishedMatrix]:
    from featbert.analysis.published import is_matrix, published_matrix
    from featbert.runs.published import published_table

    found = map(published_table, dict.fromkeys(names))
    return [published_matrix(table) for table in found if is_matrix(table)]


def grid(
    header: Sequence[str],
    rows: Sequence[tuple[str, Sequence[str]]],
    *,
    justify: Literal["left", "right"] = "right",
) -> str:
    """Rows of a name and aligned cells under a header, as plain text."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="")
    for at, name in enumerate(header):
        table.add_column(Text(name), justify=justify if at else "left", no_wrap=True)
    for name, cells in rows:
        table.add_row(*(Text(printable(cell, keep="\n")) for cell in (name, *cells)))
    out = io.StringIO()
    Console(file=out, width=10_000, color_system=None).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def run_line(run: Run, *, was_there: bool) -> str:
    """One finished run: its row and seed, scores in percent, time, folder."""
    from featbert.analysis.rows import run_title

    r, key = run.record, run.task.measure.key
    what = run_title(r.tuning, r.layers, r.settings, r.task)
    scores = "  ".join(
        f"{split} {100 * s.values[key]:.2f}"
        + ("" if s.floor is None else f" ({run.task.floor} {100 * s.floor:.2f})")
        for split, s in r.scores.items()
    )
    took = "finished before" if was_there else duration(r.cost.training_seconds)
    line = f"{what}  seed {r.seed}  {scores}  best epoch {r.best_epoch}  {took}  {run.folder}"
    return printable(line)

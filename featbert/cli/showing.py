"""Output of commands: lines and tables on stdout, figures in a folder, a report as HTML."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer
from pydantic import Field

from featbert.config import Folder, Section, Several
from featbert.errors import InputError, check_known, spelling
from featbert.io import check_folder, check_ours, owning, remove_folder, write_text
from featbert.progress import report as say
from featbert.progress import stage
from featbert.report.figures.registry import FIGURES
from featbert.text import counted, printable
from featbert.units import duration, size

if TYPE_CHECKING:
    from featbert.analysis.comparison import Comparisons
    from featbert.report.table import Table
    from featbert.runs.run import Run


class Outputs(Section):
    """How comparisons are shown."""

    format: Literal["text", "markdown", "latex", "csv", "json"] = "text"
    """How to print the tables; csv has a line per row and json everything, unrounded."""
    figures: Folder | None = None
    """Draw figures to this folder, as PNG and PDF."""
    figure: Several[str] = Field([])
    """Which figure. May be given several times.  [default: all that apply]"""
    report: Folder | None = None
    """Write the whole comparison to this HTML file."""
    no_text: bool = False
    """Leave the sentences of the corpus out of the report."""

    @property
    def analyses(self) -> dict[str, Any]:
        """Fields of `Analyses` that the outputs need. InputError for impossible outputs."""
        if self.figures is not None:
            check_folder(self.figures, "figures")
        elif self.figure:
            raise InputError("--figure has no folder to draw to; add --figures DIR")
        check_known(spelling("figure"), self.figure, FIGURES)
        if self.report is not None:
            if self.report.suffix.lower() not in (".html", ".htm"):
                raise InputError(f"--report {str(self.report)!r} does not end in .html")
            check_folder(self.report.parent, "report")
        elif self.no_text and self.format != "json":
            raise InputError("--no-text is for a report or JSON; add --report PAGE.html")
        return {
            "figures": (self.figure or [*FIGURES]) if self.figures else [],
            "everything": self.report is not None or self.format == "json",
            "sentences": not self.no_text,
        }

    def show(self, comparisons: Comparisons) -> None:
        """Prints the tables, draws the figures and writes the report."""
        from featbert.report.rendering import render

        if self.no_text:
            comparisons = comparisons.without_sentences()
        typer.echo(render(comparisons, self.format, width=terminal_width()), nl=False)
        if self.figures is not None:
            self._draw(self.figures, comparisons)
        if self.report is not None:
            from featbert.report.html.page import html_report

            write_text(self.report, html_report(comparisons))
            say(f"{self.report}: {size(self.report.stat().st_size)}, opens in any browser")

    def _draw(
        self,
        folder: Path,
        comparisons: Comparisons,
    ) -> None:
        """Draws figures as PNG and PDF, numbered like the tables if there are several."""
        from featbert.report.figures.registry import comparison_figures, crossing_figures
        from featbert.report.figures.style import save_figure

        figures = [
            (f"{number}-" if len(comparisons) > 1 else "", comparison_figures(view, self.figure))
            for number, view in enumerate(map(comparisons.view.drawn, comparisons), 1)
        ]
        figures.append(("", crossing_figures(comparisons, comparisons.matrices, self.figure)))
        written, kinds = list[str](), set[str]()
        with stage("drawing", "figures") as advance:  # their number is not known before
            for prefix, of_comparison in figures:
                for kind, name, figure in of_comparison:
                    kinds.add(kind.name)
                    for ending in (".png", ".pdf"):
                        path = folder / f"{prefix}{name}{ending}"
                        written.append(save_figure(figure, path).name)
                    advance(1)
        if written or not self.figure:
            nothing = "no figure: figures need several rows, epochs or layers"
            say(f"{folder}: {', '.join(written) or nothing}")
        for name in dict.fromkeys(self.figure):
            if name not in kinds:
                say(f"no figure {name}: it needs {FIGURES.load(name).needs}")


def show_tables(tables: Sequence[Table], format: str) -> None:
    """Prints tables in any format of the command line except JSON."""
    from featbert.report.rendering import in_format

    typer.echo(in_format(tables, format, width=terminal_width()), nl=False)


def terminal_width() -> int | None:
    """Width of the terminal or, if stdout is none, of COLUMNS. None without both."""
    is_limited = sys.stdout.isatty() or os.environ.get("COLUMNS")
    return shutil.get_terminal_size().columns if is_limited else None


def disk(path: Path) -> int:
    """Bytes of a file or of the files in a folder. 0 if it does not exist."""
    return sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())


def remove(items: Sequence[Mapping[Path, Sequence[str]]], noun: str, *, yes: bool) -> None:
    """Removes the paths of each item, after a question unless `yes`.

    Items map paths to the patterns of files that a folder may hold (`check_ours`). The first path
    names the item, and the process that makes the item has its lock.
    """
    total = sum(disk(path) for paths in items for path in paths)
    summary = f"{counted(len(items), noun)}, {size(total)}"
    for paths in items:
        with owning(name := next(iter(paths))):  # BusyError while it is made
            for folder in filter(Path.is_dir, paths):
                check_ours(folder, paths[folder])
        typer.echo(printable(str(name)))
    if not yes:
        typer.confirm(f"Remove {summary}?", abort=True)
    for path, ours in chain.from_iterable(paths.items() for paths in items):
        if path.is_dir():
            remove_folder(path, ours)
        else:
            path.unlink(missing_ok=True)
    typer.echo(f"removed {summary}")


def grid(
    header: Sequence[str],
    rows: Sequence[tuple[str, Sequence[str]]],
    *,
    justify: Literal["left", "right"] = "right",
) -> str:
    """Rows of a name and aligned cells under a header, as text in the terminal's width."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="")
    for at, name in enumerate(header):
        table.add_column(Text(name), justify=justify if at else "left", overflow="fold")
    for name, cells in rows:
        table.add_row(*(Text(printable(cell, keep="\n")) for cell in (name, *cells)))
    out = io.StringIO()
    Console(file=out, width=terminal_width() or 10_000, color_system=None).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def run_line(run: Run, *, was_there: bool) -> str:
    """A finished run on one line: row, seed, scores in percent, time, id."""
    from featbert.analysis.labels import label_conditions, listed, run_title
    from featbert.config import Encoding

    r, key = run.record, run.task.measure.key
    usual = {n: [f.default, None] for n, f in Encoding.model_fields.items()}
    usual["pooling"] = ["first", "last"]
    conditions = label_conditions(vars(r.signature)).items()
    unusual = {n: value for n, value in conditions if value not in usual.get(n, [value])}
    title = run_title(r.tuning, r.layers, r.settings, r.task)
    row = ", ".join(filter(None, (title, listed(unusual))))
    scores = "  ".join(
        f"{split} {100 * s.values[key]:.2f}"
        + ("" if s.floor is None else f" ({run.task.floor} {100 * s.floor:.2f})")
        for split, s in r.scores.items()
    )
    took = "finished before" if was_there else duration(r.cost.training_seconds)
    line = f"{row}  seed {r.seed}  {scores}  best epoch {r.best_epoch}  {took}  {run.id}"
    return printable(line)

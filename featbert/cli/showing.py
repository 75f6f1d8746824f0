"""Output of commands: lines and tables on stdout, figures in a folder, a report as HTML."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic import Field, field_validator

from featbert.config import File, Flag, Folder, Option, Section, Several
from featbert.errors import InputError, check_known, spelling
from featbert.io import check_folder, check_ours, disk, owning, remove_folder, write_text
from featbert.progress import report as say
from featbert.report.figures.registry import FIGURES
from featbert.text import counted, printable
from featbert.units import size

if TYPE_CHECKING:
    from featbert.analysis.comparison import Comparisons
    from featbert.report.table import Table


class Outputs(Section):
    """How comparisons are shown."""

    panel = "Output"
    format: Literal["text", "markdown", "latex", "csv", "json"] = "text"
    """Format of the tables. csv has a line per row. json has everything, unrounded."""
    explain: Flag = False
    """Say what the columns of the tables mean."""
    wide: Flag = False
    """Show all columns in a terminal: tables that do not fit are split."""
    columns: Annotated[Several[str], Option("NAME")] = Field([])
    """Show only these columns of tables in a terminal, such as memory,words/s."""
    figures_dir: Folder | None = None
    """Draw figures to this folder, as PNG and PDF."""
    figure: Several[str] = Field([])
    """Which figure. May be given several times.  [default: all that apply]"""
    report: File | None = None
    """Write the whole comparison to this HTML file."""
    no_sentences: Flag = False
    """Leave the sentences of the corpus out of the report."""

    @field_validator("columns")
    @classmethod
    def _names_between_commas(cls, columns: list[str]) -> list[str]:
        return [name.strip() for names in columns for name in names.split(",")]

    @property
    def analyses(self) -> dict[str, Any]:
        """Fields of `Analyses` that the outputs need. InputError for impossible outputs."""
        if self.figures_dir is not None:
            check_folder(self.figures_dir, "figures_dir")
        elif self.figure:
            raise InputError("--figure has no folder to draw to; add --figures-dir DIR")
        check_known(spelling("figure"), self.figure, FIGURES)
        of_text = [name for name in ("explain", "wide", "columns") if getattr(self, name)]
        if of_text and self.format != "text":
            raise InputError("is for text; other formats have everything", setting=of_text[0])
        if self.report is not None:
            if self.report.suffix.lower() not in (".html", ".htm"):
                raise InputError(f"--report {str(self.report)!r} does not end in .html")
            check_folder(self.report.parent, "report")
        elif self.no_sentences and self.format != "json":
            raise InputError("--no-sentences is for a report or JSON; add --report PAGE.html")
        return {
            "figures": (self.figure or [*FIGURES]) if self.figures_dir else [],
            "everything": self.report is not None or self.format == "json",
            "sentences": not self.no_sentences,
        }

    def show(self, comparisons: Comparisons) -> None:
        """Prints the tables, draws the figures and writes the report."""
        from featbert.report.rendering import Detail, render

        if self.no_sentences:
            comparisons = comparisons.without_sentences()
        detail = Detail(self.explain, self.wide, self.columns)
        shown = render(comparisons, self.format, width=terminal_width(), detail=detail)
        typer.echo(shown, nl=False)
        if self.figures_dir is not None:
            from featbert.report.figures.files import save_figures

            for line in save_figures(comparisons, self.figures_dir, self.figure):
                say(line)
        if self.report is not None:
            from featbert.report.html.page import html_report

            write_text(self.report, html_report(comparisons))
            say(f"{self.report}: {size(self.report.stat().st_size)}, opens in any browser")


def show_tables(tables: Sequence[Table], format: str) -> None:
    """Prints tables in any format of the command line except JSON."""
    from featbert.report.rendering import in_format

    typer.echo(in_format(tables, format, width=terminal_width()), nl=False)


def terminal_width() -> int | None:
    """Width of the terminal or, if stdout is none, of COLUMNS. None without both."""
    is_limited = sys.stdout.isatty() or os.environ.get("COLUMNS")
    return shutil.get_terminal_size().columns if is_limited else None


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
    for paths in items:
        with owning(next(iter(paths))):  # again: the question may have waited long
            for path, ours in paths.items():
                if path.is_dir():
                    remove_folder(path, ours)
                else:
                    path.unlink(missing_ok=True)
    typer.echo(f"removed {summary}")

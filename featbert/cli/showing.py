"""What commands show: lines and tables on stdout, figures into a folder, a report as HTML."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from featbert.cli.options import check_folder
from featbert.errors import InputError, check_known
from featbert.io import check_ours, owning, remove_folder, write_text
from featbert.progress import report as say
from featbert.progress import stage
from featbert.report.figures.registry import FIGURES
from featbert.report.units import duration, size
from featbert.text import counted, printable

if TYPE_CHECKING:
    from featbert.analysis.compare import Comparison
    from featbert.analysis.transfer import TransferMatrix
    from featbert.experiments.published import PublishedTable
    from featbert.report.tables import Table
    from featbert.runs.record import ExperimentRecord
    from featbert.runs.run import Run


@dataclass(frozen=True)
class Outputs:
    """What --format, --figures, --figure, --report, --no-text ask for, checked before any work."""

    format: str
    figures: Path | None
    figure: Sequence[str]
    report: Path | None
    sentences: bool = True

    def __post_init__(self) -> None:
        if self.figures is not None:
            check_folder(self.figures, "--figures")
        elif self.figure:
            raise InputError("--figure has no folder to draw to; add --figures DIR")
        check_known("figure", self.figure, FIGURES)
        if self.report is not None:
            if self.report.suffix.lower() not in (".html", ".htm"):
                raise InputError(f"--report {str(self.report)!r} does not end in .html")
            check_folder(self.report.parent, "--report")
        elif not self.sentences:
            raise InputError("--no-text is of the report; add --report PAGE.html")

    def show(
        self,
        comparisons: Sequence[Comparison],
        asked: ExperimentRecord | None = None,
        *,
        published: Sequence[str] = (),
        show: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> None:
        """Prints the tables, draws the figures and writes the report.

        `asked` is the experiment that is shown, `published` are names of tables besides its own,
        `show` keys of further scores instead of its own, and `notes` further lines.
        """
        from featbert.analysis.published import is_matrix
        from featbert.analysis.transfer import transfer_matrices
        from featbert.experiments.published import published_table
        from featbert.report.rendering import render
        from featbert.report.tables import search_line

        runs = [run for one in comparisons for row in one.rows for run in row.runs]
        transfer = asked is not None and asked.transfer
        matrices = transfer_matrices(runs) if transfer or self.figures or self.report else []
        if asked is not None:
            published, show = [*asked.published, *published], show or asked.show
            notes = [*notes, *map(search_line, asked.searches)]
            if asked.missing:
                notes.append(f"not finished of {asked.name}: {counted(len(asked.missing), 'run')}")
        known = [published_table(name) for name in dict.fromkeys(published)]
        grids = [table for table in known if is_matrix(table)]
        comparisons, lines = _with_published(comparisons, [t for t in known if not is_matrix(t)])
        notes = [*notes, *lines]
        shown: dict[str, Any] = {"published": grids, "notes": notes}
        printed = {**shown, "matrices": matrices if transfer else []}
        width = terminal_width()
        typer.echo(render(comparisons, self.format, show=show, width=width, **printed), nl=False)
        if self.figures is not None:
            self._draw(self.figures, comparisons, matrices)
        if self.report is not None:
            from featbert.analysis.breakdown import with_breakdowns, with_scorers
            from featbert.analysis.budget import with_budgets
            from featbert.analysis.cost import with_costs
            from featbert.analysis.significance import with_significance
            from featbert.report.html.page import html_report

            analysed = [with_scorers(with_costs(with_significance(one))) for one in comparisons]
            analysed = [with_breakdowns(with_budgets(c), [*c.task.facets]) for c in analysed]
            name = "" if asked is None else asked.name
            shown |= {"matrices": matrices, "sentences": self.sentences}
            write_text(self.report, html_report(analysed, name=name, **shown))
            say(f"{self.report}: {size(self.report.stat().st_size)}, opens in any browser")

    def _draw(
        self,
        folder: Path,
        comparisons: Sequence[Comparison],
        matrices: Sequence[TransferMatrix],
    ) -> None:
        """Figures as PNG and PDF; those of several comparisons are numbered as their tables are."""
        from featbert.report.figures.registry import comparison_figures, crossing_figures
        from featbert.report.figures.style import save_figure

        figures = [
            (f"{number}-" if len(comparisons) > 1 else "", comparison_figures(one, self.figure))
            for number, one in enumerate(comparisons, 1)
        ]
        figures.append(("", crossing_figures(comparisons, matrices, self.figure)))
        written, kinds = list[str](), set[str]()
        with stage("drawing", "figures") as advance:  # how many there are shows as they are drawn
            for prefix, drawn in figures:
                for kind, name, figure in drawn:
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
    """Prints tables in a format of the command line but JSON."""
    from featbert.report.rendering import in_format

    typer.echo(in_format(tables, format, width=terminal_width()), nl=False)


def _with_published(
    comparisons: Sequence[Comparison], tables: Sequence[PublishedTable]
) -> tuple[list[Comparison], Iterable[str]]:
    """Comparisons with the tables of their tasks, and why some of these cannot be shown."""
    from featbert.analysis.published import published_figures

    notes: dict[str, None] = {}
    found = []
    for comparison in comparisons:
        published = []
        for table in (table for table in tables if table.task == comparison.task.name):
            try:
                published.append(published_figures(comparison, table))
            except InputError as error:
                notes[f"{table.id}: {error}"] = None
        found.append(replace(comparison, published=tuple(published)))
    return found, notes


def terminal_width() -> int | None:
    """Columns of the terminal that stdout is, or of COLUMNS; None without both."""
    asked = sys.stdout.isatty() or os.environ.get("COLUMNS")
    return shutil.get_terminal_size().columns if asked else None


def disk(path: Path) -> int:
    """Bytes that a file or a folder takes; 0 where there is none."""
    return sum(one.stat().st_size for one in (path, *path.rglob("*")) if one.is_file())


def remove(found: Sequence[Mapping[Path, Sequence[str]]], noun: str, *, yes: bool) -> None:
    """Asks, and removes the paths of each item; folders hold these patterns alone (`check_ours`).

    The first path of an item is what it is called by, and locked by who makes it.
    """
    total = sum(disk(path) for paths in found for path in paths)
    what = f"{counted(len(found), noun)}, {size(total)}"
    for paths in found:
        with owning(name := next(iter(paths))):  # refused while it is made
            for folder in filter(Path.is_dir, paths):
                check_ours(folder, paths[folder])
        typer.echo(printable(str(name)))
    if not yes:
        typer.confirm(f"Remove {what}?", abort=True)
    for path, ours in chain.from_iterable(paths.items() for paths in found):
        if path.is_dir():
            remove_folder(path, ours)
        else:
            path.unlink(missing_ok=True)
    typer.echo(f"removed {what}")


def grid(
    header: Sequence[str],
    rows: Sequence[tuple[str, Sequence[str]]],
    *,
    justify: Literal["left", "right"] = "right",
) -> str:
    """Rows of a name and aligned cells under a header, as plain text, folded to a terminal."""
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
    """One finished run: its row and seed, scores in percent, time, id."""
    from featbert.analysis.rows import label_conditions, listed, run_title
    from featbert.config import Encoding

    r, key = run.record, run.task.measure.key
    usual = {n: [f.default, None] for n, f in Encoding.model_fields.items()}
    usual["pooling"] = ["first", "last"]
    read = label_conditions(vars(r.signature)).items()
    unusual = {n: value for n, value in read if value not in usual.get(n, [value])}
    title = run_title(r.tuning, r.layers, r.settings, r.task)
    what = ", ".join(filter(None, (title, listed(unusual))))
    scores = "  ".join(
        f"{split} {100 * s.values[key]:.2f}"
        + ("" if s.floor is None else f" ({run.task.floor} {100 * s.floor:.2f})")
        for split, s in r.scores.items()
    )
    took = "finished before" if was_there else duration(r.cost.training_seconds)
    line = f"{what}  seed {r.seed}  {scores}  best epoch {r.best_epoch}  {took}  {run.id}"
    return printable(line)

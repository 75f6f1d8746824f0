"""What `--report` writes: comparisons with every analysis, as one HTML file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from featbert.report.units import size
from featbert.text import printable

if TYPE_CHECKING:
    from featbert.analysis.compare import Comparison
    from featbert.analysis.published import PublishedMatrix
    from featbert.analysis.transfer import TransferMatrix


def check_report(path: Path) -> None:
    """Raises InputError for a path that no report can be written to, before any work."""
    from featbert.report.html.page import check_report_path

    check_report_path(path)


def write_html(
    path: Path,
    comparisons: Sequence[Comparison],
    *,
    matrices: Sequence[TransferMatrix] = (),
    published: Sequence[PublishedMatrix] = (),
    notes: Sequence[str] = (),
    experiment: str | None = None,
    quiet: bool = False,
) -> None:
    """Tests, prices and parts the comparisons, and writes the page; says so on stderr."""
    from featbert.analysis.breakdown import with_breakdowns, with_scorers
    from featbert.analysis.cost import with_costs
    from featbert.analysis.significance import with_significance
    from featbert.report.html.page import html_report, write_report

    analysed = [
        with_breakdowns(with_scorers(with_costs(with_significance(one))), list(one.task.facets))
        for one in comparisons
    ]
    page = html_report(
        analysed, matrices=matrices, published=published, notes=notes, name=experiment or ""
    )
    write_report(path, page)
    if not quiet:
        line = f"{path}: {size(path.stat().st_size)}, opens in any browser"
        sys.stderr.write(printable(line) + "\n")

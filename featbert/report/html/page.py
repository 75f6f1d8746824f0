"""Comparisons as one page.

Jinja2 escapes everything but the figures, the style, the script and the JSON, which this package
makes.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

from featbert import __version__
from featbert.analysis.comparison import Comparison, Comparisons, shared
from featbert.analysis.labels import way_order
from featbert.encoders.tunings import tuning_title
from featbert.report.figures.registry import Kind, comparison_figures, crossing_figures
from featbert.report.figures.style import COLUMN_WIDTH, FULL_WIDTH, svg_text
from featbert.report.html.notebook import template
from featbert.report.tables import comparison_tables, overview_tables, transfer_tables
from featbert.text import enumerated
from featbert.versions import library_versions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Omitted from figures: metadata, names of groups, rotations by 0, indents, and the font, which
# report.css names with a substitute.
_LEFT_OUT = re.compile(
    r'<metadata>.*?</metadata>\s*|<!--.*?-->\s*|(?<=<g) id="[^"]*"'
    r"|font-family: 'DejaVu Sans'; | transform=\"rotate\(-0 [^)]*\)\"|(?<=\n)\s+",
    re.DOTALL,
)
_NAME = re.compile(r'(\bid="|href="#|url\(#)([^")]+)')
_PLAIN_GROUP = re.compile(r"<g>\n((?:(?!</?g\b).)*?)</g>\n?", re.DOTALL)
_PLACES = re.compile(r'\b[dxy]="[^"]*"|\btranslate\([^)]*\)')
_LONG = re.compile(r"(\d\.\d\d)\d+")
_SIZE = re.compile(r'\b(width|height)="([\d.]+)pt"')
# A page is read from further away than paper: text of 7 points becomes as large as its own.
_SCALE = 1.4


def html_report(comparisons: Sequence[Comparison]) -> str:
    """The whole page as text: all that the comparisons hold, whatever their view."""
    shown = Comparisons.of(comparisons)
    matrices = [
        matrix for matrix in shown.matrices if any(row.average is not None for row in matrix.rows)
    ]
    crossed = _figures(crossing_figures(shown), "t")
    script = _asset("report.js")
    return template("report.html.j2").render(
        title=_title(shown),
        sections=[_section(matrix, number) for number, matrix in enumerate(shown, 1)],
        overview=[
            *overview_tables(shown),
            *([] if matrices else transfer_tables([], shown.published)),
        ],
        overview_figures=crossed.get("tasks", []),
        transfer=transfer_tables(matrices, shown.published) if matrices else [],
        transfer_figures=crossed.get("transfer", []),
        notes=shown.notes,
        version=__version__,
        versions={n: v for n, v in library_versions().items() if n != "featbert"},
        script=Markup(script),
        # A content security policy names a script by its hash: no other one runs on the page.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=Markup(_asset("report.css")),
    )


def _title(comparisons: Comparisons) -> str:
    tunings = {row.tuning for comparison in comparisons for row in comparison.rows}
    titles = map(tuning_title, sorted(tunings, key=lambda name: way_order(name, None)))
    question = enumerated(titles, "or") + "?" * (len(tunings) > 1)
    name = comparisons.experiment
    return f"{name}: {question}" if name else question[0].upper() + question[1:]


def _section(comparison: Comparison, number: int) -> dict[str, Any]:
    """One comparison. Tables and figures by the part of the page that has them."""
    runs = [(row, run) for row in comparison.rows for run in row.runs]
    texts = [dataclasses.asdict(text) for text in comparison.texts]
    browser = htmlsafe_json_dumps({"texts": texts}, ensure_ascii=False, separators=(",", ":"))
    return {
        "number": number,
        "comparison": comparison,
        "kinds": [*comparison.task.facets.values()],
        "tables": comparison_tables(comparison),
        "figures": _figures(comparison_figures(comparison), f"f{number}"),
        "browser": browser if any(text["sentences"] for text in texts) else None,
        "runs": runs,
        "shared": shared([run.facts for _, run in runs]) if len(runs) > 1 else {},
    }


def _figures(figures: Iterable[tuple[Kind, str, Figure]], prefix: str) -> dict[str, list[Any]]:
    """By the part of the page that shows them. The first of a kind has its caption."""
    by_section: dict[str, list[Any]] = {}
    captioned = set()
    for number, (kind, _, figure) in enumerate(figures, 1):
        title = str(figure.get_label())
        shown = {
            "title": title,
            "caption": "" if kind.name in captioned else kind.caption,
            "svg": Markup(_inline_svg(figure, prefix=f"{prefix}-{number}", label=escape(title))),
            "narrow": figure.get_figwidth() < (COLUMN_WIDTH + FULL_WIDTH) / 2,
        }
        captioned.add(kind.name)
        by_section.setdefault(kind.section, []).append(shown)
    return by_section


def _inline_svg(figure: Figure, *, prefix: str, label: str) -> str:
    """A figure as `<svg>`. Its names are the prefix with numbers."""
    text = svg_text(figure, fonttype="none")
    text = _LEFT_OUT.sub("", text[text.index("<svg") :])
    numbers: dict[str, int] = {}
    text = _NAME.sub(
        lambda name: f"{name[1]}{prefix}-{numbers.setdefault(name[2], len(numbers))}", text
    )
    # A hundredth of a point is finer than any screen.
    text = _PLACES.sub(lambda places: _LONG.sub(r"\1", places[0]), text)
    groups = 1
    while groups:
        text, groups = _PLAIN_GROUP.subn(r"\1", text)
    head, end, body = text.partition(">")
    head = _SIZE.sub(lambda found: f'{found[1]}="{_SCALE * float(found[2]):.1f}pt"', head)
    return head.replace("<svg", f'<svg role="img" aria-label="{label}"', 1) + end + body


def _asset(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text("utf-8")

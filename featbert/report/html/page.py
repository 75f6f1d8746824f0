"""Comparisons as one page: what the template is filled with, and the file.

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
from featbert.analysis.compare import Comparison
from featbert.analysis.rows import shared, signature_line, way_order
from featbert.analysis.transfer import TransferMatrix
from featbert.encoders.tunings import tuning_title
from featbert.experiments.file import flattened
from featbert.experiments.published import PublishedTable
from featbert.report.figures.registry import Kind, comparison_figures, crossing_figures
from featbert.report.figures.style import COLUMN_WIDTH, FULL_WIDTH, svg_text
from featbert.report.html.browser import judged_texts
from featbert.report.html.notebook import html_template
from featbert.report.summary import findings, verdicts
from featbert.report.tables import comparison_tables, overview_tables, transfer_tables
from featbert.report.units import NONE, percent, visible
from featbert.runs.record import RunRecord
from featbert.runs.run import Run
from featbert.text import enumerated
from featbert.versions import library_versions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAME = re.compile(r'(\bid="|href="#|url\(#)([^")]+)')
_PATH = re.compile(r'\bd="[^"]*"')
_LONG = re.compile(r"(\d\.\d\d)\d+")
_SIZE = re.compile(r'\b(width|height)="([\d.]+)pt"')
_NOT_SHOWN = re.compile(r"<metadata>.*?</metadata>\s*|<!--.*?-->\s*", re.DOTALL)
# A page is read from further away than paper: text of 7 points becomes as large as its own.
_SCALE = 1.4


def html_report(
    comparisons: Sequence[Comparison],
    *,
    matrices: Sequence[TransferMatrix] = (),
    published: Sequence[PublishedTable] = (),
    notes: Sequence[str] = (),
    name: str = "",
    sentences: bool = True,
) -> str:
    """The whole page as text.

    Differences, costs and breakdowns are shown where they have been added to the comparisons.
    Notes are lines at the end; `name` is the experiment's, for the title. Without `sentences` the
    page has no text of the corpus.
    """
    matrices = [one for one in matrices if any(row.average is not None for row in one.rows)]
    crossed = _figures(crossing_figures(comparisons, matrices), "t")
    script = _asset("report.js")
    return html_template("report.html.j2").render(
        title=_title(comparisons, name),
        sections=[_section(one, number, sentences) for number, one in enumerate(comparisons, 1)],
        overview=[
            *overview_tables(comparisons),
            *([] if matrices else transfer_tables([], published)),
        ],
        overview_figures=crossed.get("tasks", []),
        transfer=transfer_tables(matrices, published) if matrices else [],
        transfer_figures=crossed.get("transfer", []),
        notes=[visible(note) for note in notes],
        version=__version__,
        versions={n: v for n, v in library_versions().items() if n != "featbert"},
        script=Markup(script),
        # A content security policy names a script by its hash: no other one runs on the page.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=Markup(_asset("report.css")),
    )


def _title(comparisons: Sequence[Comparison], name: str) -> str:
    there = {row.tuning for comparison in comparisons for row in comparison.rows}
    titles = map(tuning_title, sorted(there, key=lambda name: way_order(name, None)))
    question = enumerated(titles, "or") + "?" * (len(there) > 1)
    return f"{name}: {question}" if name else question[0].upper() + question[1:]


def _section(comparison: Comparison, number: int, sentences: bool) -> dict[str, Any]:
    """One comparison; tables and figures by the part of the page that has them."""
    texts, missing = judged_texts(comparison) if sentences else ([], [])
    tables = comparison_tables(comparison)
    facts = {run.name: _facts(run.record) for row in comparison.rows for run in row.runs}
    alike = shared([*facts.values()]) if len(facts) > 1 else {}
    runs = [
        {
            "name": visible(run.name),
            "line": visible(f"{row.name}, seed {run.record.seed}: {_scores(run)}"),
            "facts": {n: v for n, v in facts[run.name].items() if n not in alike},
        }
        for row in comparison.rows
        for run in row.runs
    ]
    how: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":")}
    browser = htmlsafe_json_dumps({"texts": texts}, **how)
    return {
        "number": number,
        "title": tables["scores"][0].title,
        "subtitle": tables["scores"][0].subtitle,
        "verdict": " ".join(verdicts(comparison)),
        "findings": findings(comparison),
        "tables": tables,
        "figures": _figures(comparison_figures(comparison), f"f{number}"),
        "browser": browser if any(t["sentences"] for t in texts) else None,
        "unit": comparison.task.unit,
        "kind": next(iter(comparison.task.facets.values())).title,
        "shared": alike,
        "signatures": [visible(signature_line(row.runs)) for row in comparison.rows],
        "runs": runs,
        "notes": [visible(note) for note in missing],
    }


def _figures(figures: Iterable[tuple[Kind, str, Figure]], prefix: str) -> dict[str, list[Any]]:
    """By the part of the page that shows them; the first of a kind has its caption."""
    found: dict[str, list[Any]] = {}
    captioned = set()
    for kind, name, figure in figures:
        title = str(figure.get_label())
        drawn = {
            "title": title,
            "caption": "" if kind.name in captioned else kind.caption,
            "svg": Markup(_inline_svg(figure, prefix=f"{prefix}-{name}", label=escape(title))),
            "narrow": figure.get_figwidth() < (COLUMN_WIDTH + FULL_WIDTH) / 2,
        }
        captioned.add(kind.name)
        found.setdefault(kind.section, []).append(drawn)
    return found


def _inline_svg(figure: Figure, *, prefix: str, label: str) -> str:
    """An `<svg>` that looks alike everywhere: its text is outlines. Its names get the prefix."""
    text = svg_text(figure)
    text = _NOT_SHOWN.sub("", text[text.index("<svg") :])
    text = _NAME.sub(rf"\g<1>{prefix}-\g<2>", text)
    # A hundredth of a point is finer than any screen.
    text = _PATH.sub(lambda path: _LONG.sub(r"\1", path[0]), text)
    head, end, rest = re.sub(r"\n\s*", "\n", text).partition(">")
    head = _SIZE.sub(lambda found: f'{found[1]}="{_SCALE * float(found[2]):.1f}pt"', head)
    return head.replace("<svg", f'<svg role="img" aria-label="{label}"', 1) + end + rest


def _scores(run: Run) -> str:
    r, measure = run.record, run.task.measure.name
    scores = [f"{split} {measure} {percent(r.score(split))}" for split in r.scores]
    return ", ".join([*scores, f"best epoch {r.best_epoch}"])


def _facts(record: RunRecord) -> dict[str, str]:
    """By names with dots, in the record's order, without what the page shows as curves."""
    without = ("name", "scores", "history", "labels")
    data = {n: value for n, value in dataclasses.asdict(record).items() if n not in without}
    return {visible(name): visible(_shown(value)) for name, value in flattened(data)}


def _shown(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_shown, value)) or NONE
    if isinstance(value, float):
        return f"{value:.6g}"
    return NONE if value is None else str(value)


def _asset(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text("utf-8")

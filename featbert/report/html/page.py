"""Comparisons as one page: what the template is filled with.

Everything on the page is drawn from the same descriptions as the other formats (`report.table`,
`report.figures`), so they cannot disagree. Jinja2 escapes all of it; nothing is marked as safe but
the figures, the style, the script and the JSON, which this folder makes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING

from featbert import __version__
from featbert.analysis.baselines import baseline_of, best_by_dev
from featbert.analysis.disagreements import judged_texts
from featbert.errors import MissingError
from featbert.report import units
from featbert.report.figures import style
from featbert.report.figures.choosing import figures_of
from featbert.report.html.captions import Caption, caption_of
from featbert.report.html.records import RunFacts, shared_facts
from featbert.report.html.sentences import browser_json
from featbert.report.html.svg import inline_svg
from featbert.report.summary import Finding, findings
from featbert.report.table import comparison_tables
from featbert.report.transfer_table import transfer_tables
from featbert.versions import library_versions

try:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup, escape
except ModuleNotFoundError as error:
    if error.name not in ("jinja2", "markupsafe"):
        raise
    raise MissingError(
        "Jinja2 expected to write the report, it is not installed; "
        "install it with: pip install jinja2"
    ) from None

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from featbert.analysis.compare import Comparison
    from featbert.analysis.disagreements import JudgedText
    from featbert.analysis.transfer import TransferMatrix
    from featbert.analysis.transfer_published import PublishedMatrix
    from featbert.report.cells import Table


@dataclass(frozen=True)
class Drawn:
    """A figure on the page; a narrow one shrinks to the page, a wide one is scrolled."""

    name: str
    title: str
    caption: Caption
    svg: Markup
    narrow: bool


@dataclass
class Section:
    """One comparison on the page."""

    number: int
    title: str
    subtitle: str
    findings: list[Finding]
    tables: dict[str, list[Table]]
    figures: dict[str, list[Drawn]]
    browser: Markup | None
    shared: dict[str, str]
    runs: list[RunFacts]
    notes: list[str] = field(default_factory=list)

    def has(self, part: str) -> bool:
        """Whether a part of the page has anything to show."""
        return bool(self.tables.get(part) or self.figures.get(part))


def html_report(
    comparisons: Sequence[Comparison],
    *,
    matrices: Sequence[TransferMatrix] = (),
    published: Sequence[PublishedMatrix] = (),
    notes: Sequence[str] = (),
    title: str = "Features or fine-tuning?",
) -> str:
    """The whole page as text.

    Args:
        comparisons: with what was asked of them: differences, costs and breakdowns are shown where
            they are there.
        matrices: of zero-shot transfer; `published` ones beside them.
        notes: further lines at the end.
    """
    matrices = [one for one in matrices if any(row.average is not None for row in one.rows)]
    sections = [_section(c, number) for number, c in enumerate(comparisons, 1)]
    crossed = [
        _drawn(name, figure, f"t-{name}") for name, figure in _transfer_figures(matrices, published)
    ]
    script = _asset("report.js")
    page = _environment().from_string(_asset("report.html.j2"))
    return page.render(
        title=title,
        sections=sections,
        transfer=transfer_tables(matrices, published) if matrices else [],
        transfer_figures=crossed,
        notes=[units.visible(note) for note in notes],
        version=__version__,
        versions={n: v for n, v in library_versions().items() if n != "featbert"},
        script=Markup(script),
        script_hash=_hash(script),
        style=Markup(_asset("report.css")),
    )


def _section(comparison: Comparison, number: int) -> Section:
    texts, missing = judged_texts(comparison)
    shared, runs = shared_facts(comparison)
    found = comparison_tables(comparison)
    main = found["scores"][0]
    return Section(
        number=number,
        title=main.title,
        subtitle=main.subtitle,
        findings=findings(comparison),
        tables=found,
        figures=_figures(comparison, number),
        browser=_browser(comparison, texts),
        shared=shared,
        runs=runs,
        notes=[units.visible(note) for note in missing],
    )


def _figures(comparison: Comparison, number: int) -> dict[str, list[Drawn]]:
    """Figures by the part of the page that they stand in."""
    parts: dict[str, list[Drawn]] = {}
    for name, figure in figures_of(comparison):
        drawn = _drawn(name, figure, f"f{number}-{name}")
        parts.setdefault(drawn.caption.part, []).append(drawn)
    return parts


def _transfer_figures(
    matrices: Sequence[TransferMatrix], published: Sequence[PublishedMatrix]
) -> Iterator[tuple[str, Figure]]:
    from featbert.report.figures.heatmap import transfer_heatmap

    if matrices:
        yield "transfer", transfer_heatmap(*matrices)
    if published:
        yield "transfer-published", transfer_heatmap(*published)


def _drawn(name: str, figure: Figure, prefix: str) -> Drawn:
    caption = caption_of(name)
    # A figure's first text is its title.
    title = " ".join(figure.texts[0].get_text().split()) if figure.texts else caption.title
    svg = inline_svg(figure, prefix=prefix, label=str(escape(title)))
    narrow = figure.get_figwidth() < (style.COLUMN_WIDTH + style.FULL_WIDTH) / 2
    return Drawn(name, title, caption, Markup(svg), narrow)


def _browser(comparison: Comparison, texts: Sequence[JudgedText]) -> Markup | None:
    if not any(text.sentences for text in texts):
        return None
    best = best_by_dev([row for row in comparison.rows if row.tuning == "none"])
    if best is None:
        return Markup(browser_json(texts, None, None))
    base = baseline_of(best, comparison.rows, "dev")
    return Markup(browser_json(texts, best.name, None if base is None else base.name))


def _environment() -> Environment:
    return Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _asset(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text("utf-8")


def _hash(script: str) -> str:
    """What a content security policy names a script by: no other one runs on the page."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

"""Comparisons as one page: what the template is filled with, and the file.

Everything on the page is drawn from the same descriptions as the other formats (`report.table`,
`report.figures`), so they cannot disagree. Jinja2 escapes all of it; only the figures, the style,
the script and the JSON, which this package makes, are marked as safe.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from featbert import __version__
from featbert.analysis.breakdown import judged_texts
from featbert.analysis.rows import baseline_of, best_by_dev
from featbert.encoders.tunings import TUNINGS
from featbert.errors import FeatbertError, InputError, MissingError
from featbert.io import cannot_write, replacing
from featbert.report.figures.registry import Kind, comparison_figures, transfer_figures
from featbert.report.figures.style import COLUMN_WIDTH, FULL_WIDTH, svg_text
from featbert.report.html.browser import browser_json
from featbert.report.summary import Finding, findings
from featbert.report.tables import comparison_tables, transfer_tables
from featbert.report.units import NONE, percent, visible
from featbert.tasks.base import get_task
from featbert.versions import library_versions

try:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup, escape
except ModuleNotFoundError as error:
    if error.name not in ("jinja2", "markupsafe"):
        raise
    raise MissingError(
        "Jinja2 is not installed, which writes reports; install it with: pip install jinja2"
    ) from None

from matplotlib.figure import Figure

from featbert.analysis.breakdown import JudgedText
from featbert.analysis.compare import Comparison
from featbert.analysis.published import PublishedMatrix
from featbert.analysis.transfer import TransferMatrix
from featbert.report.tables import Table
from featbert.runs.record import RunRecord

_NAME = re.compile(r'(\bid="|href="#|url\(#)([^")]+)')
_PATH = re.compile(r'\bd="[^"]*"')
_LONG = re.compile(r"(\d\.\d\d)\d+")
_SIZE = re.compile(r'\b(width|height)="([\d.]+)pt"')
_NOT_SHOWN = re.compile(r"<metadata>.*?</metadata>\s*|<!--.*?-->\s*", re.DOTALL)
# A page is read from further away than paper: text of 7 points becomes as large as its own.
_SCALE = 1.4


class Drawn(NamedTuple):
    """A figure on the page; a narrow one shrinks to the page, a wide one is scrolled.

    The first of several of one kind has the caption.
    """

    title: str
    caption: str
    svg: Markup
    narrow: bool


class RunFacts(NamedTuple):
    """A run: its name, one line about it, and the facts that not all runs share."""

    name: str
    line: str
    facts: Mapping[str, str]


@dataclass
class Section:
    """One comparison on the page; tables and figures by the part of the page that has them."""

    number: int
    title: str
    subtitle: str
    findings: list[Finding]
    tables: Mapping[str, list[Table]]
    figures: Mapping[str, list[Drawn]]
    browser: Markup | None
    shared: Mapping[str, str]
    runs: list[RunFacts]
    notes: list[str]

    def has(self, part: str) -> bool:
        """Whether a part of the page has anything to show."""
        return bool(self.tables.get(part) or self.figures.get(part))


def html_report(
    comparisons: Sequence[Comparison],
    *,
    matrices: Sequence[TransferMatrix] = (),
    published: Sequence[PublishedMatrix] = (),
    notes: Sequence[str] = (),
    name: str = "",
) -> str:
    """The whole page as text.

    Args:
        comparisons: differences, costs and breakdowns are shown where they have been added.
        matrices: of zero-shot transfer, with `published` ones.
        notes: further lines at the end.
        name: of the experiment, for the page's title.
    """
    matrices = [one for one in matrices if any(row.average is not None for row in one.rows)]
    crossed = _figures(transfer_figures(matrices, published), "t")
    script = _asset("report.js")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_asset("report.html.j2")).render(
        title=_title(comparisons, name),
        sections=[_section(one, number) for number, one in enumerate(comparisons, 1)],
        transfer=transfer_tables(matrices, published) if matrices else [],
        transfer_figures=[drawn for figures in crossed.values() for drawn in figures],
        notes=[visible(note) for note in notes],
        version=__version__,
        versions={n: v for n, v in library_versions().items() if n != "featbert"},
        script=Markup(script),
        # A content security policy names a script by its hash: no other one runs on the page.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=Markup(_asset("report.css")),
    )


def write_report(path: Path | str, page: str) -> Path:
    """Write a page; the file appears whole or not at all, folders above it are made.

    Raises:
        InputError: no report can be written under that name.
        FeatbertError: it could not be written.
    """
    path = Path(path)
    check_report_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, durable=False) as temporary:
            temporary.write_text(page, "utf-8", newline="\n")
    except OSError as error:
        raise FeatbertError(f"report {cannot_write(path, error)}") from error
    return path


def check_report_path(path: Path) -> None:
    """Raises InputError where a report cannot be written under that name."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path.name!r} is no name of a report; it must end in .html")
    if path.is_dir():
        raise InputError(f"{path} is a folder; --report needs a file")
    above = next((p for p in path.absolute().parents if p.exists()), None)
    if above is not None and not above.is_dir():
        raise InputError(f"{above} is a file; the report needs a folder there")


def _title(comparisons: Sequence[Comparison], name: str) -> str:
    """`quickstart: features or fine-tuning?`"""
    there = {row.tuning for comparison in comparisons for row in comparison.rows}
    *others, last = [tuning.title for tuning in TUNINGS.values() if tuning.name in there]
    question = f"{', '.join(others)} or {last}?" if others else last
    return f"{name}: {question}" if name else question[0].upper() + question[1:]


def _section(comparison: Comparison, number: int) -> Section:
    texts, missing = judged_texts(comparison)
    shared, runs = _run_facts(comparison)
    tables = comparison_tables(comparison)
    return Section(
        number=number,
        title=tables["scores"][0].title,
        subtitle=tables["scores"][0].subtitle,
        findings=findings(comparison),
        tables=tables,
        figures=_figures(comparison_figures(comparison), f"f{number}"),
        browser=_browser(comparison, texts),
        shared=shared,
        runs=runs,
        notes=[visible(note) for note in missing],
    )


def _figures(figures: Iterable[tuple[Kind, str, Figure]], prefix: str) -> dict[str, list[Drawn]]:
    """Figures by the part of the page that shows them."""
    found: dict[str, list[Drawn]] = {}
    for kind, name, figure in figures:
        title = str(figure.get_label())
        svg = Markup(_inline_svg(figure, prefix=f"{prefix}-{name}", label=str(escape(title))))
        narrow = figure.get_figwidth() < (COLUMN_WIDTH + FULL_WIDTH) / 2
        drawn = found.setdefault(kind.section, [])
        told = any(one.caption == kind.caption for one in drawn)
        drawn.append(Drawn(title, "" if told else kind.caption, svg, narrow))
    return found


def _inline_svg(figure: Figure, *, prefix: str, label: str) -> str:
    """An `<svg>` element whose text is outlines, so that it looks alike on every machine.

    Args:
        prefix: what makes the names in it unique among the figures of the page.
        label: what a screen reader says, already escaped.
    """
    text = svg_text(figure)
    text = _NOT_SHOWN.sub("", text[text.index("<svg") :])
    text = _NAME.sub(rf"\g<1>{prefix}-\g<2>", text)
    # A hundredth of a point is finer than any screen.
    text = _PATH.sub(lambda path: _LONG.sub(r"\1", path[0]), text)
    head, end, rest = re.sub(r"\n\s*", "\n", text).partition(">")
    head = _SIZE.sub(lambda found: f'{found[1]}="{_SCALE * float(found[2]):.1f}pt"', head)
    return head.replace("<svg", f'<svg role="img" aria-label="{label}"', 1) + end + rest


def _browser(comparison: Comparison, texts: Sequence[JudgedText]) -> Markup | None:
    if not any(text.sentences for text in texts):
        return None
    best = best_by_dev([row for row in comparison.rows if row.frozen])
    base = None if best is None else baseline_of(best, comparison.rows, "dev")
    names = [None if row is None else row.name for row in (best, base)]
    return Markup(browser_json(texts, *names))


def _run_facts(comparison: Comparison) -> tuple[dict[str, str], list[RunFacts]]:
    """Configuration and signature: what all runs share, and each run with the others."""
    runs = [(row.name, run) for row in comparison.rows for run in row.runs]
    facts = [_facts(run.record) for _, run in runs]
    shared = dict(set(facts[0].items()).intersection(*(one.items() for one in facts[1:])))
    shared = {name: value for name, value in facts[0].items() if name in shared and len(runs) > 1}
    return shared, [
        RunFacts(
            visible(run.name),
            visible(f"{row}, seed {run.record.seed}: {_scores(run.record)}"),
            {name: value for name, value in own.items() if name not in shared},
        )
        for (row, run), own in zip(runs, facts, strict=True)
    ]


def _scores(record: RunRecord) -> str:
    measure = get_task(record.task).measure
    scores = [
        f"{split} {measure.name} {percent(found.values[measure.key])}"
        for split, found in record.scores.items()
    ]
    return ", ".join([*scores, f"best epoch {record.best_epoch}"])


def _facts(record: RunRecord) -> dict[str, str]:
    """By names with dots, in the record's order, without what the page shows as curves."""
    data = dataclasses.asdict(record)
    for name in ("name", "scores", "history", "labels"):
        data.pop(name)
    return {visible(name): visible(_shown(value)) for name, value in _parts(data)}


def _shown(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_shown, value)) or NONE
    if isinstance(value, float):
        return f"{value:.6g}"
    return NONE if value is None else str(value)


def _asset(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text("utf-8")


def _parts(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """What a nested table holds, by dotted names; a list is one value."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _parts(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name, value

"""Tables as notebooks show them: fragments without scripts, colours and style sheet."""

from collections.abc import Iterable, Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from featbert.analysis.compare import Comparison
from featbert.report import tables
from featbert.runs.run import FoundRuns, Run


def html_template(name: str) -> Template:
    """A template of the package, which escapes what it is filled with."""
    environment = Environment(
        loader=PackageLoader("featbert.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def as_html(shown: Iterable[tables.Table]) -> str:
    """Tables, one after the other."""
    return html_template("tables.html.j2").render(tables=shown)


def notebook_html(comparisons: Sequence[Comparison]) -> str:
    """All tables of comparisons."""
    return as_html(tables.tables(comparisons)) or "<p>no finished runs to compare</p>\n"


def run_html(run: Run) -> str:
    """A run's scores, facts and epochs."""
    facts = tables.facts_table(run.name, tables.run_facts(run))
    return as_html((tables.run_scores_table(run), facts, tables.epochs_table(run)))


def found_html(found: FoundRuns) -> str:
    """Every run with state, scores and time."""
    return as_html([tables.runs_table(tables.run_lines(found))])

"""Tables as notebooks show them: fragments without scripts, colours and style sheet."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from featbert.analysis.comparison import Comparisons
from featbert.report.tables import tables
from featbert.units import percent, visible


def template(name: str) -> Template:
    """A template of the package. Values are escaped in HTML."""
    environment = Environment(
        loader=PackageLoader("featbert.report.html"),
        autoescape=name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "visible": visible, "repr": repr}
    return environment.get_template(name)


def register_renderers(formatter: Any) -> None:
    """Lets a notebook show featbert's objects as tables, through its IPython formatter of HTML."""
    for module, name in SHOWN:
        formatter.for_type_by_name(module, name, html)


def html(shown: Any) -> str:
    """HTML of an object of a class in `SHOWN`, or of a subclass."""
    from featbert.analysis.listing import run_lines
    from featbert.report import listings

    names = {name for _, name in SHOWN}
    match next(cls.__name__ for cls in type(shown).__mro__ if cls.__name__ in names):
        case "Comparison" | "Comparisons":
            parts = tables(Comparisons.of(shown).viewed())
        case "ExperimentResult":
            parts = tables(shown.comparisons.viewed())
        case "Run":
            facts = listings.facts_table(shown.name, listings.run_facts(shown))
            parts = [listings.run_scores_table(shown), facts, listings.epochs_table(shown)]
        case "FoundRuns":
            parts = [listings.runs_table(run_lines(shown))]
        case "Evaluation":
            parts = listings.evaluations_tables([(shown.run, shown.record)], [])
        case "Corpus":
            parts = [listings.corpus_table(shown)]
        case _:
            parts = [listings.facts_table(shown.path.name, listings.store_facts(shown))]
    page = template("tables.html.j2").render(tables=parts)
    return page or "<p>no finished runs to compare</p>\n"


# Modules and names of classes that `html` shows.
SHOWN = (
    ("featbert.analysis.comparison", "Comparison"),
    ("featbert.analysis.comparison", "Comparisons"),
    ("featbert.api", "ExperimentResult"),
    ("featbert.runs.run", "Run"),
    ("featbert.runs.run", "FoundRuns"),
    ("featbert.inference.evaluate", "Evaluation"),
    ("featbert.data.corpus", "Corpus"),
    ("featbert.features.store", "FeatureStore"),
)

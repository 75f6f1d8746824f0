"""Tables as notebooks show them: fragments without scripts, colours and style sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from featbert.analysis.comparison import Comparison, Comparisons
from featbert.report import tables
from featbert.report.table import Table

if TYPE_CHECKING:
    from featbert.data.corpus import Corpus
    from featbert.features.store import FeatureStore
    from featbert.runs.run import FoundRuns, Run


def html_template(name: str) -> Template:
    """A template of the package. Values are escaped."""
    environment = Environment(
        loader=PackageLoader("featbert.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def as_html(shown: Iterable[Table]) -> str:
    """Tables, one after the other."""
    return html_template("tables.html.j2").render(tables=shown)


def register_renderers(formatter: Any) -> None:
    """Lets a notebook show featbert's objects as tables, through its IPython formatter of HTML."""
    for (module, name), renderer in RENDERERS.items():
        formatter.for_type_by_name(module, name, renderer)


def html(shown: Any) -> str:
    """HTML of an object of featbert. KeyError for other objects."""
    return RENDERERS[type(shown).__module__, type(shown).__name__](shown)


def comparisons_html(comparisons: Sequence[Comparison]) -> str:
    """All tables of comparisons."""
    shown = Comparisons.of(comparisons).viewed()
    return (
        as_html(tables.tables(shown, show=shown.view.show))
        or "<p>no finished runs to compare</p>\n"
    )


def run_html(run: Run) -> str:
    """A run's scores, facts and epochs."""
    from featbert.report import listings

    facts = listings.facts_table(run.name, listings.run_facts(run))
    return as_html((listings.run_scores_table(run), facts, listings.epochs_table(run)))


def runs_html(runs: FoundRuns) -> str:
    """Every run with state, scores and time."""
    from featbert.analysis.listing import run_lines
    from featbert.report.listings import runs_table

    return as_html([runs_table(run_lines(runs))])


def corpus_html(corpus: Corpus) -> str:
    from featbert.report.listings import corpus_table

    return as_html([corpus_table(corpus)])


def store_html(store: FeatureStore) -> str:
    from featbert.report.listings import facts_table, store_facts

    return as_html([facts_table(store.path.name, store_facts(store))])


# By the module and name of a class.
RENDERERS: dict[tuple[str, str], Callable[[Any], str]] = {
    ("featbert.analysis.comparison", "Comparison"): lambda comparison: comparisons_html(
        [comparison]
    ),
    ("featbert.analysis.comparison", "Comparisons"): comparisons_html,
    ("featbert.runs.run", "Run"): run_html,
    ("featbert.runs.run", "FoundRuns"): runs_html,
    ("featbert.data.corpus", "Corpus"): corpus_html,
    ("featbert.features.store", "FeatureStore"): store_html,
}

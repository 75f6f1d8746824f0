"""Tables as notebooks show them: fragments without scripts, colours and style sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from featbert.analysis.compare import Comparison
from featbert.report import tables
from featbert.runs.run import FoundRuns, Run

if TYPE_CHECKING:
    from featbert.data.corpus import Corpus
    from featbert.features.store import FeatureStore


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


def register_renderers(formatter: Any) -> None:
    """Lets a notebook show featbert's objects as tables, through its IPython formatter of HTML."""
    for (module, name), renderer in RENDERERS.items():
        formatter.for_type_by_name(module, name, renderer)


def html(shown: Any) -> str:
    """What a notebook shows of an object of featbert; KeyError for another object."""
    return RENDERERS[type(shown).__module__, type(shown).__name__](shown)


def comparisons_html(comparisons: Sequence[Comparison]) -> str:
    """All tables of comparisons."""
    return as_html(tables.tables(comparisons)) or "<p>no finished runs to compare</p>\n"


def run_html(run: Run) -> str:
    """A run's scores, facts and epochs."""
    facts = tables.facts_table(run.name, tables.run_facts(run))
    return as_html((tables.run_scores_table(run), facts, tables.epochs_table(run)))


def runs_html(runs: FoundRuns) -> str:
    """Every run with state, scores and time."""
    return as_html([tables.runs_table(tables.run_lines(runs))])


def corpus_html(corpus: Corpus) -> str:
    return as_html([tables.corpus_table(corpus)])


def store_html(store: FeatureStore) -> str:
    return as_html([tables.facts_table(store.path.name, tables.store_facts(store))])


# By the module and name of a class.
RENDERERS: dict[tuple[str, str], Callable[[Any], str]] = {
    ("featbert.analysis.compare", "Comparison"): lambda comparison: comparisons_html([comparison]),
    ("featbert.analysis.compare", "Comparisons"): comparisons_html,
    ("featbert.runs.run", "Run"): run_html,
    ("featbert.runs.run", "FoundRuns"): runs_html,
    ("featbert.data.corpus", "Corpus"): corpus_html,
    ("featbert.features.store", "FeatureStore"): store_html,
}

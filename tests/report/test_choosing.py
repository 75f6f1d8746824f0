"""Which figures a comparison has, by the names of their files."""

import dataclasses

import pytest

from featbert.analysis.breakdowns import Breakdown
from featbert.analysis.compare import compare
from featbert.analysis.reproduction import reproduce
from featbert.analysis.rows import Statistic
from featbert.report.figures.choosing import figures_of
from featbert.report.figures.style import COLUMN_WIDTH, FULL_WIDTH
from featbert.runs.published import PublishedRow, PublishedTable
from featbert.training.history import Epoch
from tests.analysis.records import make_run, usual_runs

SIMPLE = {"seeds-dev", "seeds-test", "pareto-test"}


def names(comparison):
    found = [name for name, _ in figures_of(comparison)]
    assert len(set(found)) == len(found)
    return set(found)


def test_a_simple_table_has_few_figures():
    """The rows of `usual_runs` have a learned mix and one epoch each."""
    (comparison,) = compare(usual_runs())
    assert names(comparison) == {*SIMPLE, "mix-weights"}


def test_a_row_alone_has_none():
    (comparison,) = compare([make_run("a", layers=None)])
    assert names(comparison) == set()


def test_the_last_split_is_set_against_cost():
    (comparison,) = compare([make_run("a", layers=None, test=None), make_run("b", test=None)])
    assert {"seeds-dev", "pareto-dev"} <= names(comparison)


def test_two_epochs_make_a_curve():
    history = [Epoch(n, 0.7, 0.5, 0.5, 0.5, 1.0, []) for n in (1, 2)]
    (comparison,) = compare([make_run("a", layers=None, history=history)])
    assert names(comparison) == {"training"}


def test_what_was_asked_for_is_drawn():
    (comparison,) = compare(usual_runs())
    f1 = {"PER": Statistic.of([0.5])}
    parts = [("type", "test"), ("length", "dev"), ("type", "test")]
    breakdowns = [Breakdown(f, "words", split, {"PER": 3}, {"a": f1}) for f, split in parts]
    row = PublishedRow(approach="finetune", test=92.4)
    table = PublishedTable(id="t", title="T", corpus="C", verified="memory", rows=(row,))
    asked = dataclasses.replace(
        comparison,
        breakdowns=(*breakdowns, Breakdown("seen", "words", "dev", {}, {})),
        reproductions=(reproduce(comparison, table),),
    )
    told = {"types-test", "types-2-test", "by-length-dev", "published-t-test"}
    assert names(asked) - names(comparison) == told


@pytest.mark.parametrize(("layers", "width"), [("last", COLUMN_WIDTH), ("x" * 40, FULL_WIDTH)])
def test_long_names_have_both_columns(layers, width):
    (comparison,) = compare([make_run("a", layers=layers), make_run("b", layers=None)])
    drawn = dict(figures_of(comparison))
    assert drawn["seeds-dev"].get_size_inches()[0] == pytest.approx(width)

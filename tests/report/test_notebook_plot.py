"""`Comparison.plot`: every kind draws what there is, or says what would be needed."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from featbert.analysis.compare import compare
from featbert.errors import FeatbertError, InputError, MissingError
from tests.analysis.records import make_run, make_seeds, usual_runs

# What makes a comparison have something for a kind.
LAYERS = [
    run
    for layer in (1, 2, 3)
    for run in make_seeds(
        f"layer-{layer}", [0.5 + 0.02 * layer], layers=f"layer:{layer}", layer_indices=[layer]
    )
]
FROZEN = [
    make_run(f"frozen-{n}", layers=None, dev=0.6 + n / 100, settings={"freeze_to": n})
    for n in (0, 2, 4)
]
SHARES = [
    make_run(f"share-{share}", dev=0.4 + share / 5, settings={"epochs": 4, "train_share": share})
    for share in (0.1, 0.3, 1.0)
]


def one(runs):
    (comparison,) = compare(runs)
    return comparison


def words(figure) -> str:
    from matplotlib.text import Text

    return " ".join(text.get_text() for text in figure.findobj(Text))


@pytest.mark.parametrize(
    ("kind", "runs", "title"),
    [
        ("seeds", usual_runs(), "F1 of every seed"),
        ("pareto", usual_runs(), "against the cost"),
        ("mix", usual_runs(), "weights of the scalar mix"),
        ("training", usual_runs(), "Training by epoch"),
        ("layers", LAYERS, "by single layer"),
        ("freezing", FROZEN, "how much of the encoder is frozen"),
        ("learning", SHARES, "by training sentences"),
    ],
)
def test_each_kind_is_its_figure(kind, runs, title) -> None:
    figure = one(runs).plot(kind, split="test", width=5.0)
    assert title in words(figure)
    assert figure.get_size_inches()[0] == pytest.approx(5.0)


def test_types_are_read_from_predictions(tmp_path: Path) -> None:
    from tests.analysis.test_significance import both

    figure = one(both(tmp_path)).plot("types")
    assert "by entity type" in words(figure)
    with pytest.raises(MissingError, match=r"dev\.conll does not exist"):
        one(usual_runs()).plot("types")


def test_the_split_and_the_default_kind() -> None:
    assert "Dev F1 of every seed" in words(one(usual_runs()).plot())
    assert "Test F1 of every seed" in words(one(usual_runs()).plot(split="test"))


@pytest.mark.parametrize(
    ("kind", "needed"),
    [
        ("layers", "three single layers next to each other.*found layers 0, 6.*--layers layer:1"),
        ("freezing", "three different numbers of layers.*found 1 number.*--freeze-to"),
        ("learning", "different shares of train.*--train-share"),
    ],
)
def test_what_a_comparison_has_nothing_for_says_what_would_be_needed(kind, needed) -> None:
    with pytest.raises(InputError, match=needed) as error:
        one(usual_runs()).plot(kind)
    assert "\n" not in str(error.value)


def test_a_mix_needs_a_run_that_learned_one() -> None:
    with pytest.raises(InputError, match="--layers weighted_last4"):
        one([make_run("a", mix=None)]).plot("mix")


@pytest.mark.parametrize("kind", ["seeds", "pareto", "layers", "freezing", "types", "learning"])
def test_a_split_without_scores_is_refused(kind) -> None:
    runs = [make_run("a", test=None), make_run("b", layers=None, test=None)]
    with pytest.raises(FeatbertError, match="expected"):
        one(runs).plot(kind, split="test")


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'freezing'"):
        one(usual_runs()).plot("freezin")
    with pytest.raises(InputError, match="did you mean 'test'"):
        one(usual_runs()).plot(split="tset")


def test_a_figure_shows_itself_as_the_same_png_each_time() -> None:
    figure = one(usual_runs()).plot(width=5.0)
    png, size = figure._repr_png_()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert size["width"] == 500
    # Twice as many dots as it takes on the page: sharp on dense screens.
    width, height = struct.unpack(">II", png[16:24])
    assert (width, height) == pytest.approx((2 * size["width"], 2 * size["height"]), abs=2)
    assert one(usual_runs()).plot(width=5.0)._repr_png_()[0] == png

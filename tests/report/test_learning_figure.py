"""F1 by training sentences: what is drawn is what the points hold, and it can be read."""

from __future__ import annotations

import pytest

from featbert.analysis.compare import compare
from featbert.analysis.learning import learning_curves
from featbert.errors import InputError
from featbert.report.figures import style
from featbert.report.figures.learning import learning_curve
from featbert.report.figures.style import COLUMN_WIDTH, FULL_WIDTH
from tests.analysis.records import make_run
from tests.analysis.test_learning import FEATURES, TUNED, crossing, learned
from tests.report.test_figures import check_readable


def curve_of(runs):
    (comparison,) = compare(runs)
    curve = learning_curves(comparison)
    assert curve is not None
    return curve


def test_lines_hold_the_points():
    axes = learning_curve(curve_of(crossing())).axes[0]
    features, tuned = axes.lines
    assert axes.get_xscale() == "log"
    for line, f1 in ((features, FEATURES), (tuned, TUNED)):
        assert list(line.get_xdata()) == [61.5, 151.5, 601.5]
        assert list(line.get_ydata()) == pytest.approx([100 * mean + 1 for mean in f1])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "concat_last4",
        "fine-tuning",
    ]
    for line, approach in ((features, "features"), (tuned, "finetune")):
        assert (line.get_color(), line.get_marker()) == style.APPROACHES[approach]


def test_bands_are_one_standard_deviation_and_dots_are_seeds():
    axes = learning_curve(curve_of(crossing()), split="test").axes[0]
    band, dots = axes.collections[:2]
    at_all = sorted({float(y) for x, y in band.get_paths()[0].vertices if x == 601.5})
    sd = 2 / 2**0.5
    assert at_all == pytest.approx([56 - sd, 56 + sd])
    offsets = [(float(x), float(y)) for x, y in dots.get_offsets()]
    assert sorted(y for x, y in offsets if x < 100) == pytest.approx([35, 37])
    assert all(x > place for (x, _), place in zip(offsets, [61.5] * 2 + [151.5] * 2, strict=False))


def test_ticks_are_counts_with_their_shares():
    axes = learning_curve(curve_of(crossing())).axes[0]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["62\n10%", "152\n25%", "602\n100%"]
    assert axes.get_xlabel() == "sentences trained on (share of train)"
    assert axes.get_ylabel() == "dev entity F1 (%)"


def test_where_a_share_is_not_as_many_sentences_ticks_are_round():
    """Two corpora in one figure."""
    runs = []
    for name, factor in (("en", 1), ("de", 5)):
        for share in (0.1, 1.0):
            runs += learned(
                f"{name}{share}",
                [share],
                share,
                sentences=round(600 * factor * share),
                vary=["corpus"],
                signature={"corpus": name, "splits": splits(name)},
            )
    axes = learning_curve(curve_of(runs)).axes[0]
    labels = [t.get_text() for t in axes.get_xticklabels()]
    assert {"100", "1,000"} <= {*labels}
    assert axes.get_xlabel() == "sentences trained on"


def splits(name):
    identity = make_run().record.signature.splits["dev"]
    return {
        split: type(identity)(f"{name}{split}", name, 150, 3201)
        for split in ("train", "dev", "test")
    }


@pytest.mark.parametrize("width", [COLUMN_WIDTH, FULL_WIDTH])
@pytest.mark.parametrize(
    "shares", [(0.1, 0.25, 0.5, 1.0), (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)]
)
def test_it_is_readable(width, shares):
    runs = [
        run
        for share in shares
        for layers in ("concat:1,2,3,4,5,6,7,8,9,10,11,12", "last", "weighted_all", None)
        for run in learned(f"{share}{layers}", [share, share / 2], share, layers=layers)
    ]
    figure = learning_curve(curve_of(runs), width=width)
    check_readable(figure)
    labels = [t.get_text() for t in figure.axes[0].get_xticklabels()]
    # The ends are told always.
    assert labels[0].endswith(f"\n{100 * shares[0]:g}%")
    assert labels[-1].endswith("\n100%")
    colors = [line.get_color() for line in figure.axes[0].lines]
    assert len(set(colors)) == 4
    assert colors[-1] == style.APPROACHES["finetune"][0]


def test_one_seed_has_neither_band_nor_dots():
    figure = learning_curve(curve_of([*learned("a", [0.3], 0.1), *learned("b", [0.6], 1.0)]))
    assert len(figure.axes[0].collections[1].get_offsets()) == 0
    assert any("one seed" in text.get_text() for text in figure.texts)


def test_without_points_it_is_refused():
    runs = [make_run(str(s), settings={"train_share": s}, test=None) for s in (0.1, 1.0)]
    with pytest.raises(InputError, match="a row scored on test expected to draw"):
        learning_curve(curve_of(runs), split="test")

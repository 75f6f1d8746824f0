import functools
import math

import pytest
from matplotlib.collections import PathCollection

from featbert.analysis.training_curves import RowCurves, SeedCurve, TrainingCurves
from featbert.errors import InputError
from featbert.report.figures.style import COLUMN_WIDTH, FULL_WIDTH
from featbert.report.figures.training import training_curve
from tests.report.reading_figures import check_colors, check_readable, texts

HOSTILE = "$x^2$ \x1b[31m \u202e" + "long_name_" * 12


@functools.cache
def curves(rows, name="", epochs=4, seeds=2, scored=True):
    def seed(n):
        return SeedCurve(
            run=f"run{n}",
            seed=n,
            epochs=tuple(range(1, epochs + 1)),
            loss=tuple(1 / (epoch + n) for epoch in range(1, epochs + 1)),
            dev_f1=tuple(
                0.3 + 0.3 * (epoch / epochs) + 0.01 * n if scored else None
                for epoch in range(1, epochs + 1)
            ),
            best_epoch=epochs,
        )

    found = [
        RowCurves(
            f"{name}{i}", "finetune" if i % 4 == 3 else "features", tuple(map(seed, range(seeds)))
        )
        for i in range(rows)
    ]
    return TrainingCurves(f"corpus · {name}", tuple(found))


def test_lines_are_histories_and_marks_best_epochs():
    shown = curves(2)
    figure = training_curve(shown, width=FULL_WIDTH)
    f1, loss = figure.axes[:2]
    for line, seed in zip(f1.lines, shown.rows[0].seeds, strict=True):
        assert list(line.get_xdata()) == [1, 2, 3, 4]
        assert list(line.get_ydata()) == pytest.approx([100 * value for value in seed.dev_f1])
    for line, seed in zip(loss.lines, shown.rows[0].seeds, strict=True):
        assert list(line.get_ydata()) == pytest.approx(seed.loss)
    marks = [c for c in f1.collections if isinstance(c, PathCollection)]
    assert [tuple(map(float, mark.get_offsets()[0])) for mark in marks] == [
        pytest.approx((4, 60)),
        pytest.approx((4, 61)),
    ]
    assert loss.get_yscale() == "log"
    assert [t.get_text() for t in loss.get_xticklabels()] == ["1", "2", "3", "4"]
    assert f1.get_title(loc="left") == "0"


def test_panels_share_their_scales():
    one = SeedCurve("a", 1, (1, 2), (5.0, 4.0), (0.1, 0.2), 2)
    other = SeedCurve("b", 1, (1, 2), (0.05, 0.04), (0.8, 0.9), 2)
    both = TrainingCurves(
        "", (RowCurves("a", "features", (one,)), RowCurves("b", "finetune", (other,)))
    )
    axes = training_curve(both, width=FULL_WIDTH).axes
    for first, second in ((axes[0], axes[2]), (axes[1], axes[3])):
        assert first.get_ylim() == second.get_ylim()
    low, high = axes[0].get_ylim()
    assert low < 10 < 90 < high
    low, high = axes[1].get_ylim()
    assert low < 0.04 < 5 < high


def test_what_is_no_number_leaves_a_gap():
    odd = SeedCurve("a", 1, (1, 2, 3), (1.0, math.inf, math.nan), (0.1, None, 0.3), 2)
    zero = SeedCurve("b", 2, (1, 2, 3), (0.0, -1.0, 0.5), (0.1, 0.2, 0.3), 9)
    figure = training_curve(TrainingCurves("", (RowCurves("a", "features", (odd, zero)),)))
    f1, loss = figure.axes
    assert [math.isnan(y) for y in f1.lines[0].get_ydata()] == [False, True, False]
    assert [math.isnan(y) for y in loss.lines[0].get_ydata()] == [False, True, True]
    assert [math.isnan(y) for y in loss.lines[1].get_ydata()] == [True, True, False]
    check_readable(figure)


def test_without_dev_scores_it_says_so():
    figure = training_curve(curves(1, scored=False))
    assert "no dev score" in {text for text, _ in texts(figure)}
    check_readable(figure)
    with pytest.raises(InputError, match="training history expected"):
        training_curve(TrainingCurves("", (RowCurves("a", "features", ()),)))


@pytest.mark.parametrize(
    ("rows", "width", "name", "epochs"),
    [
        (1, COLUMN_WIDTH, "", 1),
        (3, COLUMN_WIDTH, "layer:", 150),
        (8, FULL_WIDTH, "fine-tuning (rate=0.0001)", 15),
        (12, COLUMN_WIDTH, "layer:", 2),
        (2, COLUMN_WIDTH, HOSTILE, 3),
    ],
)
def test_training_curves_are_readable(rows, width, name, epochs):
    figure = training_curve(curves(rows, name, epochs), width=width)
    check_readable(figure)
    assert figure.get_size_inches()[0] == pytest.approx(width)
    assert len(figure.axes) == 2 * rows
    if rows == 3:
        check_colors(figure)

import dataclasses
import functools
import itertools
import math
import random

import pytest

from featbert.analysis.compare import compare, compare_runs
from featbert.analysis.pareto import pareto_points
from featbert.errors import InputError
from featbert.report.figures import style, ticks
from featbert.report.figures.pareto import pareto_plot
from featbert.report.figures.placing import box_around, nearest_on, place_labels
from featbert.report.figures.style import COLUMN_WIDTH, FULL_WIDTH
from tests.analysis.records import make_run, make_seeds, make_signature, usual_runs
from tests.report.reading_figures import check_colors, check_readable, texts

HOSTILE = "$x^2$ \x1b[31m \u202e" + "long_name_" * 12


@functools.cache
def cloud(rows, name="", close=False):
    """Rows of any cost and quality, or all of them nearly at one place."""
    draw = random.Random(rows)
    runs = []
    for i in range(rows):
        f1 = 0.6 + (1e-4 * i if close else draw.uniform(-0.2, 0.2))
        seconds = 60.0 if close else 10 ** draw.uniform(0, 4)
        layers = f"{name}{i}" if i % 3 else None
        cost = {"training_seconds": seconds, "training_flops": 1e9 * seconds}
        runs += make_seeds(f"r{i}", [f1, f1 + 0.01], layers=layers, settings={"i": i}, cost=cost)
    (comparison,) = compare(runs)
    return comparison


def marks(axes):
    found = [line for line in axes.lines if line.get_marker() not in ("None", "")]
    return [(float(m.get_xdata()[0]), float(m.get_ydata()[0]), m) for m in found]


def test_points_stand_at_cost_and_mean():
    (comparison,) = compare(usual_runs())
    figure = pareto_plot(*pareto_points(comparison, split="dev"))
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    found = {(round(x, 6), round(y, 6)): mark for x, y, mark in marks(axes)}
    assert set(found) == {(53.5, 45), (53.5, 61.5), (53.5, 63.5), (95.5, 66.166667)}
    # The front is darker than what it dominates.
    alphas = {place: mark.get_alpha() for place, mark in found.items()}
    assert alphas[53.5, 63.5] == alphas[95.5, 66.166667] == 1
    assert alphas[53.5, 45] == alphas[53.5, 61.5] < 0.5
    shown = {text for text, _ in texts(figure)}
    assert {"embeddings", "last", "concat_last4", "fine-tuning"} <= shown
    assert "time of one run, extraction included" in shown
    assert axes.get_ylabel() == "dev entity F1 (%)"


def test_the_front_is_a_staircase_to_the_edge():
    (comparison,) = compare(usual_runs())
    (axes,) = pareto_plot(*pareto_points(comparison, split="dev")).axes
    (step,) = [line for line in axes.lines if line.get_drawstyle() == "steps-post"]
    xs, ys = list(step.get_xdata()), list(step.get_ydata())
    assert xs[:2] == pytest.approx([53.5, 95.5])
    assert xs[2] == axes.get_xlim()[1]
    assert ys == pytest.approx([63.5, 66.166667, 66.166667])


def test_the_currency_is_told():
    (comparison,) = compare(usual_runs())
    figure = pareto_plot(*pareto_points(comparison, currency="flops", runs=10))
    shown = [text.replace("\n", " ") for text, _ in texts(figure)]
    assert any("operations are estimated from shapes" in text for text in shown)
    assert "training operations of a run where 10 share one extraction" in shown
    assert any(text.endswith("FLOP") for text in shown)
    alone = compare(make_seeds("t", [0.6, 0.7], layers=None))[0]
    shown = {text for text, _ in texts(pareto_plot(*pareto_points(alone)))}
    assert "training time of one run" in shown
    assert any(text.endswith((" s", " min")) for text in shown)


def test_a_front_for_each_text():
    usual = make_signature().splits
    runs = []
    for corpus in ("a", "b", "c"):
        splits = {n: dataclasses.replace(one, text=corpus * 64) for n, one in usual.items()}
        signature = {"corpus": f"corpus {corpus}", "splits": splits}
        runs += [make_run(f"{corpus}{n}", layers=n, signature=signature) for n in (None, "last")]
    comparison = compare_runs(runs, vary=["corpus"])
    figure = pareto_plot(*pareto_points(comparison), width=FULL_WIDTH)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["corpus a", "corpus b", "corpus c"]
    check_readable(figure)
    check_readable(pareto_plot(*pareto_points(comparison), width=COLUMN_WIDTH))


def test_without_points_there_is_nothing_to_draw():
    (comparison,) = compare([make_run("a", cost={"extraction_seconds": None})])
    with pytest.raises(InputError, match="score and a known cost expected"):
        pareto_plot(*pareto_points(comparison))
    both = compare([make_run("a", cost={"extraction_seconds": None}), make_run("b", layers=None)])
    shown = " ".join(text for text, _ in texts(pareto_plot(*pareto_points(both[0]))))
    assert "cost unknown: concat_last4" in shown.replace("\n", " ")


@pytest.mark.parametrize(
    ("rows", "width", "name", "close"),
    [
        (1, COLUMN_WIDTH, "", False),
        (2, COLUMN_WIDTH, "l", True),
        (8, FULL_WIDTH, "layer:", False),
        (40, COLUMN_WIDTH, "layer:", False),
        (40, COLUMN_WIDTH, "layer:", True),
        (9, FULL_WIDTH, HOSTILE, False),
    ],
)
def test_pareto_figures_are_readable(rows, width, name, close):
    figure = pareto_plot(*pareto_points(cloud(rows, name, close)), width=width)
    check_readable(figure)
    assert figure.get_size_inches()[0] == pytest.approx(width)
    if rows == 8:
        check_colors(figure)
    # Each row has a mark and a name, beside its mark or beneath by number.
    assert len(marks(figure.axes[0])) == rows
    shown = [text.replace("\n", "") for text, _ in texts(figure)]
    if rows > 8:
        assert {str(n) for n in range(1, rows + 1)} <= set(shown)


# Ticks.


def test_times_are_round_in_their_unit():
    labels = [label for _, label, _ in ticks.times(1, 90_000)]
    assert labels[:6] == ["1 s", "2 s", "5 s", "10 s", "20 s", "30 s"]
    assert {"1 min", "30 min", "1 h", "10 h", "1 d"} <= set(labels)
    assert [(place, label) for place, label, _ in ticks.times(0.1, 0.6)] == [
        (0.1, "0.1 s"),
        (0.2, "0.2 s"),
        (0.5, "0.5 s"),
    ]
    assert [label for _, label, _ in ticks.times(86_400, 10 * 86_400)] == [
        "1 d",
        "2 d",
        "5 d",
        "10 d",
    ]


def test_operations_have_units_by_thousands():
    found = {label: place for place, label, _ in ticks.operations(9e8, 6e15)}
    assert found["1 GFLOP"] == 1e9
    assert found["500 GFLOP"] == 5e11
    assert found["1 TFLOP"] == 1e12
    assert found["5 PFLOP"] == 5e15


@pytest.mark.parametrize("make", [ticks.times, ticks.operations, ticks.plain])
@pytest.mark.parametrize("numbers", [[3.0], [61.0, 62.0], [1e-4], [7e13, 9e13], [1.0, 1e9]])
def test_limits_hold_two_ticks_and_labels_keep_apart(make, numbers):
    limits = ticks.around(numbers, make)
    assert limits[0] < min(numbers) <= max(numbers) < limits[1]
    assert len(make(*limits)) >= 2
    shown = ticks.fitting(make(*limits), limits, 2.5)
    assert shown
    places = [2.5 * math.log(t[0] / limits[0]) / math.log(limits[1] / limits[0]) for t in shown]
    halves = [style.text_width(t[1], style.SMALL) / 2 for t in shown]
    for (a, one), (b, other) in itertools.pairwise(zip(places, halves, strict=True)):
        assert a + one < b - other


# Places of labels.


def test_labels_touch_nothing():
    draw = random.Random(1)
    points = [(draw.uniform(0, 3), draw.uniform(0, 2)) for _ in range(60)]
    taken = [box_around(point, 0.04) for point in points]
    boxes = place_labels(points, [(0.2, 0.12)] * 60, room=(3, 2), taken=taken, near=0.06, reach=4.0)
    assert None not in boxes
    for one, other in itertools.combinations([*boxes, *taken], 2):
        if one in boxes or other in boxes:
            across = min(one[2], other[2]) - max(one[0], other[0])
            up = min(one[3], other[3]) - max(one[1], other[1])
            assert min(across, up) <= 1e-9
    assert all(min(b[:2]) >= 0 and b[2] <= 3 and b[3] <= 2 for b in boxes)


def test_labels_stay_near_or_have_no_place():
    assert place_labels([(1, 1)], [(0.5, 0.1)], room=(2, 2), taken=[], near=0.1, reach=0.2) == [
        pytest.approx((1.1, 0.95, 1.6, 1.05))
    ]
    # At the right edge it stands to the left.
    (box,) = place_labels([(2, 1)], [(0.5, 0.1)], room=(2, 2), taken=[], near=0.1, reach=0.2)
    assert box[2] < 2
    whole = [(0.0, 0.0, 2.0, 2.0)]
    assert place_labels([(1, 1)], [(0.5, 0.1)], room=(2, 2), taken=whole, near=0.1, reach=9.0) == [
        None
    ]
    assert nearest_on((1.0, 1.0, 2.0, 2.0), (0.0, 1.5)) == (1.0, 1.5)

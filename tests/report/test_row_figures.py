"""Figures with a line a row: every seed, and published figures beside reproduced ones."""

import dataclasses
import functools

import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex

from featbert.analysis.compare import compare
from featbert.analysis.reproduction import reproduce
from featbert.analysis.seeds import t_interval
from featbert.errors import InputError
from featbert.report.figures import style
from featbert.report.figures.published import published_dots
from featbert.report.figures.seeds import seed_dots
from featbert.report.figures.style import COLUMN_WIDTH, FULL_WIDTH
from featbert.runs.published import PublishedRow, PublishedTable
from tests.analysis.records import make_run, make_seeds, usual_runs
from tests.report.reading_figures import check_colors, check_readable, texts

MODEL = "bert-base-cased"
HOSTILE = "$x^2$ \x1b[31m \u202e" + "long_name_" * 12
DEV = {
    "embeddings": [0.45, 0.46, 0.44],
    "last": [0.62, 0.61, 0.615],
    "concat_last4": [0.63, 0.64, 0.635],
    "fine-tuning": [0.66, 0.655, 0.67],
}


def dots(axes):
    """Places of dots, from the first row on."""
    found = [c for c in axes.collections if isinstance(c, PathCollection)]
    return [[float(x) for x, _ in one.get_offsets()] for one in found]


def lines(axes, *, upright):
    """Ends of the lines that are upright, or level: (place, from, to)."""
    found = []
    for one in axes.collections:
        if isinstance(one, LineCollection):
            for (x, y), (to_x, to_y) in one.get_segments():
                if upright == (x == to_x):
                    found.append((x, y, to_y) if upright else (y, x, to_x))
    return found


def told(figure):
    """All of its text, on one line."""
    return " ".join(text.replace("\n", " ") for text, _ in texts(figure))


@functools.cache
def many(rows, name="", seeds=3):
    runs = []
    for i in range(rows):
        dev = [0.5 + 0.01 * i + 0.002 * seed for seed in range(seeds)]
        layers = None if i == rows - 1 and rows > 1 else f"{name}{i}"
        runs += make_seeds(f"r{i}", dev, layers=layers)
    (comparison,) = compare(runs)
    return comparison


# Every seed.


def test_each_seed_is_a_dot_and_each_mean_a_tick():
    (comparison,) = compare(usual_runs())
    (axes,) = seed_dots(comparison).axes
    assert dots(axes) == [pytest.approx([100 * f1 for f1 in f1s]) for f1s in DEV.values()]
    ticks = [place for place, upper, lower in lines(axes, upright=True) if lower - upper < 0.16]
    assert ticks == pytest.approx([100 * sum(f1s) / 3 for f1s in DEV.values()])
    assert axes.get_xlabel() == "dev entity F1 (%)"


def test_three_seeds_have_t_intervals_and_two_deviations():
    (comparison,) = compare(usual_runs())
    figure = seed_dots(comparison)
    bars = lines(figure.axes[0], upright=False)
    for (_, low, high), f1s in zip(bars, DEV.values(), strict=True):
        expected = t_interval(f1s)
        assert (low, high) == pytest.approx((100 * expected.low, 100 * expected.high))
    assert "bar: 95% t interval of the mean over seeds" in told(figure)
    (comparison,) = compare([r for r in usual_runs() if r.name != "tuned-3"])
    figure = seed_dots(comparison)
    bars = lines(figure.axes[0], upright=False)
    assert bars[-1][1:] == pytest.approx((65.75 - 0.25 * 2**0.5, 65.75 + 0.25 * 2**0.5))
    # One kind of bar in a figure: rows of three seeds have it too.
    assert bars[0][1:] == pytest.approx((44, 46))
    assert "bar: mean ± 1 sd" in told(figure)


def test_one_seed_has_a_dot_alone():
    (comparison,) = compare([make_run("a"), make_run("b", layers=None)])
    figure = seed_dots(comparison)
    assert dots(figure.axes[0]) == [pytest.approx([60])] * 2
    assert lines(figure.axes[0], upright=False) == []
    assert "one seed" in told(figure)


def test_the_baseline_is_a_line_through_the_rows_it_is_of():
    (comparison,) = compare(usual_runs())
    figure = seed_dots(comparison)
    base = [line for line in lines(figure.axes[0], upright=True) if line[2] - line[1] > 0.16]
    assert [place for place, _, _ in base] == pytest.approx([100 * sum(DEV["fine-tuning"]) / 3] * 4)
    ends = [end for _, *ends in base for end in ends]
    assert ends[1:-1:2] == pytest.approx(ends[2::2])
    assert "baseline" in {text for text, _ in texts(figure)}
    (comparison,) = compare(make_seeds("a", [0.5, 0.6]))
    assert "baseline" not in {text for text, _ in texts(seed_dots(comparison))}


def test_approaches_have_colours_and_shapes_of_their_own():
    (comparison,) = compare(usual_runs())
    marks = [c for c in seed_dots(comparison).axes[0].collections if isinstance(c, PathCollection)]
    colors = [to_hex(mark.get_facecolor()[0]).upper() for mark in marks]
    assert colors == [style.COLORS[0]] * 3 + [style.COLORS[1]]
    shapes = [len(mark.get_paths()[0].vertices) for mark in marks]
    assert shapes[0] == shapes[1] != shapes[3]


def test_rows_without_a_score_say_why():
    runs = [
        make_run("a", layers=None),
        make_run("b", layers=None, dev=None, trained_on=["train", "dev"], settings={"dev": 1}),
    ]
    (comparison,) = compare(runs)
    figure = seed_dots(comparison)
    assert "trained on dev" in {text for text, _ in texts(figure)}
    assert len(dots(figure.axes[0])) == 1
    check_readable(figure)
    with pytest.raises(InputError, match="row scored on none expected"):
        seed_dots(comparison, split="none")


def test_dots_of_like_seeds_lie_apart():
    (comparison,) = compare(make_seeds("a", [0.5, 0.5, 0.5, 0.9]))
    (marks,) = [
        c for c in seed_dots(comparison).axes[0].collections if isinstance(c, PathCollection)
    ]
    heights = [float(y) for _, y in marks.get_offsets()]
    assert len(set(heights[:3])) == 3
    assert heights[3] == heights[0]


@pytest.mark.parametrize(
    ("rows", "width", "name"),
    [(1, COLUMN_WIDTH, ""), (40, COLUMN_WIDTH, ""), (3, FULL_WIDTH, HOSTILE)],
)
def test_seed_dots_are_readable(rows, width, name):
    figure = seed_dots(many(rows, name), width=width)
    check_readable(figure)
    assert figure.get_size_inches()[0] == pytest.approx(width)
    if name:
        check_colors(figure)
        shown = "".join(text for text, _ in texts(figure)).replace("\n", "")
        assert r"\x1b" in shown
        assert "$x^2$" in shown


@pytest.mark.parametrize("f1", [0.0, 1.0])
def test_the_ends_of_the_scale_show(f1):
    (comparison,) = compare(make_seeds("a", [f1, f1, 0.5]))
    (axes,) = seed_dots(comparison).axes
    low, high = axes.get_xlim()
    assert low < 100 * f1 < high
    check_readable(axes.get_figure())
    # No interval goes beyond what F1 can be.
    assert all(0 <= a <= b <= 100 for _, a, b in lines(axes, upright=False))


# Published beside reproduced.


def reproduction(title="Table", rows=4, label="last", sd=0.3, source="Somebody 2019"):
    published = [PublishedRow(approach="finetune", test=92.4, sd=sd, model=MODEL)]
    names = [label, *(f"layer:{i}" for i in range(rows - 2))]
    published += [
        PublishedRow(approach="features", layers=name, dev=95.0, test=90.0 + i, model=MODEL)
        for i, name in enumerate(names)
    ]
    table = PublishedTable(
        id="t",
        title=title,
        corpus="CoNLL-2003 English",
        verified="memory",
        rows=tuple(published),
        source=source,
    )
    runs = [
        *make_seeds("tuned", [0.60, 0.64], layers=None),
        *make_seeds("last", [0.52, 0.56], layers=label),
    ]
    (comparison,) = compare(runs)
    return reproduce(comparison, table)


def test_published_and_reproduced_stand_in_one_row():
    figure = published_dots(reproduction(rows=3))
    (axes,) = figure.axes
    # Published, reproduced; fine-tuning first, as in the table. The last has no row of ours.
    found = [place for (place,) in dots(axes)]
    assert found == pytest.approx([92.4, 57, 90, 49, 91])
    bars = [ends for _, *ends in lines(axes, upright=False)]
    spread = 100 * 0.02 * 2**0.5
    assert bars[0] == pytest.approx([92.4 - 0.3, 92.4 + 0.3])
    assert bars[1] == pytest.approx([57 - spread, 57 + spread])
    assert len(bars) == 3
    heights = [
        float(c.get_offsets()[0][1]) for c in axes.collections if isinstance(c, PathCollection)
    ]
    assert 0 < heights[1] - heights[0] < 0.15
    assert heights == sorted(heights)


def test_it_says_that_models_and_corpora_differ():
    figure = published_dots(reproduction())
    shown = told(figure)
    assert "model: published bert-base-cased, here all-MiniLM-L6-v2" in shown
    assert "corpus: published CoNLL-2003 English, here wikigold" in shown
    assert "figures from: memory" in shown
    assert "Somebody 2019" in shown
    assert {"published", "features, reproduced", "fine-tuning, reproduced"} <= {
        text for text, _ in texts(figure)
    }


def test_rows_without_a_figure_are_left_out():
    found = reproduction()
    dev = published_dots(found, split="dev")
    assert [place for (place,) in dots(dev.axes[0])][:1] == pytest.approx([62])
    bare = dataclasses.replace(found, rows=())
    with pytest.raises(InputError, match="figure on test expected to draw, t has none"):
        published_dots(bare)


@pytest.mark.parametrize(
    ("width", "rows", "text"),
    [(COLUMN_WIDTH, 2, ""), (COLUMN_WIDTH, 3, HOSTILE), (FULL_WIDTH, 40, "")],
)
def test_published_dots_are_readable(width, rows, text):
    found = reproduction(title=text or "Table", rows=rows, source=text or None)
    figure = published_dots(found, width=width)
    check_readable(figure)
    if rows == 2:
        check_colors(figure)
    assert figure.get_size_inches()[0] == pytest.approx(width)

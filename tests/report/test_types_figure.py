import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from featbert.analysis.breakdowns import Breakdown
from featbert.analysis.rows import Statistic
from featbert.errors import InputError
from featbert.report.figures.style import COLUMN_WIDTH, FULL_WIDTH
from featbert.report.figures.types import type_heatmap
from tests.report.reading_figures import check_colors, check_readable, texts

HOSTILE = "$x^2$ \x1b[31m \u202e" + "long_name_" * 8


def breakdown(rows=3, buckets=("LOC", "MISC", "PER"), seeds=2, name="row", gold=1234):
    def f1(i, j):
        mean = ((7 * i + 13 * j) % 50 + 30) / 100
        return Statistic.of([mean + 0.01 * seed for seed in range(seeds)])

    return Breakdown(
        facet="type",
        meaning="entity type",
        split="test",
        gold={bucket: gold + j for j, bucket in enumerate(buckets)},
        rows={
            f"{name} {i}": {bucket: f1(i, j) for j, bucket in enumerate(buckets)}
            for i in range(rows)
        },
    )


def cells(axes):
    """Texts of the cells, row by row."""
    found = {}
    for text in axes.texts:
        x, y = text.get_position()
        found.setdefault(round(y, 6), {})[x] = text
    return [[row[x] for x in sorted(row)] for _, row in sorted(found.items())]


def blocks(figure):
    return [axes for axes in figure.axes if axes.texts]


def test_cells_hold_means_and_heads_count_gold():
    found = breakdown()
    figure = type_heatmap(found, about="wikigold · encoder")
    (axes,) = blocks(figure)
    assert [[t.get_text() for t in row] for row in cells(axes)] == [
        [f"{100 * f1.mean:.1f}" for f1 in row.values()] for row in found.rows.values()
    ]
    shown = {text for text, _ in texts(figure)}
    # The count alone where cells are narrow, and the legend says what it is.
    assert {"LOC\nn = 1,234", "MISC\nn = 1,235"} <= shown or {"LOC\n1,234"} <= shown
    assert {"row 0", "row 1", "row 2", "Test F1 by entity type"} <= shown
    assert any("wikigold · encoder · mean over seeds" in text for text in shown)


def test_the_best_of_a_column_is_bold_unless_all_are():
    found = breakdown(rows=2, buckets=("A", "B"))
    same = Statistic.of([0.0, 0.0])
    rows = {name: {**row, "B": same} for name, row in found.rows.items()}
    (axes,) = blocks(type_heatmap(Breakdown("type", "x", "dev", found.gold, rows)))
    bold = [[text.get_weight() == "bold" for text in row] for row in cells(axes)]
    assert bold == [[False, False], [True, False]]


def test_what_does_not_fit_beside_is_continued_beneath():
    buckets = tuple(f"TYPE{i}" for i in range(18))
    figure = type_heatmap(breakdown(buckets=buckets), width=COLUMN_WIDTH)
    parts = blocks(figure)
    assert len(parts) > 1
    assert sum(len(cells(axes)[0]) for axes in parts) == 18
    widths = {round(axes.get_position().width / len(cells(axes)[0]), 6) for axes in parts}
    assert len(widths) == 1
    heads = "".join(text for text, _ in texts(figure))
    assert all(bucket in heads for bucket in buckets)
    assert len(blocks(type_heatmap(breakdown(buckets=buckets[:4]), width=FULL_WIDTH))) == 1


def test_colours_follow_one_scale():
    found = breakdown(rows=6, buckets=tuple("ABCDEFGHIJ"))
    by_number = {}
    for axes in blocks(type_heatmap(found, width=COLUMN_WIDTH)):
        fills = [p for p in axes.patches if isinstance(p, Rectangle)]
        for patch, (j, i) in ((p, (round(p.get_x()), round(p.get_y(), 6))) for p in fills):
            rows = sorted({round(p.get_y(), 6) for p in fills})
            text = cells(axes)[rows.index(i)][j].get_text()
            by_number.setdefault(text, set()).add(to_hex(patch.get_facecolor()))
    assert all(len(colors) == 1 for colors in by_number.values())
    ordered = [colors.pop() for _, colors in sorted(by_number.items())]
    greens = [int(color[3:5], 16) for color in ordered]
    assert greens == sorted(greens, reverse=True)


def test_colours_are_those_of_the_style():
    check_colors(type_heatmap(breakdown(rows=6, buckets=tuple("ABCD"))))


def test_nothing_to_draw():
    with pytest.raises(InputError, match="scores by entity type on test expected"):
        type_heatmap(Breakdown("type", "entity type", "test", {}, {}))


@pytest.mark.parametrize("width", [COLUMN_WIDTH, FULL_WIDTH])
@pytest.mark.parametrize(
    ("rows", "buckets", "name", "gold"),
    [
        (1, ("A",), "x", 1),
        (20, ("1 to 10", "11 to 20", "41 and more"), "concat_last4", 99),
        (2, tuple(f"{HOSTILE}{i}" for i in range(7)), HOSTILE, 12_345_678),
    ],
)
def test_breakdowns_are_readable(width, rows, buckets, name, gold):
    figure = type_heatmap(breakdown(rows, buckets, name=name, gold=gold), about=name, width=width)
    check_readable(figure)
    assert figure.get_size_inches()[0] <= width + 1e-9

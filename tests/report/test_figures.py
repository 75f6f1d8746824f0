"""Figures: they hold the numbers of their rows, and their texts can be read."""

import dataclasses
import functools
import itertools
import re
import sys
import types
import warnings
from collections import Counter

import matplotlib
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.text import Text
from PIL import Image

from featbert.analysis import breakdown
from featbert.analysis.breakdown import confused, with_confusions
from featbert.analysis.comparison import Breakdown, BudgetCurve, Comparisons, Confusion, Statistic
from featbert.analysis.document import read_comparisons, to_json
from featbert.analysis.interval import seeds_estimate
from featbert.analysis.rows import compare_group
from featbert.analysis.transfer import transfer_matrices
from featbert.encoders.tunings import TUNINGS
from featbert.errors import OPTIONS, InputError
from featbert.experiments.file import read_experiment
from featbert.progress import set_within
from featbert.registry import Entry
from featbert.report.figures import style
from featbert.report.figures.confusion import confusion
from featbert.report.figures.registry import FIGURES, comparison_figures, crossing_figures, plot
from featbert.report.figures.style import COLUMN_WIDTH, FULL_WIDTH, save_figure, svg_text
from featbert.report.figures.values import line_looks, tuning_look
from featbert.runs.record import RECORD_NAME, Mix, write_json
from featbert.runs.run import Run, find_runs
from featbert.tasks.base import get_task
from featbert.tasks.forecasts import Forecasts, ProbabilityScores
from tests.analysis.evaluation_records import evaluate, transfer_runs
from tests.analysis.records import (
    compare,
    compare_runs,
    make_epoch,
    make_run,
    make_seeds,
    usual_runs,
)
from tests.processes import ROOT
from tests.report.test_tables import on_corpus, with_floor
from tests.workspace import command, ok

DEV = {
    "embeddings": [0.45, 0.46, 0.44],
    "last": [0.62, 0.61, 0.615],
    "concat_last4": [0.63, 0.64, 0.635],
    "fine-tuning": [0.66, 0.655, 0.67],
}
HOSTILE = "$x^2$ \x1b[31m \u202e" + "long_name_" * 12


def single_layers(layers=range(7)):
    """A BiLSTM (0.7 + layer) and a probe (0.5 + layer) for each layer, in percent."""
    runs = []
    for layer, (name, lstm) in itertools.product(layers, (("b", 2), ("p", 0))):
        dev = [0.5 + 0.1 * lstm + 0.01 * layer + 0.002 * seed for seed in range(2)]
        own = {"layers": f"layer:{layer}", "settings": {"lstm_layers": lstm}}
        runs += make_seeds(f"{name}{layer}", dev, layer_indices=[layer], **own)
    return runs


def frozen(steps=(None, 0, 2, 4, 6)):
    tuned = [(n, {"layers": None, "settings": {"freeze_to": k}}) for n, k in enumerate(steps)]
    runs = [make_seeds(f"k{n}", [0.9 - 0.02 * n, 0.91 - 0.02 * n], **own) for n, own in tuned]
    levels = {"last": 0.80, "concat_last4": 0.801, "weighted_all": 0.85}
    runs += [make_seeds(name, [f1], layers=name) for name, f1 in levels.items()]
    return [*itertools.chain(*runs)]


def shares():
    return [
        make_run(
            f"{layers}-{share}",
            layers=layers,
            dev=0.4 + share / (5 if layers else 3),
            settings={"epochs": 4, "train_share": share},
            train_sentences=round(600 * share),
        )
        for layers, share in itertools.product(("last", None), (0.1, 0.3, 1.0))
    ]


def broken_down(comparison, *, buckets=("PER", "LOC", "ORG"), facet="type"):
    """A heat map's numbers: row i, bucket j is 10 (i + j) percent."""
    rows = {
        row.name: {b: Statistic.of([0.1 * (i + j)]) for j, b in enumerate(buckets)}
        for i, row in enumerate(comparison.rows)
    }
    gold = {bucket: 1000 + n for n, bucket in enumerate(buckets)}
    found = Breakdown(facet, "entity type", "dev", gold, rows)
    return dataclasses.replace(comparison, breakdowns=(*comparison.breakdowns, found))


def searched(comparison):
    """Curves of two rows, one of which costs a tenth of the other."""
    numbers = range(1, 25)
    scores = [0.6 - 0.3 / k for k in numbers]
    curves = []
    for name, cost, test in (("last", 1.1e13, scores), ("fine-tuning", 1.2e14, None)):
        costs = [tuple(cost * k for k in numbers)] * 2
        curves.append(BudgetCurve(name, (*numbers,), *costs, scores, scores, scores, test, 0))
    return dataclasses.replace(comparison, budgets=tuple(curves))


def trained():
    epochs = ((1, 0.8, 0.3), (2, 0.2, None), (3, float("nan"), 0.6))
    changes = {"history": [make_epoch(*epoch) for epoch in epochs], "best_epoch": 3}
    runs = usual_runs()
    return [Run(run.folder, dataclasses.replace(run.record, **changes)) for run in runs]


# What each kind has something to show in.
SHOWN = dict.fromkeys(("seeds", "pareto", "budget", "mix", "types"), usual_runs) | {
    "learning": shares,
    "layers": single_layers,
    "freezing": frozen,
    "training": trained,
}


@pytest.fixture(scope="module")
def usual():
    return compare_runs(usual_runs())


@functools.cache
def shown(kind):
    return broken_down(searched(compare_runs(SHOWN[kind]())))


@functools.cache
def drawn(kind):
    return plot(shown(kind), kind)


def texts(figure):
    """All text that shows, with its box in pixels."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    beyond = set()  # ticks outside of what an axis shows have labels that are not drawn
    for axis in [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]:
        low, high = sorted(axis.get_view_interval())
        ticks = [tick for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high]
        beyond |= {label for tick in ticks for label in (tick.label1, tick.label2)}
        if not axis.axes.axison:
            beyond |= set(axis.axes.findobj(Text))
    found = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    # The extent of an annotation has its line to a mark, which may pass by other texts.
    return [(t.get_text(), Text.get_window_extent(t, renderer)) for t in found if t not in beyond]


def check_readable(figure):
    """No text is cut off by the figure's edge, and no two texts overlap."""
    boxes = texts(figure)
    page = figure.bbox
    assert boxes
    for text, box in boxes:
        assert page.padded(1).contains(*box.min), text
        assert page.padded(1).contains(*box.max), text
    for (text, a), (other, b) in itertools.combinations(boxes, 2):
        across, down = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        # A box has room for descenders that a line may not have.
        assert min(across, down) <= 3, (text, other)


def dots(axes):
    """Places along x of dots, from the first row on."""
    found = [c for c in axes.collections if isinstance(c, PathCollection)]
    return [[float(x) for x, _ in one.get_offsets()] for one in found]


def level_lines(axes):
    """Ends of the lines that are level."""
    lines = (one for one in axes.collections if isinstance(one, LineCollection))
    segments = [segment for one in lines for segment in one.get_segments()]
    return [(x, to_x) for (x, y), (to_x, to_y) in segments if y == to_y]


def cell_texts(axes):
    """Cells of a heat map, row by row."""
    rows: dict[int, dict[int, str]] = {}
    for text in axes.texts:
        x, y = text.xy
        rows.setdefault(int(y), {})[int(x)] = text.get_text()
    return [[rows[i][j] for j in sorted(rows[i])] for i in sorted(rows)]


# The registry.


@pytest.mark.parametrize("kind", SHOWN)
def test_each_kind_is_drawn_with_texts_that_can_be_read(kind):
    """In its own width and in the other one."""
    figure = drawn(kind)
    check_readable(figure)
    title = figure.get_label().lower()
    assert title.startswith("dev entity f1") or kind in ("budget", "mix", "training")
    (width,) = {COLUMN_WIDTH, FULL_WIDTH} - {figure.get_figwidth()}
    figure = plot(shown(kind), kind, width=width)
    check_readable(figure)
    assert figure.get_figwidth() == width


def test_figures_choose_themselves(usual):
    names = {name for _, name, _ in comparison_figures(usual)}
    assert names >= {"seeds-dev", "seeds-test", "pareto-test", "pareto-kept-test", "mix"}
    without = ("learning", "layers", "freezing", "types", "transfer")
    assert not [name for name in names if name.startswith(without)]
    only = [name for _, name, _ in comparison_figures(usual, only=["mix"])]
    assert only == ["mix"]
    rows = ["seeds", "pareto", "layers", "mix"]
    assert not list(comparison_figures(compare_runs([make_run("a", mix=None)]), only=rows))


def test_the_figure_of_the_documentation_is_a_file_and_a_name(usual, monkeypatch):
    page = (ROOT / "docs" / "how-to" / "add-a-figure.md").read_text("utf-8")
    module = types.ModuleType("featbert.report.figures.seconds")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(FIGURES, "seconds", Entry(f"{module.__name__}:seconds"))
    exec(page.partition("```python\n")[2].partition("```")[0], vars(module))
    figure = plot(usual, "seconds")
    check_readable(figure)
    assert [bar.get_width() for bar in figure.axes[0].patches] == [41.0] * 3 + [95.5]
    assert "seconds" in {kind.name for kind, _, _ in comparison_figures(usual)}


def test_what_cannot_be_drawn_is_an_error_with_the_name(usual):
    kinds = ("foo", "layers", "learning", "types", "reliability", "overview", "tasks", "transfer")
    across_a_gap = compare_runs(single_layers([1, 2, 4, 6])), "layers"
    for comparison, kind in (*((usual, kind) for kind in kinds), across_a_gap):
        with pytest.raises(InputError, match=f"'{kind}'"):
            plot(comparison, kind)
    for kind in ("seeds", "types", "tradeoff"):
        with pytest.raises(InputError, match="'train'"):
            plot(usual, kind, split="train")


def test_figures_of_all_comparisons_and_of_one_take_both():
    other = make_seeds("x-tuned", [0.6, 0.61], layers=None, **on_corpus("x"))
    other += make_seeds("x-last", [0.5, 0.52], layers="last", **on_corpus("x"))
    comparisons = compare([*usual_runs(), *other])
    assert len(comparisons) == 2
    figure = plot([*comparisons], "tradeoff", split="test")
    check_readable(figure)
    assert len(figure.axes) == 4
    with pytest.raises(InputError, match=r"'seeds'.*\[0\]"):
        plot(comparisons, "seeds")
    both = [plot(given, "seeds") for given in (comparisons[:1], comparisons[0])]
    assert len({tuple(text for text, _ in texts(figure)) for figure in both}) == 1


@pytest.mark.parametrize("kind", ["learning", "layers", "freezing", "mix", "tasks"])
def test_advice_names_settings_in_python_and_options_in_commands(kind):
    comparison = compare_runs([make_run("a", mix=None), make_run("b", layers=None)])
    for options, dashes in ((None, False), ({}, True)):
        with set_within(OPTIONS, options), pytest.raises(InputError) as error:
            plot(comparison, kind)
        assert ("--" in str(error.value)) is dashes
        assert ("=" in str(error.value)) is not dashes
        assert not re.search(r"(features|finetune)\.", str(error.value))
    with set_within(OPTIONS, {"changes": "--set"}), pytest.raises(InputError) as error:
        plot(comparison, kind)
    keys = re.findall(r"--set '?([\w.]+)=", str(error.value))
    assert keys
    read_experiment("quickstart", [f"{key}=1" for key in keys if "shots" not in key])


# What is drawn.


def test_each_seed_is_a_dot_and_bars_are_intervals_of_one_kind():
    (axes,) = drawn("seeds").axes
    assert dots(axes) == [pytest.approx([100 * f1 for f1 in f1s]) for f1s in DEV.values()]
    for ends, f1s in zip(level_lines(axes), DEV.values(), strict=True):
        interval = seeds_estimate(f1s)
        assert ends == pytest.approx((100 * interval.low, 100 * interval.high))
    (axes,) = plot(compare_runs([r for r in usual_runs() if r.name != "tuned-3"]), "seeds").axes
    assert level_lines(axes)[-1] == pytest.approx((65.75 - 0.25 * 2**0.5, 65.75 + 0.25 * 2**0.5))
    assert level_lines(axes)[0] == pytest.approx((44, 46))  # three seeds, but the same kind of bar


def crowd(layers):
    costs = [{"training_seconds": 40.0 + i % 5} for i in range(25)]
    return [
        make_run(f"r{i}", layers=layers.format(i), dev=0.5 + i % 7 / 1e4, cost=cost)
        for i, cost in enumerate(costs)
    ]


def test_all_rows_of_a_crowd_are_named_and_hide_nothing():
    figure = plot(compare_runs(crowd("name_of_{}")), "pareto-time", split="dev", width=FULL_WIDTH)
    check_readable(figure)
    assert {f"name_of_{i}" for i in range(25)} <= {text for text, _ in texts(figure)}
    # Without room for all, the front and the best row of a side have names.
    comparison = compare_runs(crowd("r{}_of_a_long_name_" + "x" * 20))
    (front,) = (f for f in comparison.fronts if (f.split, f.currency) == ("dev", "time"))
    named = {p.name for p in front.points if p.on_front} | {c.leader for c in comparison.contests}
    figure = plot(comparison, "pareto-time", split="dev", width=FULL_WIDTH)
    check_readable(figure)
    shown = {text.replace("\n", "") for text, _ in texts(figure)}
    assert sum("_of_a_long_name_" in text for text in shown) == len(named) < 25


def test_rows_that_did_not_learn_are_hollow_and_off_the_front():
    runs = [*make_seeds("a", [0.5, 0.6, 0.7]), *make_seeds("b", [0.9, 0.91, 0.92], layers=None)]
    figure = plot(compare_runs(with_floor(runs, 0.8)), "pareto", split="dev")
    (axes,) = figure.axes
    marks = [c for c in axes.collections if isinstance(c, PathCollection)]
    fills = [matplotlib.colors.to_hex(mark.get_facecolor()[0]) for mark in marks]
    assert fills == ["#ffffff", tuning_look("full").color.lower()]
    assert list(axes.lines[0].get_ydata()) == pytest.approx([91, 91])
    check_readable(figure)
    with pytest.raises(InputError, match="learned"):  # all rows
        plot(compare_runs(with_floor(runs, 0.99)), "pareto")


def test_each_tuning_has_a_colour_and_a_marker_of_its_own():
    colors, markers = zip(*map(tuning_look, TUNINGS), strict=True)
    assert len({*colors}) == len({*markers}) == len(TUNINGS)
    assert tuning_look("top:2") == tuning_look("top")
    colors = [line.get_color() for line in drawn("budget").axes[0].lines]
    assert colors == [tuning_look(name).color for name in ("none", "none", "full")]
    looks = line_looks(["none", "full", "none", "none", "full", "none"])
    assert looks[:2] == [tuning_look("none"), tuning_look("full")]
    assert len({color for color, _ in looks}) == len(looks)
    assert not {*looks[2:]} & {*map(tuning_look, TUNINGS)}


def test_lines_hold_means_bands_and_seeds():
    axes = drawn("layers").axes[0]
    probe, lstm = sorted(axes.lines, key=lambda line: line.get_ydata()[0])
    assert list(lstm.get_xdata()) == list(range(7))
    assert list(lstm.get_ydata()) == pytest.approx([70.1 + layer for layer in range(7)])
    assert list(probe.get_ydata()) == pytest.approx([50.1 + layer for layer in range(7)])
    first = axes.lines.index(lstm)
    band, seeds = axes.collections[2 * first : 2 * first + 2]
    edges = sorted({round(float(y), 4) for x, y in band.get_paths()[0].vertices if x == 0})
    assert edges == pytest.approx([70.1 - 0.1 * 2**0.5, 70.1 + 0.1 * 2**0.5], abs=1e-3)
    assert sorted(float(y) for x, y in seeds.get_offsets() if x == 0) == pytest.approx([70, 70.2])


def test_the_front_the_steps_and_the_mix_hold_the_numbers_of_their_rows(usual):
    front = next(f for f in usual.fronts if (f.split, f.currency) == ("dev", "time"))
    best = [100 * usual.row(p.row).mean("dev") for p in front.points if p.on_front]
    (line,) = plot(usual, "pareto-time", split="dev").axes[0].lines
    assert sorted({*line.get_ydata()}) == pytest.approx(sorted({*best}))
    curve, *levels = drawn("freezing").axes[0].lines
    assert list(curve.get_ydata()) == pytest.approx([90.5 - 2 * n for n in range(5)])
    assert [line.get_ydata()[0] for line in levels] == pytest.approx([80, 80.1, 85])
    axes = drawn("learning").axes[0]
    features, tuned = axes.lines
    assert axes.get_xscale() == "log"
    assert list(features.get_xdata()) == list(tuned.get_xdata()) == [60, 180, 600]
    assert list(features.get_ydata()) == pytest.approx([42, 46, 60])
    weights = ([0.2, 0.3, 0.5], [0.4, 0.1, 0.5], [float("nan"), 0.5, 0.5])
    runs = [
        make_run(f"m{n}", seed=n, layers="weighted", mix=Mix([0, 1, 2], own, 1.5))
        for n, own in enumerate(weights)
    ]
    axes = plot(compare_runs(runs), "mix").axes[0]
    assert [bar.get_height() for bar in axes.patches] == pytest.approx([0.3, 0.2, 0.5])


def test_training_has_a_line_a_seed_and_a_mark_at_the_kept_epoch():
    figure = drawn("training")
    scores, losses = figure.axes[0], figure.axes[4]
    assert len(scores.lines) == len(losses.lines) == 3
    assert list(scores.lines[0].get_ydata()) == pytest.approx([30, float("nan"), 60], nan_ok=True)
    assert list(losses.lines[0].get_ydata()) == pytest.approx([0.8, 0.2, float("nan")], nan_ok=True)
    assert [line.get_markevery() for line in scores.lines] == [[2]] * 3
    assert len({axes.get_ylim() for axes in figure.axes[:4]}) == 1


def test_cells_are_percent_and_the_best_of_a_column_is_bold():
    axes = drawn("types").axes[0]
    assert cell_texts(axes) == [[f"{10.0 * (i + j):.1f}" for j in range(3)] for i in range(4)]
    bold = {t.get_text() for t in axes.texts if t.get_weight() == "bold"}
    assert bold == {"30.0", "40.0", "50.0"}
    heads = [t.get_text() for t in axes.get_xticklabels()]
    assert heads == ["PER\n1,000", "LOC\n1,001", "ORG\n1,002"]


@pytest.mark.parametrize("kind", ["seeds", "layers"])
def test_the_score_that_needs_no_skill_is_a_line_with_its_name(kind, monkeypatch):
    monkeypatch.setattr(get_task("entities"), "floor", "chance", raising=False)
    comparison = compare_runs(single_layers())
    floors = {"dev": 0.25, "test": 0.3}
    rows = tuple(dataclasses.replace(row, floors=floors) for row in comparison.rows)
    comparison = dataclasses.replace(comparison, rows=rows)
    figure = plot(comparison, kind)
    (axes,) = figure.axes
    ends = [line.get_data()[kind == "layers"] for line in axes.lines if len(line.get_xdata()) == 2]
    assert [25, 25] in [[*end] for end in ends]
    assert "chance" in {text for text, _ in texts(figure)}
    check_readable(figure)


def test_many_buckets_are_continued_below_and_further_facets_have_names(usual):
    comparison = broken_down(usual, buckets=[f"type_{n:02}" for n in range(30)])
    comparison = broken_down(comparison, facet="length")
    figure = plot(comparison, "types")
    assert len(figure.axes) > 1
    assert sum(len(cell_texts(axes)[0]) for axes in figure.axes) == 30
    check_readable(figure)
    assert len(plot(comparison, "types-length").axes) == 1
    with pytest.raises(InputError, match="types-length"):
        plot(comparison, "types-lengths")


def test_matrices_are_panels_of_cells_on_one_scale(tmp_path):
    f1 = {(a, b): 0.5 + 0.3 * (a == b) for a, b in itertools.product(("de", "en", "nl"), repeat=2)}
    runs = transfer_runs(tmp_path / "a", f1, seeds=(1,))
    tuned_runs = transfer_runs(tmp_path / "b", f1, layers=None)
    evaluate(tuned_runs[3], "zh", 0.25)
    matrices = tuple(transfer_matrices([*runs, *tuned_runs]))
    figure = plot(Comparisons((), matrices), "transfer")
    check_readable(figure)
    features, tuned = figure.axes[:2]
    assert cell_texts(features) == [
        ["79.0" if i == j else "49.0" for j in range(3)] for i in range(3)
    ]
    assert [row[3] for row in cell_texts(tuned)] == ["–", "25.0", "–"]
    framed = [patch.get_xy() for patch in features.patches if not patch.get_fill()]
    assert framed == [(0, 0), (1, 1), (2, 2)]
    assert not list(crossing_figures([]))


# Files.


def test_hostile_and_long_names_are_text_that_can_be_read(tmp_path):
    runs = make_seeds("a", [0.5, 0.6], layers=HOSTILE) + make_seeds("b", [0.7, 0.71], layers=None)
    for kind in ("seeds", "pareto"):
        figure = plot(compare_runs(runs), kind, width=COLUMN_WIDTH)
        check_readable(figure)
        shown = "".join(text for text, _ in texts(figure)).replace("\n", "")
        assert "$x^2$" in shown
        assert not {"\x1b", "\u202e"} & set(shown)
    figure.text(0.5, 0.5, "語 😀")  # the font lacks both, and that is no warning
    save_figure(figure, tmp_path / "names.png")
    assert "svg" in svg_text(figure)


def test_a_png_has_few_colours_and_looks_alike(usual, tmp_path):
    figure = plot(usual, "seeds")
    path = save_figure(figure, tmp_path / "seeds.png")
    figure.savefig(tmp_path / "all.png", dpi=200)
    with Image.open(path) as few, Image.open(tmp_path / "all.png") as every:
        assert (few.mode, few.size) == ("P", every.size)
        assert few.info["dpi"] == pytest.approx((200, 200), abs=0.1)
        pixels = (np.asarray(image.convert("RGB"), np.int64) for image in (few, every))
        apart = abs(np.subtract(*pixels))
    assert apart.mean() < 1
    assert np.percentile(apart, 99.9) < 40
    assert path.stat().st_size < 0.6 * (tmp_path / "all.png").stat().st_size


@pytest.mark.parametrize("ending", [".pdf", ".svg", ".png"])
def test_a_figure_is_saved_as_the_same_bytes_whatever_the_user_s_settings(usual, tmp_path, ending):
    first = save_figure(plot(usual, "seeds"), tmp_path / "new" / f"a{ending}")
    with matplotlib.rc_context({"font.size": 20, "axes.grid": True, "svg.fonttype": "none"}):
        again = save_figure(plot(usual, "seeds"), tmp_path / f"b{ending}")
    assert first.read_bytes() == again.read_bytes()
    assert "font.size: 20" not in str(matplotlib.rcParams)


def test_the_command_draws_the_figures_that_are_named(tmp_path):
    for run in (make_run("a"), make_run("b", layers=None)):
        write_json(tmp_path / "runs" / run.name / RECORD_NAME, run.record)
    words = ("compare", "--quiet", "--runs-dir", tmp_path / "runs", "--figure", "mix")
    ok(command(*words, "--figures-dir", tmp_path / "one"))
    assert sorted(p.name for p in (tmp_path / "one").iterdir()) == ["mix.pdf", "mix.png"]


def test_layers_by_task_name_encoders_and_show_the_mix_of_another_head():
    """Two encoders, layers 1 to 3 with a solver, and a mix with gradient steps for the second."""

    def of_encoder(model, name, body, dev, **own):
        signature = {"model": model, "encoder_weights": model[0] * 64}
        own |= {"settings": {"body": body, "sentence_pooling": "mean"}, "signature": signature}
        return make_seeds(f"{model}{name}", [dev], vary=["model"], experiment="layers", **own)

    runs = []
    for model, layer in itertools.product(("small", "large"), (1, 2, 3)):
        own = {"layers": f"layer:{layer}", "layer_indices": [layer], "mix": None}
        runs += of_encoder(model, layer, "logistic", 0.5, **own)
    own = {"layers": "weighted_all", "layer_indices": [1, 2], "mix": Mix([1, 2], [0.2, 0.8], 1)}
    runs += of_encoder("large", "-mix", "linear", 0.6, **own)
    ((_, _, figure),) = crossing_figures([compare_runs(runs)], only=["tasks"])
    scores, weights = figure.axes
    names = [label.get_text() for label in scores.get_yticklabels()]
    assert ["small" in name for name in names] == ["large" not in name for name in names]
    of_row = {int(t.get_position()[1]): t.get_text() for t in weights.texts if "80" in t.get_text()}
    assert ["large" in names[row] for row in of_row] == [True]


def test_titles_of_capitals_stay_on_a_narrow_page() -> None:
    with style.styled():
        figure = style.new_figure(style.COLUMN_WIDTH, 1.0)
        figure.subplots()
        style.header(figure, "GLUE MNLI MATCHED " * 5, "WWW MMM 漢字 " * 20)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            widths = [text.get_window_extent().x1 for text in figure.texts]
    assert max(widths) <= figure.bbox.x1


def test_counts_add_up_to_gold_and_predicted_answers():
    kept = find_runs(ROOT / "experiments" / "quickstart" / "results.jsonl.xz")
    runs, *_ = compare_group([*kept], frozenset())[1].values()
    pairs = confused(runs, "test")
    for name in runs[0].record.scores["test"].by_class:
        counts = [run.record.scores["test"].by_class[name] for run in runs]
        total = {key: sum(one[key] for one in counts) for key in ("gold", "predicted", "correct")}
        assert sum(n for (gold, _), n in pairs.items() if gold == name) == total["gold"] > 0
        assert sum(n for (_, found), n in pairs.items() if found == name) == total["predicted"]
        assert pairs[name, name] == total["correct"]


def test_choices_are_confused_by_their_number():
    assert get_task("choice").spans([["0", "1"], ["1", "0"]]) == [{("1", 0, -1)}, {("0", 0, -1)}]


def test_scores_have_no_confusions_and_many_classes_a_small_figure(monkeypatch):
    monkeypatch.setattr(breakdown, "confused", lambda *_: Counter({("0.1", "0.2"): 1}))
    scores = make_run(task="regression", signature={"scorer": "of scores"})
    comparison, members = compare_group([scores], frozenset())
    assert with_confusions(comparison, members).confusions == ()
    comparison, members = compare_group([make_run()], frozenset())
    assert with_confusions(comparison, members).confusions
    names = [f"c{i:03}" for i in range(150)]
    counts = [(name, name, 5) for name in names]
    counts += [("c100", "c120", 3), ("c100", "none", 2), ("c100", "c140", 1), ("c000", "c001", 1)]
    counts = tuple((*pair, n) for *pair, n in counts)
    found = Confusion(comparison.rows[0].name, "test", counts)
    comparison = dataclasses.replace(comparison, confusions=(found,))
    figure = confusion.draw(comparison, "test", None)
    (axes,) = figure.axes
    ticks = (axis.get_ticklabels() for axis in (axes.yaxis, axes.xaxis))
    lines, columns = ([label.get_text() for label in labels] for labels in ticks)
    assert len(columns) == len(lines) + 1 < 30
    assert {"c000 (6)", "c100 (11)", "c120 (5)", "none (0)"} < {*lines}


def with_probabilities(run: Run) -> Run:
    rng = np.random.default_rng(run.record.seed)
    made = Forecasts(rng.dirichlet(np.ones(4) / 4, 500), rng.integers(0, 4, 500))
    kept = ProbabilityScores(made.values(), made.reliability())
    scores = {n: dataclasses.replace(s, probabilities=kept) for n, s in run.record.scores.items()}
    return Run(run.folder, dataclasses.replace(run.record, scores=scores))


def test_a_panel_has_the_bins_of_all_seeds_of_a_row(tmp_path):
    runs = [*map(with_probabilities, usual_runs())]
    path = tmp_path / "comparison.json"
    path.write_text(to_json(compare(runs)), "utf-8")
    (comparison,) = read_comparisons(path)  # without runs
    figure = plot(comparison, "reliability", split="test")
    check_readable(figure)
    panels = [axes for axes in figure.axes if axes.collections]
    assert len(panels) == len(comparison.rows)
    for axes, row in zip(panels, comparison.rows, strict=True):
        parts = [
            run.record.scores["test"].probabilities.reliability
            for run in runs
            if run.name in {member.name for member in row.runs}
        ]
        items, right, confidence = (
            np.sum([getattr(part, name) for part in parts], axis=0)
            for name in ("items", "right", "confidence")
        )
        filled = items > 0
        expected = 100 * np.stack([confidence, right])[:, filled] / items[filled]
        np.testing.assert_allclose(axes.collections[0].get_offsets(), expected.T)

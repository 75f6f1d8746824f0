import functools
import itertools

import matplotlib
import pytest
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from featbert.analysis.compare import compare
from featbert.analysis.curves import freezing_points, layer_points, mix_points
from featbert.analysis.transfer import transfer_matrices
from featbert.analysis.transfer_published import beside, published_matrices
from featbert.errors import FeatbertError, InputError
from featbert.report.figures import style
from featbert.report.figures.choosing import figures_of
from featbert.report.figures.curve import freezing_curve, layer_curve
from featbert.report.figures.heatmap import transfer_heatmap
from featbert.report.figures.mix import mix_weights
from featbert.report.figures.saving import save_figure
from featbert.report.figures.style import COLUMN_WIDTH, FULL_WIDTH
from featbert.runs.record import Mix
from tests.analysis.evaluation_records import evaluate, language_run, transfer_runs
from tests.analysis.records import make_run, make_seeds
from tests.processes import python
from tests.report.reading_figures import cell_texts, check_readable, panels, texts

LANGUAGES = ("de", "en", "nl")
F1 = {
    (a, b): (0.8 if a == b else 0.5) + 0.01 * i
    for i, (a, b) in enumerate(itertools.product(LANGUAGES, LANGUAGES))
}
FEATURES = {
    "embeddings": 0.80,
    "last": 0.915,
    "sum_last4": 0.917,
    "weighted_last4": 0.918,
    "concat_last4": 0.919,
    "weighted_all": 0.916,
}
FREEZING = {None: 0.93, 0: 0.929, 3: 0.925, 6: 0.92, 9: 0.91, 12: 0.88}


@pytest.fixture(scope="module")
def matrices(tmp_path_factory):
    """Features, and fine-tuning with a Chinese column that only one run of English has."""
    folder = tmp_path_factory.mktemp("matrices")
    features = transfer_runs(folder / "a", F1, seeds=(1,))
    tuned = transfer_runs(folder / "b", F1, layers=None)
    evaluate(tuned[3], "zh", 0.25)
    return transfer_matrices([*features, *tuned])


@functools.cache
def freezing(seeds=(-0.004, 0.0, 0.004), long=""):
    deep = {"encoder_layers": 12}
    runs = []
    for k, f1 in FREEZING.items():
        settings = {"freeze_to": k}
        dev = [f1 + off for off in seeds]
        runs += make_seeds(f"k{k}", dev, layers=None, settings=settings, signature=deep)
    for layers, f1 in FEATURES.items():
        dev = [f1 + off for off in seeds]
        runs += make_seeds(layers, dev, layers=layers + long, signature=deep)
    (comparison,) = compare(runs)
    return freezing_points(comparison)


@functools.cache
def layers(num_layers=6):
    runs = []
    for layer in range(num_layers + 1):
        for name, lstm in (("b", 2), ("p", 0)):
            dev = [0.6 + 0.05 * lstm + 0.01 * layer + 0.002 * seed for seed in range(2)]
            runs += make_seeds(
                f"{name}{layer}",
                dev,
                layers=f"layer:{layer}",
                layer_indices=[layer],
                settings={"lstm_layers": lstm},
                signature={"encoder_layers": num_layers},
            )
    (comparison,) = compare(runs)
    return layer_points(comparison)


@functools.cache
def mixes(seeds=3, k=6):
    runs = []
    for name, indices in (
        ("weighted_all", range(1, k + 1)),
        ("weighted_last4", range(k - 3, k + 1)),
    ):
        for seed in range(1, seeds + 1):
            raw = [1 + (layer * seed) % 4 for layer in indices]
            weights = [w / sum(raw) for w in raw]
            mix = Mix(list(indices), weights, 1.0 + seed / 10)
            runs.append(
                make_run(
                    f"{name}{seed}", seed=seed, layers=name, layer_indices=list(indices), mix=mix
                )
            )
    return mix_points(runs)


# Heat maps.


def test_a_heat_map_holds_the_matrix(matrices):
    (panel,) = panels(transfer_heatmap(matrices[0]))
    expected = [[f"{100 * F1[a, b] - 1:.1f}" for b in LANGUAGES] for a in LANGUAGES]
    assert cell_texts(panel) == expected
    assert [t.get_text() for t in panel.get_xticklabels()] == list(LANGUAGES)
    assert [t.get_text() for t in panel.get_yticklabels()] == list(LANGUAGES)
    assert panel.get_title(loc="left") == "concat_last4"
    # The first row is the highest.
    assert panel.get_ylim() == (3, 0)


def test_the_axes_and_the_scale_say_what_they_are(matrices):
    shown = {text for text, _ in texts(transfer_heatmap(matrices[0]))}
    assert {
        "trained on",
        "evaluated on (test)",
        "entity F1 (%)",
        "Entity F1 by language trained on and evaluated on",
    } <= shown
    assert any(text.startswith("all-MiniLM-L6-v2 · context: sentence · framed") for text in shown)


def fills(axes):
    return {
        (int(patch.get_y()), int(patch.get_x())): patch.get_facecolor()
        for patch in axes.patches
        if isinstance(patch, Rectangle) and patch.get_fill()
    }


def test_panels_share_one_colour_scale(matrices):
    first, second = panels(transfer_heatmap(*matrices, width=FULL_WIDTH))
    assert second.get_title(loc="left") == "fine-tuning"
    # The same mean in both has the same colour, though the second reaches lower.
    (alone,) = panels(transfer_heatmap(matrices[0]))
    lower = [fills(axes)[0, 0] for axes in (first, second, alone)]
    features = matrices[0].means[0][0]
    tuned = matrices[1].means[0][0]
    assert features != tuned
    assert (lower[0] == lower[1]) == (features == tuned)
    twice = panels(transfer_heatmap(matrices[1], matrices[1], matrices[0]))
    assert fills(twice[0]) == fills(twice[1]) == fills(second)
    assert fills(alone) != fills(first)
    bar = transfer_heatmap(*matrices).axes[-1]
    assert bar.get_ylim() == (20, 90)


def test_higher_is_darker_and_numbers_stand_out(matrices):
    (panel,) = panels(transfer_heatmap(matrices[0]))
    colors = fills(panel)
    means = {(i, j): m for i, row in enumerate(matrices[0].means) for j, m in enumerate(row)}

    def luminance(color):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3]]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    ordered = [luminance(colors[cell]) for cell in sorted(means, key=means.get)]
    assert ordered == sorted(ordered, reverse=True)
    for text in panel.texts:
        x, y = text.get_position()
        one, other = luminance(colors[int(y), int(x)]), luminance(to_rgba(text.get_color()))
        assert (max(one, other) + 0.05) / (min(one, other) + 0.05) >= 4.5


def test_own_languages_are_framed_and_empty_cells_are_empty(matrices):
    (panel,) = panels(transfer_heatmap(matrices[1]))
    frames = {
        (int(p.get_y()), int(p.get_x()))
        for p in panel.patches
        if isinstance(p, Rectangle) and not p.get_fill()
    }
    assert frames == {(0, 0), (1, 1), (2, 2)}
    zh = [row[3] for row in cell_texts(panel)]
    assert zh == ["–", "25.0", "–"]
    colors = fills(panel)
    assert colors[0, 3] == colors[2, 3] != colors[1, 3]
    assert len(set(colors[0, 3][:3])) == 1


def test_published_matrices_stand_beside(matrices):
    published = [beside(one, matrices[1]) for one in published_matrices()]
    figure = transfer_heatmap(matrices[1], *published)
    mine, pires, wu = panels(figure)
    assert cell_texts(pires)[0] == ["82.0", "73.8", "76.2", "70.0"]
    assert [t.get_text() for t in pires.get_xticklabels()] == ["de", "en", "nl", "es"]
    assert pires.get_title(loc="left").replace("\n", " ").startswith("published: Pires")
    assert cell_texts(wu)[1] == ["69.6", "–", "77.6", "75.0"]
    assert mine.get_position().height < wu.get_position().height
    check_readable(figure)


def test_without_a_score_there_is_nothing_to_draw(tmp_path):
    run = language_run(tmp_path, "en", test=None)
    with pytest.raises(InputError, match="with a score in it expected"):
        transfer_heatmap()
    assert transfer_matrices([run]) == []


@pytest.mark.parametrize(
    ("width", "panels"), [(COLUMN_WIDTH, 1), (COLUMN_WIDTH, 2), (FULL_WIDTH, 5)]
)
def test_heat_maps_are_readable(matrices, width, panels):
    figure = transfer_heatmap(*([*matrices] * 3)[:panels], width=width)
    check_readable(figure)
    assert figure.get_size_inches()[0] <= width + 1e-9


def test_a_large_matrix_is_as_wide_as_its_numbers_need(tmp_path):
    run = language_run(tmp_path, "en")
    for i in range(30):
        evaluate(run, f"x{i}", 1.0 if i == 3 else i / 31)
    figure = transfer_heatmap(*transfer_matrices([run]))
    check_readable(figure)
    assert figure.get_size_inches()[0] > FULL_WIDTH


@pytest.mark.parametrize("width", [COLUMN_WIDTH, FULL_WIDTH])
def test_long_names_fit(tmp_path, width):
    runs = [
        language_run(
            tmp_path,
            language,
            layers="concat:1,2,3,4,5,6,7,8,9,10,11,12",
            signature={
                "language": None,
                "corpus": f"a_long_corpus_name_{language}",
                "model": "/m" * 60,
            },
        )
        for language in ("de", "en")
    ]
    evaluate(runs[0], "nl", corpus="another long corpus", language=None)
    check_readable(transfer_heatmap(*transfer_matrices(runs) * 2, width=width))


def test_names_are_text_and_no_formulas(tmp_path):
    run = language_run(tmp_path, "en", layers="$x^2$ \x1b_{a}", signature={"model": r"$\frac$"})
    evaluate(run, "$1$", language="$1$")
    figure = transfer_heatmap(*transfer_matrices([run]))
    shown = {text for text, _ in texts(figure)}
    assert r"$x^2$ \x1b_{a}" in shown
    assert "$1$" in shown


# Curves.


def test_a_freezing_curve_holds_the_points():
    curve = freezing()
    axes = freezing_curve(curve).axes[0]
    (line,) = [line for line in axes.lines if line.get_marker() == "o"]
    assert list(line.get_xdata()) == [0, 1, 2, 3, 4, 5]
    assert list(line.get_ydata()) == pytest.approx([93, 92.9, 92.5, 92, 91, 88])
    labels = [t.get_text() for t in axes.get_xticklabels()]
    assert labels == ["none", "emb.", "3", "6", "9", "all"]
    assert axes.get_ylabel() == "dev entity F1 (%)"
    assert axes.get_xlabel() == "frozen up to layer"
    assert axes.get_legend() is None


def test_a_band_is_one_standard_deviation_and_dots_are_seeds():
    axes = freezing_curve(freezing(), split="test").axes[0]
    band, dots = axes.collections
    vertices = band.get_paths()[0].vertices
    at_none = sorted({round(float(y), 6) for x, y in vertices if x == 0})
    assert at_none == pytest.approx([88 - 0.4, 88 + 0.4])
    offsets = dots.get_offsets()
    assert len(offsets) == 6 * 3
    assert sorted(float(y) for x, y in offsets if x < 1) == pytest.approx([87.6, 88, 88.4])
    assert axes.get_ylabel() == "test entity F1 (%)"


def test_one_seed_has_neither_band_nor_dots():
    figure = freezing_curve(freezing(seeds=(0.0,)))
    band, dots = figure.axes[0].collections
    assert len(dots.get_offsets()) == 0
    assert all(len(path.vertices) == 0 for path in band.get_paths())
    assert any("one seed" in text for text, _ in texts(figure))


def test_frozen_features_are_labelled_levels():
    figure = freezing_curve(freezing())
    axes = figure.axes[0]
    level = {
        round(float(line.get_ydata()[0]), 6) for line in axes.lines if line.get_linestyle() == "--"
    }
    assert level == {round(100 * f1, 6) for f1 in FEATURES.values()}
    labels = {text.get_text(): text.get_position() for text in axes.texts}
    assert set(labels) == set(FEATURES)
    # Labels are moved apart, and keep the order of their levels.
    ordered = sorted(FEATURES, key=FEATURES.get)
    heights = [labels[name][1] for name in ordered]
    assert heights == sorted(heights)
    assert all(x > 1 for x, _ in labels.values())


@pytest.mark.parametrize("width", [COLUMN_WIDTH, FULL_WIDTH])
@pytest.mark.parametrize("long", ["", " with a very long name indeed"])
def test_freezing_curves_are_readable(width, long):
    figure = freezing_curve(freezing(long=long), width=width)
    check_readable(figure)
    assert figure.get_size_inches()[0] == pytest.approx(width)


def test_series_have_a_legend_and_shapes_of_their_own():
    runs = [
        make_run(f"{k}{rate}", layers=None, dev=0.5 + rate, settings={"freeze_to": k, "rate": rate})
        for k in (None, 0, 3)
        for rate in (0.1, 0.2)
    ]
    (comparison,) = compare(runs)
    figure = freezing_curve(freezing_points(comparison))
    (axes,) = figure.axes
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["rate=0.1", "rate=0.2"]
    lines = [line for line in axes.lines if line.get_marker() not in ("", "None")]
    assert (
        len({line.get_marker() for line in lines}) == len({line.get_color() for line in lines}) == 2
    )
    assert [list(line.get_ydata()) for line in lines] == [
        pytest.approx([60] * 3),
        pytest.approx([70] * 3),
    ]
    check_readable(figure)


def test_a_layer_curve_holds_both_taggers():
    figure = layer_curve(layers())
    (axes,) = figure.axes
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["BiLSTM", "linear probe"]
    lstm, probe = axes.lines
    assert list(lstm.get_xdata()) == list(probe.get_xdata()) == list(range(7))
    assert list(lstm.get_ydata()) == pytest.approx([70.1 + n for n in range(7)])
    assert list(probe.get_ydata()) == pytest.approx([60.1 + n for n in range(7)])
    labels = [t.get_text() for t in axes.get_xticklabels()]
    assert labels == ["emb.", "1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize(
    ("tried", "drawn"),
    [([0, 1, 2], True), ([0, 5, 6], False), ([0, 4, 5, 6], True), ([6], False)],
)
def test_a_layer_curve_needs_neighbours(tried, drawn):
    """The rows of BERT's table are no curve: nobody tried the layers between."""
    runs = []
    for layer in tried:
        spec = {"layers": f"layer:{layer}", "layer_indices": [layer]}
        runs += make_seeds(f"l{layer}", [0.6, 0.61], **spec)
    (comparison,) = compare(runs)
    assert ("layers-dev" in dict(figures_of(comparison))) == drawn


@pytest.mark.parametrize(
    ("width", "num_layers"),
    [(COLUMN_WIDTH, 1), (COLUMN_WIDTH, 12), (COLUMN_WIDTH, 24), (FULL_WIDTH, 48)],
)
def test_layer_curves_are_readable(width, num_layers):
    check_readable(layer_curve(layers(num_layers=num_layers), width=width))


def test_curves_without_points_are_refused():
    (comparison,) = compare([make_run("a", layers=None, test=None), make_run("b", test=None)])
    with pytest.raises(InputError, match="fine-tuned row scored on test expected"):
        freezing_curve(freezing_points(comparison), split="test")
    with pytest.raises(InputError, match=r"single layer, scored on dev, expected"):
        layer_curve(layer_points(comparison))
    with pytest.raises(InputError, match="learned scalar mix expected"):
        mix_weights()


# Mix weights.


def test_mix_weights_hold_means_seeds_and_spread():
    profiles = mixes()
    figure = mix_weights(*profiles)
    for axes, profile in zip(figure.axes, profiles, strict=True):
        bars = [p for p in axes.patches if isinstance(p, Rectangle)]
        heights = [bar.get_height() for bar in bars]
        assert heights == pytest.approx([weight.mean for weight in profile.weights])
        assert sum(heights) == pytest.approx(1)
        assert [bar.get_x() + bar.get_width() / 2 for bar in bars] == pytest.approx(profile.layers)
        lines, dots = axes.collections[::2], axes.collections[1::2]
        for weight, spread, seeds in zip(profile.weights, lines, dots, strict=True):
            (_, low), (_, high) = spread.get_segments()[0]
            assert (low, high) == pytest.approx((weight.mean - weight.sd, weight.mean + weight.sd))
            assert [y for _, y in seeds.get_offsets()] == pytest.approx(weight.values)
        (equal,) = axes.lines
        assert equal.get_ydata()[0] == pytest.approx(1 / len(profile.layers))
        assert [t.get_text() for t in axes.get_xticklabels()] == [str(n) for n in profile.layers]
        assert axes.get_title(loc="left").startswith(profile.label)
    assert "scale 1.20 ± 0.10" in figure.axes[0].get_title(loc="left")


@pytest.mark.parametrize(
    ("width", "seeds", "k"), [(COLUMN_WIDTH, 1, 4), (COLUMN_WIDTH, 2, 24), (FULL_WIDTH, 3, 12)]
)
def test_mix_weights_are_readable(width, seeds, k):
    check_readable(mix_weights(*mixes(seeds, k), width=width))


# Files and style.


def every_figure(matrices):
    return [
        transfer_heatmap(matrices[1], width=COLUMN_WIDTH),
        freezing_curve(freezing()),
        layer_curve(layers()),
        mix_weights(*mixes()),
    ]


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_a_figure_is_the_same_bytes_whatever_the_settings(tmp_path, matrices, kind):
    for figure in every_figure(matrices)[::2]:
        first = save_figure(figure, tmp_path / "a" / f"x.{kind}").read_bytes()
        with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red"}):
            again = save_figure(figure, tmp_path / f"y.{kind}").read_bytes()
        assert first == again
        assert len(first) > 2000
        for told in (b"Date", b"Matplotlib v", b"dc:creator"):
            assert told not in first
    assert list(tmp_path.rglob("*.tmp")) == []


def test_drawing_heeds_no_settings(matrices):
    usual = [figure.canvas.buffer_rgba().tobytes() for figure in drawn(matrices)]
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "text.color": "red"}):
        figures = drawn(matrices)
    assert [figure.canvas.buffer_rgba().tobytes() for figure in figures] == usual


def drawn(matrices):
    found = every_figure(matrices)
    for figure in found:
        figure.canvas.draw()
    return found


def test_another_process_writes_the_same_bytes_and_changes_no_settings(tmp_path):
    code = (
        "import sys, matplotlib; before = matplotlib.rcParams.copy()\n"
        "from tests.report.test_figures import *\n"
        "for kind in ('png', 'pdf', 'svg'):\n"
        "    save_figure(freezing_curve(freezing()), f'{sys.argv[1]}/other.{kind}')\n"
        "print(matplotlib.rcParams.copy() == before, 'matplotlib.pyplot' in sys.modules)"
    )
    assert python(code, tmp_path, env={"PYTHONHASHSEED": "12345"}) == "True False\n"
    for kind in ("png", "pdf", "svg"):
        here = save_figure(freezing_curve(freezing()), tmp_path / f"here.{kind}")
        assert here.read_bytes() == (tmp_path / f"other.{kind}").read_bytes(), kind


def test_a_picture_has_two_hundred_dots_an_inch(tmp_path):
    figure = freezing_curve(freezing())
    path = save_figure(figure, str(tmp_path / "x.PNG"))
    header = path.read_bytes()[16:24]
    size = int.from_bytes(header[:4]), int.from_bytes(header[4:])
    assert size == tuple(int(200 * inches) for inches in figure.get_size_inches())


def test_a_figure_that_cannot_be_written_leaves_nothing(tmp_path):
    figure = freezing_curve(freezing())
    with pytest.raises(InputError, match=r"\.png, \.pdf, \.svg expected, found 'x\.pgn'.*'\.png'"):
        save_figure(figure, tmp_path / "x.pgn")
    (tmp_path / "file").write_text("")
    with pytest.raises(FeatbertError, match="cannot be written"):
        save_figure(figure, tmp_path / "file" / "x.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(FeatbertError, match="cannot be written"):
        save_figure(figure, tmp_path / "folder.png")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder.png"]


def test_places_are_spread_as_little_as_needed():
    assert style.spread([], 1, 0, 9) == []
    assert style.spread([5, 1], 1, 0, 9) == [5, 1]
    assert style.spread([3.0, 3.0, 3.0], 1, 0, 9) == pytest.approx([2, 3, 4])
    assert style.spread([0.0, 0.1], 1, 0, 9) == pytest.approx([0, 1])
    assert style.spread([9.0, 8.9, 4.0], 1, 0, 9) == pytest.approx([9, 8, 4])
    places = [0.1 * i for i in range(8)]
    moved = style.spread(places, 1, 0, 7)
    assert moved == sorted(moved)
    assert moved == pytest.approx(range(8))


def test_text_is_wrapped_to_its_room():
    text = "one two three " * 5 + "x" * 60
    for width in (0.5, 1.0, 3.0):
        lines = style.wrapped(text, width, 8).split("\n")
        assert style.widest(lines, 8) <= width
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    # Words are kept whole where they fit.
    assert style.wrapped("concat_last4 (learning_rate=0.001)", 1.3, 7).split("\n") == [
        "concat_last4",
        "(learning_rate=0.001)",
    ]
    assert style.wrapped("a\x1bb", 3, 8) == r"a\x1bb"
    assert style.wrapped("ab", 0.001, 8) == "a\nb"
    assert style.wrapped("", 1, 8) == ""

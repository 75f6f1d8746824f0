"""What all figures look like: colours, sizes, and the frame of title, note and legend.

Figures are made without pyplot, and settings hold only inside `styled()`, so neither a user's
matplotlibrc nor a figure changes the other.
"""

import io
import itertools
import math
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path
from PIL import Image

from featbert.io import explaining, replacing
from featbert.units import visible

# Inches: one column of a two-column page, and both.
COLUMN_WIDTH = 3.4
FULL_WIDTH = 7.0
TITLE, TEXT, SMALL = 8.5, 7.5, 7.0  # points

INK, FAINT, GRID, EMPTY = "#1a1a1a", "#6b6b6b", "#d9d9d9", "#ececec"
# Okabe and Ito's palette without yellow, distinct to any colour vision (Wong 2011, Nature
# Methods 8:441), and two more. Shapes tell series apart without colour at all: each tuning has its
# own colour and its own shape.
COLORS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"),
    *("#56B4E9", "#882255", "#8A8A2E", "#000000"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
_SHADE_MARKERS = ("d", "p", "h", "8")
DASHED = (0, (4.0, 2.0))
# Styles of reference lines, and of the line at the score without skill.
REFERENCE: dict[str, Any] = {"color": FAINT, "linewidth": 0.8, "linestyle": DASHED}
FLOOR: dict[str, Any] = {"color": FAINT, "linewidth": 0.8, "linestyle": (0, (1.0, 1.5))}
ROUND = (1, 2, 5, 10)  # steps between the numbers of an axis
DIGITS = [digit * 10.0**power for power in range(31) for digit in ROUND[:3]]  # of a logarithmic one

_SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.labelsize": TEXT,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlepad": 5,
    "axes.titlesize": TEXT,
    "figure.constrained_layout.h_pad": 0.06,
    "figure.constrained_layout.w_pad": 0.06,
    "font.family": "DejaVu Sans",  # ships with matplotlib
    "font.size": TEXT,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "svg.hashsalt": "featbert",
    "text.color": INK,
    "text.parse_math": False,  # a name with dollar signs is a name
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "xtick.labelsize": SMALL,
    "xtick.major.size": 2.5,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
    "ytick.labelsize": SMALL,
    "ytick.major.size": 2.5,
}
_MARGIN = 0.08  # inches
_LINE = 1.35  # height of a line over its font size
_SCREEN = 100  # dots per inch
_COLOURS = 256  # of a PNG
# Names may have letters that the font lacks. It draws boxes, and tables have the names.
_MISSING_GLYPHS = "Glyph .* missing from font"
# What matplotlib would write into each format: the time, and its own version.
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
}


class Look(NamedTuple):
    """How a series is drawn."""

    color: str
    marker: str


def styled(fonttype: str = "path") -> AbstractContextManager[None]:
    """matplotlib's own defaults with this module's settings, until the block ends.

    Args:
        fonttype: SVG has letters as outlines ("path"), or as text ("none").
    """
    return matplotlib.style.context(["default", _SETTINGS | {"svg.fonttype": fonttype}])


def looks() -> Iterator[Look]:
    """Endless pairs of a colour and a marker. The first 9 differ in both, the first 90 in one."""
    return map(Look, itertools.cycle(COLORS), itertools.cycle(MARKERS))


def shade(look: Look, number: int) -> Look:
    """A look itself for 0, then lighter and darker shades of its colour with markers of theirs."""
    if not number:
        return look
    toward = "white" if number % 2 else "black"
    share = min(0.45 + 0.15 * ((number - 1) // 2), 0.8)
    parts = zip(to_rgb(look.color), to_rgb(toward), strict=True)
    red, green, blue = ((1 - share) * part + share * goal for part, goal in parts)
    return Look(to_hex((red, green, blue)), _SHADE_MARKERS[(number - 1) % len(_SHADE_MARKERS)])


class _StyledFigure(Figure):
    """A figure that is saved in the style that it was drawn in, and that notebooks show."""

    def savefig(self, fname: Any, *, fonttype: str = "path", **options: Any) -> None:
        with styled(fonttype), warnings.catch_warnings():
            warnings.filterwarnings("ignore", _MISSING_GLYPHS)
            super().savefig(fname, **options)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """PNG of twice a screen's density, and the pixels that it takes on one."""
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=2 * _SCREEN, metadata=_METADATA["png"])
        width, height = (round(_SCREEN * inches) for inches in self.get_size_inches())
        return file.getvalue(), {"width": width, "height": height}


def new_figure(width: float, height: float) -> Figure:
    """A figure for axes that take `height` inches. `header` adds title and legend."""
    figure = _StyledFigure(
        figsize=(width, height), dpi=_SCREEN, facecolor="white", layout="constrained"
    )
    FigureCanvasAgg(figure)
    return figure


def panels(n: int, width: float, narrowest: float, height: float) -> tuple[Figure, list[Axes]]:
    """A figure with n axes in lines, each at least `narrowest` inches wide and `height` high."""
    lines = math.ceil(n / max(1, int(width / narrowest)))
    columns = math.ceil(n / lines)
    figure = new_figure(width, lines * height)
    axes = [*figure.subplots(lines, columns, squeeze=False).flat]
    for unused in axes[n:]:
        unused.set_axis_off()
    return figure, axes[:n]


def header(figure: Figure, title: str, note: str, keys: Sequence[Line2D] = ()) -> Figure:
    """The figure with title, note and legend (`key`) above its axes. It grows by their height."""
    width, body = (float(inches) for inches in figure.get_size_inches())
    title = title[:1].upper() + title[1:]
    figure.set_label(visible(title))
    texts = [
        (_within(title, width, TITLE), TITLE, INK),
        (_within(note, width, SMALL), SMALL, FAINT),
    ]
    labels = [str(handle.get_label()).split("\n") for handle in keys]
    label_widths = [max(map(len, lines)) + 7 for lines in labels]
    room = _fitting(width, SMALL)
    columns = len(keys) if sum(label_widths) <= room else max(1, room // max(label_widths))
    heights = [_LINE * size / 72 * (text.count("\n") + 1) for text, size, _ in texts]
    high = max(map(len, labels), default=0) * math.ceil(len(keys) / max(columns, 1))
    legend = _LINE * SMALL / 72 * high + _MARGIN if keys else 0.0
    height = body + _MARGIN + sum(heights) + legend
    figure.set_size_inches(width, height)
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)
    engine.set(rect=(0, 0, 1, body / height))
    x, y = _MARGIN / width, 1 - _MARGIN / height
    for (text, size, color), used in zip(texts, heights, strict=True):
        figure.text(x, y, text, size=size, color=color, va="top", linespacing=1.15)
        y -= used / height
    if keys:
        figure.legend(
            handles=keys,
            loc="upper left",
            bbox_to_anchor=(x, y - _MARGIN / 2 / height),
            ncols=columns,
            borderaxespad=0,
            borderpad=0,
            labelspacing=0.2,
            columnspacing=1.2,
            handlelength=1.8,
            handletextpad=0.5,
        )
    return figure


def key(label: str, look: Look | None = None, **style: Any) -> Line2D:
    """A mark of the legend: a marker, or with `linestyle` a line."""
    defaults: dict[str, Any] = {"linestyle": "None", "markersize": 4.2, "color": FAINT}
    if look is not None:
        defaults |= {"color": look.color, "marker": look.marker}
    return Line2D([], [], label=label, **(defaults | style))


def wrapped(text: str, width: float, size: float = SMALL) -> str:
    """`text` with control characters made visible, on lines of about `width` inches at most."""
    return textwrap.fill(visible(text), _fitting(width, size), break_on_hyphens=False)


def _within(text: str, width: float, size: float) -> str:
    """`wrapped`, on shorter lines if one of them is wider than mean characters are."""
    lines, font = "", FontProperties(family=_SETTINGS["font.family"], size=size)
    for share in (1.0, 0.9, 0.8, 0.7, 0.6):
        lines = wrapped(text, share * width, size)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", _MISSING_GLYPHS)
            sizes = [
                text_to_path.get_text_width_height_descent(line, font, False)
                for line in lines.split("\n")
            ]
        if max(points for points, *_ in sizes) <= 72 * (width - 2 * _MARGIN):
            break
    return lines


def _fitting(width: float, size: float) -> int:
    """Characters of mean width in `width` inches."""
    return max(6, int((width - 2 * _MARGIN) * 72 / (0.52 * size)))


def percent_limits(shares: Iterable[float], lowest: float) -> tuple[float, float]:
    """Limits in percent around shares of [lowest, 1], with room for marks on the outermost."""
    shown = [100 * min(max(share, lowest), 1.0) for share in shares]
    low, high = min(shown), max(shown)
    # At least one point of score is shown, so that tiny differences look tiny.
    room = max(0.06 * (high - low), (1.0 - (high - low)) / 2)
    return max(low - room, 100 * lowest - 2.0), min(high + room, 102.0)


def save_figure(figure: Figure, path: Path) -> Path:
    """Writes a figure as PNG (200 dots per inch), PDF or SVG, by the ending of `path`.

    Folders above it are made. The same figure always gives the same bytes.
    """
    format = path.suffix.lower().removeprefix(".")
    with explaining(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, durable=False) as temporary, temporary.open("w+b") as file:
            figure.savefig(file, format=format, dpi=2 * _SCREEN, metadata=_METADATA[format])
            if format == "png":
                _reduce_colours(file)
    return path


def _reduce_colours(png: BinaryIO) -> None:
    """Writes a PNG again with the 256 colours closest to its own, in a third of the bytes."""
    with Image.open(png) as image:
        few = image.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    png.seek(0)
    png.truncate()
    few.save(png, "png", optimize=True, dpi=(2 * _SCREEN,) * 2)


def svg_text(figure: Figure, fonttype: str = "path") -> str:
    """A figure as SVG with a transparent ground. Letters as text ("none") take half the bytes."""
    buffer = io.BytesIO()
    figure.savefig(
        buffer, format="svg", fonttype=fonttype, transparent=True, metadata=_METADATA["svg"]
    )
    return buffer.getvalue().decode("utf-8")

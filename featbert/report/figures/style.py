"""What all figures look like: sizes, colours, fonts, and the frame that titles and axes stand in.

The one module that imports matplotlib. Figures are made without pyplot, and settings hold inside
`styled()` alone, so neither a user's matplotlibrc nor a figure changes the other. Places are
worked out in inches from measured text, so that nothing is cut off and nothing overlaps at either
width of a paper's page.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from featbert.errors import MissingError
from featbert.report.units import visible

try:
    import matplotlib.style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "matplotlib":
        raise
    raise MissingError(
        "matplotlib expected to draw figures, it is not installed; "
        "install it with: pip install matplotlib"
    ) from None

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colors import Colormap

# Inches: one column of a two-column page, and both.
COLUMN_WIDTH = 3.4
FULL_WIDTH = 7.0

FONT = "DejaVu Sans"  # ships with matplotlib
TITLE, TEXT, SMALL = 8.5, 7.5, 7.0  # points
LINE = 1.35  # of a line's height over its font size

INK, FAINT, GRID = "#1a1a1a", "#6b6b6b", "#d9d9d9"
# Okabe and Ito's palette without yellow, told apart with any colour vision (Wong 2011, Nature
# Methods 8:441); shapes tell series apart where there is no colour at all.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")
# The two approaches, in every figure that has both.
APPROACHES = {"none": (COLORS[0], MARKERS[0]), "full": (COLORS[1], MARKERS[1])}
APPROACH_NAMES = {"none": "features", "full": "fine-tuning"}
# Text on a coloured ground. Not INK and white, which a dark page may change for others: the
# ground that they stand on stays what it is.
ON_LIGHT, ON_DARK = "#000000", "#fefefe"
EMPTY = "#ececec"
# One hue from light to dark: reads as an order with any colour vision, and in grey. Its lightest
# part is left out, which could not be told from paper.
_HUE, _LIGHTEST = "Blues", 0.08

_SETTINGS: dict[str, object] = {
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.labelsize": TEXT,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": TEXT,
    "axes.unicode_minus": True,
    "font.family": FONT,
    "font.size": TEXT,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "featbert",
    "text.color": INK,
    # A name with dollar signs is a name.
    "text.parse_math": False,
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "xtick.labelsize": SMALL,
    "xtick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
    "ytick.labelsize": SMALL,
    "ytick.major.size": 2.5,
    "ytick.major.width": 0.6,
}
_MARGIN = 0.08
_SCREEN = 100  # dots per inch
_TO_PATH = TextToPath()


@contextmanager
def styled() -> Iterator[None]:
    """matplotlib's own defaults with this module's settings, until the block ends."""
    with matplotlib.style.context(["default", _SETTINGS]):
        yield


@functools.cache
def sequential() -> Colormap:
    """The colours of amounts."""
    shades = [matplotlib.colormaps[_HUE](_LIGHTEST + (1 - _LIGHTEST) * i / 255) for i in range(256)]
    return ListedColormap(shades, name="featbert")


@functools.lru_cache(maxsize=4096)
def text_width(text: str, size: float) -> float:
    """Inches that a line of text takes."""
    font = FontProperties(family=FONT, size=size)
    width, _, _ = _TO_PATH.get_text_width_height_descent(text, font, False)
    return float(width) / 72


def widest(texts: Sequence[str], size: float) -> float:
    """Inches of the widest of several lines; 0 of none."""
    return max((text_width(text, size) for text in texts), default=0.0)


def line_height(size: float) -> float:
    """Inches from one line to the next."""
    return LINE * size / 72


def wrapped(text: str, width: float, size: float) -> str:
    """`text`, made visible, on as many lines as it takes to stay within `width` inches.

    Lines end between words; a word that is wider than a line is broken.
    """
    lines = [""]
    for word in visible(text).split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines += _broken(word, width, size)
    return "\n".join(line for line in lines if line)


def _broken(word: str, width: float, size: float) -> list[str]:
    """A word in pieces that each take at most `width`, or are one character."""
    pieces = []
    while word:
        fit = len(word)
        while fit > 1 and text_width(word[:fit], size) > width:
            # As many as fit on average, which is soon one character at a time.
            fit = min(fit - 1, int(fit * width / text_width(word[:fit], size)) + 1)
        pieces.append(word[:fit])
        word = word[fit:]
    return pieces


class ShownFigure(Figure):
    """A figure that notebooks show: without pyplot nobody else tells them how."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """PNG of twice a screen's density, and the pixels that it takes on one."""
        file = io.BytesIO()
        with styled():
            self.savefig(file, format="png", dpi=2 * _SCREEN, metadata={"Software": None})
        width, height = (round(_SCREEN * inches) for inches in self.get_size_inches())
        return file.getvalue(), {"width": width, "height": height}


@dataclass(frozen=True)
class Frame:
    """A figure with its title, and the room beneath it.

    Attributes:
        width, height: inches of the figure.
        top: inches from the figure's lower edge to where the title ends.
    """

    figure: Figure
    width: float
    height: float
    top: float

    def axes(self, left: float, bottom: float, width: float, height: float) -> Axes:
        """Axes at a place in inches from the figure's lower left corner."""
        return self.figure.add_axes(
            (
                left / self.width,
                bottom / self.height,
                width / self.width,
                height / self.height,
            )
        )

    def text(self, x: float, y: float, text: str, **style: object) -> None:
        """Text at a place in inches from the figure's lower left corner."""
        self.figure.text(x / self.width, y / self.height, text, **style)  # type: ignore[arg-type]


def new_frame(
    title: str, subtitle: str, *, width: float, room: float, needed: float | None = None
) -> Frame:
    """A figure with a title, and `room` inches of height beneath it.

    Args:
        width: inches of the figure, and what its title is wrapped to.
        needed: inches that its content takes; the figure is wider or narrower than `width` for
            it, as far as the title allows.
    """
    parts = [
        (wrapped(text, width - 2 * _MARGIN, size), size, color)
        for text, size, color in ((title, TITLE, INK), (subtitle, SMALL, FAINT))
        if text
    ]
    if needed is not None:
        titles = [widest(text.split("\n"), size) for text, size, _ in parts]
        width = max(needed, 2 * _MARGIN + max(titles, default=0.0))
    heights = [line_height(size) * (text.count("\n") + 1) for text, size, _ in parts]
    height = _MARGIN + sum(heights) + _MARGIN + room
    figure = ShownFigure(figsize=(width, height), dpi=_SCREEN, facecolor="white")
    FigureCanvasAgg(figure)
    frame = Frame(figure, width, height, room)
    y = height - _MARGIN
    for (text, size, color), used in zip(parts, heights, strict=True):
        style = {"size": size, "color": color, "va": "top", "linespacing": 1.15}
        frame.text(_MARGIN, y, text, **style)
        y -= used
    return frame


def settle(axes: Axes) -> None:
    """Make the ticks, and fix those of the y axis, while the style holds.

    They would be made when they are drawn, and as many as fit the font size that holds then.
    """
    low, high = sorted(axes.get_ylim())
    axes.set_yticks([tick for tick in axes.get_yticks() if low <= tick <= high])
    axes.get_xticklabels()
    axes.get_yticklabels()


def number_ticks(axis: Axis, low: float, high: float, most: int) -> None:
    """Round numbers within low and high as ticks, about `most` of them, fixed here and now."""
    from matplotlib.ticker import MaxNLocator

    steps = [1, 2, 2.5, 5, 10] if high - low > 5 else [1, 2, 5, 10]  # 57.5, but not 57.25
    found = MaxNLocator(max(most, 1), steps=steps).tick_values(low, high)
    ticks = [float(tick) for tick in found if low <= tick <= high]
    axis.set_ticks(ticks, labels=[f"{tick:.10g}".replace("-", "\N{MINUS SIGN}") for tick in ticks])


def percent_limits(shares: Iterable[float]) -> tuple[float, float]:
    """Limits in percent around shares of [0, 1], with room for marks on the outermost."""
    shown = [100 * share for share in shares]
    low, high = min(shown), max(shown)
    # A point at least is shown, so that what is nothing does not look like much.
    room = max(0.06 * (high - low), (1.0 - (high - low)) / 2)
    return max(low - room, -2.0), min(high + room, 102.0)


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """`places` moved apart to at least `gap`, in their order, within low and high if they fit.

    Places that would overlap share the mean of where they would stand, as few as need to.
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    blocks: list[tuple[float, list[int]]] = []  # centre, members
    for i in order:
        blocks.append((places[i], [i]))
        while len(blocks) > 1 and _touch(blocks[-2], blocks[-1], gap):
            (_, first), (_, second) = blocks[-2], blocks[-1]
            members = first + second
            blocks[-2:] = [(sum(places[m] for m in members) / len(members), members)]
    moved = [0.0] * len(places)
    at = low
    for centre, members in blocks:
        start = max(at, centre - gap * (len(members) - 1) / 2)
        for n, member in enumerate(members):
            moved[member] = start + n * gap
        at = start + gap * len(members)
    # What was pushed over the upper end comes back down, the highest first.
    limit = high
    for member in reversed([m for _, members in blocks for m in members]):
        moved[member] = min(moved[member], limit)
        limit = moved[member] - gap
    return moved


def _touch(lower: tuple[float, list[int]], upper: tuple[float, list[int]], gap: float) -> bool:
    distance = upper[0] - lower[0]
    return distance < gap * (len(lower[1]) + len(upper[1])) / 2

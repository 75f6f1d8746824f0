"""What a figure shows, read back: its texts and where they stand, its cells, its colours."""

import io
import itertools
import re

from matplotlib.colors import to_hex
from matplotlib.text import Text

from featbert.report.figures import style


def texts(figure):
    """All text that shows, with its box in pixels."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    beyond = set()  # ticks outside of what an axis shows have labels that are not drawn
    for axis in [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]:
        low, high = sorted(axis.get_view_interval())
        ticks = [tick for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high]
        beyond |= {label for tick in ticks for label in (tick.label1, tick.label2)}
    found = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    found = [t for t in found if t not in beyond]
    return [(t.get_text(), t.get_window_extent(renderer)) for t in found]


def check_readable(figure):
    """No text is cut off by the figure's edge, and no two texts overlap."""
    boxes = texts(figure)
    assert boxes
    page = figure.bbox
    for text, box in boxes:
        assert box.x0 >= page.x0 - 0.5, text
        assert box.y0 >= page.y0 - 0.5, text
        assert box.x1 <= page.x1 + 0.5, text
        assert box.y1 <= page.y1 + 0.5, text
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        down = min(a.y1, b.y1) - max(a.y0, b.y0)
        # A box has room for descenders that a line may not have.
        assert min(across, down) <= 2, (one, other)


def cell_texts(axes):
    """Cells of a panel, row by row, by where their text stands."""
    rows = {}
    for text in axes.texts:
        x, y = text.get_position()
        rows.setdefault(int(y), {})[int(x)] = text.get_text()
    return [[rows[i][j] for j in sorted(rows[i])] for i in sorted(rows)]


def panels(figure):
    return [axes for axes in figure.axes if axes.texts]


def check_colors(figure):
    """The figure is drawn in the style's colours alone, so that a page can change them."""
    buffer = io.BytesIO()
    with style.styled():
        figure.savefig(buffer, format="svg")
    used = set(re.findall(r"#[0-9a-fA-F]{6}\b", buffer.getvalue().decode("utf-8")))
    known = {style.INK, style.FAINT, style.GRID, style.EMPTY, style.ON_LIGHT, style.ON_DARK}
    known |= {"#ffffff", *style.COLORS}
    known |= {to_hex(style.sequential()(i / 255)) for i in range(256)}
    assert used <= {color.lower() for color in known}
    assert used

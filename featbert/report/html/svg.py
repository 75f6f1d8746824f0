"""A figure as SVG inside a page.

Text becomes outlines, so that it looks alike wherever the page is read; what it says stands in the
caption and in the tables. Names of outlines and clips are unique in the page.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from featbert.report.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAME = re.compile(r'(\bid="|href="#|url\(#)([^")]+)')
_PATH = re.compile(r'\bd="[^"]*"')
_LONG = re.compile(r"(\d\.\d\d)\d+")
_SIZE = re.compile(r'\b(width|height)="([\d.]+)pt"')
# A page is read from further away than paper: text of 7 points becomes as large as its own.
_SCALE = 1.4


def inline_svg(figure: Figure, *, prefix: str, label: str) -> str:
    """An `<svg>` element; `label` is what a screen reader says, already escaped.

    Args:
        prefix: what makes the names in it unique among the figures of the page.
    """
    buffer = io.BytesIO()
    with style.styled():
        figure.savefig(
            buffer,
            format="svg",
            transparent=True,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    text = buffer.getvalue().decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = _NAME.sub(rf"\g<1>{prefix}-\g<2>", text)
    # A hundredth of a point is finer than any screen.
    text = _PATH.sub(lambda path: _LONG.sub(r"\1", path[0]), text)
    text = re.sub(r"\n\s*", "\n", text)
    head, end, rest = text.partition(">")
    head = _SIZE.sub(lambda found: f'{found[1]}="{_SCALE * float(found[2]):.1f}pt"', head)
    named = head.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
    return f"{named}{end}{rest}"

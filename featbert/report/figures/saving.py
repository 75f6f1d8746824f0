"""Figures to files: the same figure gives the same bytes, whenever it is saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from featbert.errors import FeatbertError, InputError, nearest
from featbert.io import cannot_write, replacing
from featbert.report.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What matplotlib would write into each format: the time, and its own version.
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
}
_DOTS_PER_INCH = 200  # twice a screen's 100


def save_figure(figure: Figure, path: Path | str) -> Path:
    """Write a figure as PNG (200 dots per inch), PDF or SVG, by the ending of `path`.

    The file appears whole or not at all; folders above it are made.

    Returns:
        The path.

    Raises:
        InputError: another ending.
        FeatbertError: the file could not be written; nothing is left behind.
    """
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in _METADATA:
        known = [f".{name}" for name in _METADATA]
        raise InputError(
            f"a figure's file ending in {', '.join(known)} expected, found {path.name!r}"
            f"{nearest(path.suffix, known)}"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            replacing(path, durable=False) as temporary,
            style.styled(),
            temporary.open("wb") as file,
        ):
            figure.savefig(file, format=kind, dpi=_DOTS_PER_INCH, metadata=_METADATA[kind])
    except OSError as error:
        raise FeatbertError(f"figure {cannot_write(path, error)}") from error
    return path

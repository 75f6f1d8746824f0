"""A table for every format: a frame, and how people read its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from featbert.units import NONE, percent, visible

if TYPE_CHECKING:
    import pandas


class Cell(NamedTuple):
    """A value as people read it, and whether it is marked."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Column:
    """A view of a frame's column, or of two, such as a mean and its spread.

    Attributes:
        name, second: of the frame's columns.
        joint: text between the two values.
        best: places of the lines with a marked value.
        missing: texts of lines without a value.
        joined: whether it means nothing without the column before it.
    """

    head: str
    name: str
    show: Callable[[Any], str] = str
    second: str = ""
    joint: str = " ± "
    best: Iterable[int] = ()
    right: bool = True
    missing: Mapping[int, str] = field(default_factory=dict)
    joined: bool = False

    def cells(self, frame: pandas.DataFrame) -> list[Cell]:
        """The frame's values as people read them."""
        texts = self._texts(frame, self.name)
        shown = [
            self.missing.get(i, NONE) if text is None else text for i, text in enumerate(texts)
        ]
        if self.second:
            pairs = zip(shown, self._texts(frame, self.second), strict=True)
            shown = [
                first if second is None else f"{first}{self.joint}{second}"
                for first, second in pairs
            ]
        best = {*self.best}
        return [Cell(visible(text), place in best) for place, text in enumerate(shown)]

    def _texts(self, frame: pandas.DataFrame, name: str) -> list[str | None]:
        pairs = zip(frame[name].tolist(), frame[name].notna(), strict=True)
        return [self.show(value) if present else None for value, present in pairs]


@dataclass
class Table:
    """A table for every format. Its texts are made safe to show.

    Attributes:
        sections: whether a rule is drawn before each row.
        legend: meaning of the columns, one line each.
    """

    title: str
    frame: pandas.DataFrame
    columns: Sequence[Column]
    subtitle: str = ""
    sections: Sequence[bool] = ()
    legend: Sequence[str] = ()
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.title, self.subtitle = visible(self.title), visible(self.subtitle)
        self.sections = self.sections or [False] * len(self.frame)
        self.legend = [*map(visible, self.legend)]
        self.notes = [f"note: {visible(note)}" for note in self.notes]

    def rows(self) -> list[tuple[Cell, ...]]:
        """Cells by row."""
        return [*zip(*(column.cells(self.frame) for column in self.columns), strict=True)]


def name_column(head: str, name: str = "") -> Column:
    return Column(head, name or head, right=False)


def score_column(head: str, name: str, best: Iterable[int] = ()) -> Column:
    """Scores in percent with their standard deviation over seeds."""
    return Column(head, f"{name}_mean", percent, f"{name}_sd", best=best)

"""A table for every format: lines of values by name, and how people read its columns."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from featbert.analysis.frame import has_value
from featbert.units import NONE, percent, visible

# The detail of columns that a terminal shows only with --wide, or if --columns names them.
ONLY_WIDE = 9


class Cell(NamedTuple):
    """A value as people read it, and whether it is marked."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Column:
    """A view of one value of each line, or of two, such as a mean and its spread.

    Attributes:
        name, second: keys of the lines.
        form: of two values.
        best: places of the lines with a marked value.
        missing: texts of lines without a value.
        joined: whether it means nothing without the column before it.
        detail: 0 is shown always. A terminal without room leaves out the highest first, and
            `ONLY_WIDE` unless somebody asks for it.
    """

    head: str
    name: str
    show: Callable[[Any], str] = str
    second: str = ""
    form: str = "{} ± {}"
    best: Iterable[int] = ()
    right: bool = True
    missing: Mapping[int, str] = field(default_factory=dict)
    joined: bool = False
    detail: int = 0

    def cells(self, lines: Sequence[Mapping[str, Any]]) -> list[Cell]:
        """The values of lines as people read them."""
        best, cells = {*self.best}, []
        for place, line in enumerate(lines):
            value, second = line.get(self.name), line.get(self.second)
            text = self.show(value) if has_value(value) else self.missing.get(place, NONE)
            if has_value(second):
                text = self.form.format(text, self.show(second))
            cells.append(Cell(visible(text), place in best))
        return cells


@dataclass
class Table:
    """A table for every format. Its texts are made safe to show.

    Attributes:
        lines: values by name. A missing value is absent, None or not a number.
        sections: whether a rule is drawn before each line.
        legend: meaning of the columns, one text each.
        answer: the conclusion from the table, line by line.
    """

    title: str
    lines: Sequence[Mapping[str, Any]]
    columns: Sequence[Column]
    subtitle: str = ""
    sections: Sequence[bool] = ()
    legend: Sequence[str] = ()
    notes: Sequence[str] = ()
    answer: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.title, self.subtitle = visible(self.title), visible(self.subtitle)
        self.sections = self.sections or [False] * len(self.lines)
        self.legend = [*map(visible, self.legend)]

    @property
    def remarks(self) -> list[str]:
        """The legend, then the notes, each a text."""
        return [*self.legend, *(f"note: {visible(note)}" for note in self.notes)]

    def rows(self) -> list[tuple[Cell, ...]]:
        """Cells by line."""
        return [*zip(*(column.cells(self.lines) for column in self.columns), strict=True)]


def name_column(head: str, name: str = "") -> Column:
    return Column(head, name or head, right=False)


def score_column(head: str, name: str, best: Iterable[int] = ()) -> Column:
    """Scores in percent with their standard deviation over seeds."""
    return Column(head, f"{name}_mean", percent, f"{name}_sd", best=best)

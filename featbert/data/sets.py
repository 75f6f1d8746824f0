"""Sets of classes: texts or pairs with no, one or several classes each.

    {"text": "...", "labels": ["price", "service"]}    a list, also as pandas writes it
    text<TAB>labels       "..."<TAB>price|service      an empty cell is the empty set
    text,price,service    "...",1,0                    a column of 0 and 1 for each class

A set is one tag: its classes, sorted, with `SEPARATOR` between them. The empty set is "".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from featbert.data.answers import count_missing, missing_mark, number_of, rejected
from featbert.data.columns import IDS, named_column, usual_column
from featbert.data.examples import TextReader, class_name
from featbert.data.files import RawRow
from featbert.data.jsonl import literal
from featbert.errors import InputError
from featbert.progress import notice
from featbert.text import excerpt, listed

SEPARATOR = "|"


def joined(classes: Iterable[str]) -> str:
    """The tag of a set."""
    return SEPARATOR.join(sorted({*classes}))


def classes_of(tag: str) -> list[str]:
    """The classes of a set, sorted."""
    return tag.split(SEPARATOR) if tag else []


@dataclass
class SetReader(TextReader):
    """Reads examples with a set of classes each.

    `class_columns` are the columns of 0 and 1, one for each class.
    """

    class_columns: Sequence[str] = ()
    first: Mapping[Any, Any] = field(default_factory=dict)
    marks = ()  # any text can be a class

    def begin(self, first: RawRow) -> None:
        self.first = first.values
        super().begin(first)

    def target_of(self, names: Sequence[str], where: object, *texts: str | None) -> str | None:
        """The column of sets. None if each class has a column, as for a list of names.

        Without a usual name all other columns are classes if each of them holds 0 or 1.
        """
        target = self.options.target
        if isinstance(target, str) and "," in target and target not in names:
            columns = (name.strip() for name in target.split(","))
            self.class_columns = [named_column(name, names, "target", where) for name in columns]
            return None
        columns_left = [n for n in names if n not in texts and str(n).lower() not in IDS]
        hold_flags = all(flag(self.first.get(name)) is not None for name in columns_left)
        flags = columns_left if hold_flags else []
        if target is None and self.keys and flags and not usual_column(flags, self.keys):
            self.class_columns = flags
            notice(f"read as classes of {self.path.name}, columns of 0 and 1: {listed(flags)}")
            return None
        return super().target_of(names, where, *texts)

    def value_of(self, row: RawRow, target: str | None) -> Any:
        """The value in the column of sets, or whether each class has a 1. None if unknown."""
        if self.class_columns:
            cells = {name: row.values.get(name) for name in self.class_columns}
            missing_values = self.options.missing_values
            marks = [missing_mark(cell, missing_values) for cell in cells.values()]
            if mark := rejected(row.values) or (marks[0] if all(marks) else None):
                count_missing(self.notes, mark)
                return None
            for name, cell in cells.items():
                if flag(cell) is None:
                    raise InputError(
                        f"{excerpt(str(cell))} in column {name}, {row.where}; a column of a class "
                        "holds 0 or 1"
                    )
            return [name for name, cell in cells.items() if flag(cell)]
        if target is None:
            return None
        value = literal(row.values.get(target))
        is_empty = value in ("", [], {}) and "" not in (self.options.missing_values or ())
        return [] if is_empty else super().value_of(row, target)

    def answer(self, value: Any) -> str:
        if isinstance(value, dict) and all(share in (0, 1) for share in value.values()):
            value = [name for name, share in value.items() if share]
        if isinstance(value, str):
            parts = value.split(self.options.class_separator)
            value = [part.strip() for part in parts if part.strip()]
        classes = [class_name(item) for item in (value if isinstance(value, list) else [value])]
        for name in classes:
            if not name:
                raise ValueError("a class without a name")
            if SEPARATOR in name:
                raise ValueError(f"{SEPARATOR} in the class {excerpt(name)}, which cannot be kept,")
            if classes.count(name) > 1:
                flags = " (names are read, no list of 0 and 1)" if {*classes} <= {"0", "1"} else ""
                raise ValueError(f"the class {excerpt(name)} twice{flags}")
        return joined(classes)


def flag(cell: Any) -> bool | None:
    """Whether a cell of a class holds 1; None if it holds neither 0 nor 1."""
    if isinstance(cell, bool) or str(cell).strip().lower() in ("true", "false"):
        return str(cell).strip().lower() == "true"
    number = number_of(cell)
    return bool(number) if number in (0, 1) else None

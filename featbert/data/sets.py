"""Sets of classes: texts or pairs with no, one or several classes each.

    {"text": "...", "labels": ["price", "service"]}    a list, also as pandas writes it
    text<TAB>labels       "..."<TAB>price|service      an empty cell is the empty set
    text,price,service    "...",1,0                    a column of 0 and 1 for each class

A set is one tag: its classes, sorted, with `SEPARATOR` between them. The empty set is "".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from featbert.data.answers import count_missing, missing_mark, number_of, rejected, renamed
from featbert.data.columns import IDS, ROW_NUMBERS, named_column, usual_column, usual_columns
from featbert.data.examples import TextReader, answer_in, class_name
from featbert.data.files import RawFile, RawRow
from featbert.data.options import ReadingOptions
from featbert.errors import InputError, spelling
from featbert.progress import notice
from featbert.text import excerpt, listed

SEPARATOR = "|"


def joined(classes: Iterable[str]) -> str:
    """The tag of a set."""
    return SEPARATOR.join(sorted({*classes}))


def classes_of(tag: str) -> list[str]:
    """The classes of a set, sorted."""
    return tag.split(SEPARATOR) if tag else []


def not_one_class(name: str) -> str:
    """Why a name cannot be a class of a set, and what to do."""
    fault = f"the class {excerpt(name)} holds {SEPARATOR}, which separates classes"
    return f"{fault} (write another sign in its name)"


@dataclass
class SetReader(TextReader):
    """Reads examples with a set of classes each."""

    class_columns: Sequence[str] = ()  # of 0 and 1, one for each class
    first: Mapping[Any, Any] = field(default_factory=dict)
    marks = ()  # any text can be a class
    takes_only_column = True

    def begin(self, first: RawRow) -> None:
        self.first = first.values
        super().begin(first)

    @staticmethod
    def settled(files: Sequence[RawFile], options: ReadingOptions) -> list[RawFile]:
        """All files. If the named column has 0 and 1, these mark the class of that name."""
        tags = {tag for file in files for s in file.sentences for tag in s.tags or ()}
        target, are_flags = options.target, None not in map(flag, tags - {""})
        if not isinstance(target, str) or SEPARATOR in target or options.label_names:
            return [*files]
        if tags <= {""} or not are_flags:
            return [*files]
        notice(f"read as a class, a column of 0 and 1: {listed([target])}")
        return renamed(files, {tag: target if flag(tag) else "" for tag in tags} | {"": None})

    def target_of(self, names: Sequence[str], where: object, *texts: str | None) -> str | None:
        """The column of sets. None if each class has a column, as for a list of names."""
        if self.keys:
            self.class_columns = self._class_columns(names, where, *texts)
        if not self.class_columns:
            return super().target_of(names, where, *texts)
        self.notes["answer_columns"] = (*self.class_columns,)
        return None

    def _class_columns(
        self, names: Sequence[str], where: object, *texts: str | None
    ) -> Sequence[str]:
        """The columns that the caller names in a list, or that are classes in train.

        In train, without a usual name, all other columns are classes if each holds 0 or 1.
        InputError for a part that lacks some classes of train, or has others.
        """
        target, keys, of_train = self.options.target, self.keys or (), self.answers_of_train
        if isinstance(target, str) and "," in target and target not in names:
            target_names = [name.strip() for name in target.split(",")]
            if not (self.must or usual_columns(names, [*map(str.lower, target_names)])):
                return ()
            columns = [named_column(name, names, "target", where) for name in target_names]
            for name in columns:
                if columns.count(name) > 1:
                    raise InputError(f"names column {name} twice; name it once", setting="target")
            return columns
        if target is not None:
            return ()
        no_answers = {*texts, *IDS, *ROW_NUMBERS}
        columns_left = [n for n in names if no_answers.isdisjoint((n, str(n).lower()))]
        flags = [name for name in columns_left if flag(self.first.get(name)) is not None]
        if not of_train or usual_column(of_train, keys):
            if not flags or flags != columns_left or usual_column(flags, keys):
                return ()
            notice(f"read as classes of {self.path.name}, columns of 0 and 1: {listed(flags)}")
            return flags
        columns = [name for name in of_train if name in columns_left]
        lacking = [name for name in of_train if name not in columns]
        further = [name for name in flags if name not in columns]
        for fault, classes in (("lacks", lacking if columns else ()), ("also has", further)):
            if classes:
                raise InputError(
                    f"the classes of train are {listed(of_train)}, but {where} {fault} "
                    f"{listed(classes)}; name the columns of classes: "
                    f"{spelling('target', ','.join(of_train))}"
                )
        return columns

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
                    other_columns = ",".join(column for column in cells if column != name)
                    advice = f"if {name} is no class, give {spelling('target', other_columns)}"
                    if all(value == cell for value in cells.values()):
                        advice = f"if it means no answer, give {spelling('missing', cell)}"
                    raise InputError(
                        f"{excerpt(str(cell))} in column {name}, {row.where}; a column of a class "
                        f"holds 0 or 1; {advice}"
                    )
            return [name for name, cell in cells.items() if flag(cell)]
        value = answer_in(row, target)
        if value in ("", [], {}) and "" not in (self.options.missing_values or ()):
            return []
        item = super().value_of(row, target)
        return [item] if isinstance(value, list) and isinstance(item, str) else item

    def answer(self, value: Any) -> str:
        if isinstance(value, dict) and all(share in (0, 1) for share in value.values()):
            value = [name for name, share in value.items() if share]
        elif isinstance(value, list) and len(value) > 1 and None not in map(flag, value):
            value = self._numbers_of_ones(value)
        if isinstance(value, str):
            parts = value.split(self.options.class_separator)
            value = [part.strip() for part in parts if part.strip()]
        items = value if isinstance(value, list) else [value]
        missing_values = {"-100"}
        if len(items) > 1:
            missing_values |= {"_", *(self.options.missing_values or ())}
        if mark := next(filter(None, (missing_mark(item, missing_values) for item in items)), None):
            raise ValueError(f"{mark} among the classes of a text (name all of them, or none),")
        classes = [class_name(item) for item in items]
        for name in classes:
            if SEPARATOR in name:
                raise ValueError(f"{not_one_class(name)},")
            if classes.count(name) > 1:
                raise ValueError(f"the class {excerpt(name)} twice")
        return joined(classes)

    def _numbers_of_ones(self, flags: Sequence[Any]) -> Sequence[Any]:
        """The numbers of classes with 1 in a list of 0 and 1.

        ValueError without as many names of classes, and for [0, 1], which may also be two numbers.
        Without names [0, 1] has the numbers 0 and 1.
        """
        names, shown = (self.options.label_names or "").split(","), str([*flags])
        is_clear = len(flags) > len({*flags})
        if len(names) == len(flags) and is_clear:
            return [str(number) for number, item in enumerate(flags) if flag(item)]
        if is_clear:
            option = spelling("label_names", "NAME,NAME,...")
            raise ValueError(f"{shown} needs {len(flags)} names of classes ({option}),")
        if len(names) == len(flags):
            raise ValueError(f"{shown} may be two numbers of classes, or flags (write names),")
        return flags


def flag(cell: Any) -> bool | None:
    """Whether a cell of a class holds 1. None if it holds neither 0 nor 1."""
    if isinstance(cell, bool) or str(cell).strip().lower() in ("true", "false"):
        return str(cell).strip().lower() == "true"
    number = number_of(cell)
    return bool(number) if number in (0, 1) else None

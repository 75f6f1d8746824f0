"""How the files of a corpus are read, as far as the caller says it."""

from collections.abc import Collection
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from featbert.data.columns import Column, lower_names
from featbert.data.nested import NESTED
from featbert.errors import InputError, check_known, spelling


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Options of `load_corpus`. InputError for a value that no file could be read with.

    The fields of `config.Data` with the same names describe the values. Further rules:

    Attributes:
        language: BCP 47 code, by default the name of the folder or of the dataset's configuration,
            if that is a code (wikiann/de), which then is also in the corpus name ("wikiann-de").
        token_column, tag_column, text, pair, target: keys, names in a header or of CoNLL-U
            ("upos"), or numbers from 1, by default the columns with usual names (`columns`), for
            words else the first and the last one.
        dev_share, fold: whole documents, or examples, always the same ones. The fold becomes test
            before the share of train becomes dev.
        alone: split of a single file, if its name says none.
    """

    language: str | None = None
    encoding: str = "utf-8"
    file_scheme: str = "auto"
    token_column: Column | None = None
    tag_column: Column | None = None
    delimiter: str | None = None
    quoting: str = "auto"
    escape: str | None = None
    class_separator: str = "|"
    label_names: str | None = None
    text: Column | None = None
    pair: Column | None = None
    target: Column | None = None
    limit: int | None = None
    dev_share: float | None = None
    folds: int | None = None
    fold: int | None = None
    answerable: bool = False
    missing: str | None = None
    first_choice: int | None = None
    nested: str = "outermost"
    alone: str = "train"

    def __post_init__(self) -> None:
        for name, sign in (("delimiter", self.delimiter), ("escape", self.escape)):
            if sign is not None and (len(sign) != 1 or sign in '"\r\n'):
                raise InputError(f"{sign!r} is not one character other than a quote", setting=name)
        if not self.class_separator:
            raise InputError("is empty; give one or several characters", setting="class_separator")
        check_known(spelling("quoting"), [self.quoting], ("auto", "none", "double"))
        check_known(spelling("nested"), [self.nested], NESTED)

    @property
    def changed(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        values = ((field, getattr(self, field.name)) for field in fields(self))
        return {field.name: value for field, value in values if value != field.default}

    @property
    def name_texts(self) -> bool:
        """Whether a column of texts or of their answers is named."""
        return any(column is not None for column in (self.text, self.pair, self.target))

    @cached_property
    def missing_values(self) -> frozenset[str] | None:
        """Values that are no answer, or None if the caller does not say."""
        if not self.missing:
            return None if self.missing is None else frozenset()
        return frozenset(value.strip() for value in self.missing.split(","))

    def are_in(self, names: Collection[str]) -> bool:
        """Whether these names have a column that is named here."""
        columns = (self.text, self.pair, self.target, self.token_column, self.tag_column)
        names_here = {column.lower() for column in columns if isinstance(column, str)}
        return not names_here.isdisjoint(lower_names(names))

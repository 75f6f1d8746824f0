"""Registries: names, and the module and attribute that has the object of each name.

A registration is one line. Names are listed and checked without importing anything.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from featbert.errors import check_known

E = TypeVar("E", bound="Entry")


@dataclass(frozen=True)
class Entry:
    """A registered object. A subclass adds facts that are read before the object is imported.

    Attributes:
        home: module and attribute, "featbert.models.bilstm:BiLSTM".
    """

    home: str

    @property
    def module(self) -> str:
        return self.home.partition(":")[0]

    def load(self) -> Any:
        """The object. Imports its module."""
        return getattr(importlib.import_module(self.module), self.home.partition(":")[2])


class Registry(dict[str, E]):
    """Entries by name, in display order. `noun` names their kind in errors.

    InputError, with the nearest name, for a name that is not registered.
    """

    def __init__(self, noun: str, entries: Mapping[str, E]) -> None:
        super().__init__(entries)
        self.noun = noun

    def __missing__(self, name: str) -> E:
        check_known(self.noun, [name], self)
        raise KeyError(name)

    def load(self, name: str) -> Any:
        """The object of a name."""
        return self[name].load()

    def attribute(self, name: str) -> Any:
        """The object of a name, as `__getattr__` of a module: AttributeError for other names."""
        if name not in self:
            raise AttributeError(f"no {self.noun} {name!r}")
        return self.load(name)

"""Names that are imported when they are used: importing featbert must not import torch."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def attach(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` (PEP 562) of a package.

    Args:
        package: the package's full name.
        homes: full name of the module that defines each name that is not imported yet.
    """

    def get(name: str) -> Any:
        if name in homes:
            return getattr(importlib.import_module(homes[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*vars(importlib.import_module(package)), *homes})

    return get, names


def load_for_good(module: str) -> None:
    """Imports a module of many parts into a process of its own, not into one that others share.

    Garbage collection rests meanwhile, since all that a module makes stays, and later collections
    leave out what is there then. Torch has half a million objects to look through.
    """
    if module in sys.modules:
        return
    gc.disable()
    try:
        importlib.import_module(module)
    finally:
        gc.enable()
    gc.freeze()


def late(module: str, name: str) -> Any:
    """A function of a folder that stands after the caller's, imported at the moment of the call.

    For nouns that show themselves: what draws a comparison stands after it, and yet it is the
    comparison that a notebook asks. Both arguments are literals, which a test looks up.

    Args:
        module: full name of the module that defines it.
    """
    return getattr(importlib.import_module(module), name)

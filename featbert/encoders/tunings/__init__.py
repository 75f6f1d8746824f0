"""Ways to tune an encoder: a module each, with its `TUNING`."""

from __future__ import annotations

import importlib

from featbert.encoders.tunings.base import Tuning
from featbert.errors import InputError, nearest

# A line each; the name is that of the module.
_MODULES = (
    "none",
    "full",
    "bitfit",
)
TUNINGS: dict[str, Tuning] = {
    name: importlib.import_module(f"featbert.encoders.tunings.{name}").TUNING for name in _MODULES
}


def get_tuning(name: str) -> Tuning:
    """The tuning called `name`; raises InputError where there is none."""
    if name not in TUNINGS:
        known = ", ".join(TUNINGS)
        raise InputError(f"unknown tuning {name!r}{nearest(name, TUNINGS)}; known: {known}")
    return TUNINGS[name]

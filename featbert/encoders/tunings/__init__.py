"""Ways to tune an encoder: a module each, with its `TUNING`."""

from __future__ import annotations

import importlib

from featbert.encoders.tunings.base import Tuning
from featbert.errors import check_known

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
    check_known("tuning", [name], TUNINGS)
    return TUNINGS[name]

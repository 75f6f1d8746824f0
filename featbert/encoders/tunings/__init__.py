"""Ways to tune an encoder, by name. A new one is a module here and a name in `TUNINGS`."""

from __future__ import annotations

from featbert.encoders.tunings import full, none
from featbert.encoders.tunings.base import Tuning
from featbert.errors import InputError, nearest

TUNINGS: dict[str, Tuning] = {tuning.name: tuning for tuning in (none.TUNING, full.TUNING)}


def get_tuning(name: str) -> Tuning:
    """The tuning called `name`.

    Raises:
        InputError: there is none.
    """
    if name not in TUNINGS:
        known = ", ".join(TUNINGS)
        raise InputError(f"unknown tuning {name!r}{nearest(name, TUNINGS)}; known: {known}")
    return TUNINGS[name]

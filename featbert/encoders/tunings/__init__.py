"""Ways to tune an encoder: a module each, with its `TUNING`."""

import importlib

from featbert.encoders.tunings.base import Tuning
from featbert.errors import InputError, check_known

# A line each; the module is called so, with _ for -.
_MODULES = (
    "none",
    "full",
    "head-then-full",
    "top",
    "lora",
    "ia3",
    "bitfit",
    "layernorm",
)
TUNINGS: dict[str, Tuning] = {
    name: importlib.import_module(f"{__name__}.{name.replace('-', '_')}").TUNING
    for name in _MODULES
}


def get_tuning(name: str) -> Tuning:
    """The tuning called `name`, such as "full" or "top:2"; raises InputError where there is none.

    Without its number it has that of `TUNINGS`.
    """
    way, colon, number = name.partition(":")
    check_known("tuning", [way], TUNINGS)
    tuning = TUNINGS[way]
    if not colon:
        return tuning
    if tuning.numbered is None:
        raise InputError(f"tuning {way} has no number, but it is {name!r}")
    if not (number.isascii() and number.isdecimal() and int(number)):
        raise InputError(
            f"tuning is {name!r}; after {way}: there is a number from 1, as in {way}:2"
        )
    return tuning.numbered(int(number))


def tuning_title(name: str) -> str:
    """What people read for a way to tune; names that are not known stay as they are."""
    return get_tuning(name).title if name.partition(":")[0] in TUNINGS else name

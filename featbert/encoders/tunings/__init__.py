"""Ways to tune an encoder: a module each, with its `TUNING`."""

from featbert.encoders.tunings.base import Tuning
from featbert.errors import InputError
from featbert.registry import Entry, Registry

TUNINGS = Registry(
    "tuning",
    {
        "none": Entry("featbert.encoders.tunings.none:TUNING"),
        "full": Entry("featbert.encoders.tunings.full:TUNING"),
        "head-then-full": Entry("featbert.encoders.tunings.head_then_full:TUNING"),
        "top": Entry("featbert.encoders.tunings.top:TUNING"),
        "lora": Entry("featbert.encoders.tunings.lora:TUNING"),
        "ia3": Entry("featbert.encoders.tunings.ia3:TUNING"),
        "bitfit": Entry("featbert.encoders.tunings.bitfit:TUNING"),
        "layernorm": Entry("featbert.encoders.tunings.layernorm:TUNING"),
        "contrastive": Entry("featbert.encoders.tunings.contrastive:TUNING"),
    },
)


def get_tuning(name: str) -> Tuning:
    """The tuning called `name`, such as "full" or "top:2". InputError for an unknown name.

    A family such as "top" without a number has its default number.
    """
    family, colon, number = name.partition(":")
    tuning: Tuning = TUNINGS.load(family)
    if not colon:
        return tuning
    if tuning.numbered is None:
        raise InputError(f"is {name!r}, but {family} has no number", setting="tuning")
    if not (number.isascii() and number.isdecimal() and int(number)):
        raise InputError(f"{name!r} has no number from 1, as in {family}:2", setting="tuning")
    return tuning.numbered(int(number))


def tuning_title(name: str) -> str:
    """The name of a tuning for people. An unknown name stays as it is."""
    return get_tuning(name).title if name.partition(":")[0] in TUNINGS else name

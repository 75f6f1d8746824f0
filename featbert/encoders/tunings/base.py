"""A tuning: which parameters of the encoder are trained, in which epoch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True)
class Tuning:
    """A method of tuning an encoder.

    Attributes:
        name: as in settings: "full", or "top:2" for a tuning with a number.
        title: for people: "fine-tuning".
        defaults: settings that differ from `config.Settings`, from a search on dev.
        settings: names of settings that only some tunings have.
        trains: whether a parameter of the encoder is trained, given its name, its depth (0 the
            embeddings, 1..L the layers), the settings, L and the epoch (from 1).
        frozen: whether the encoder is not trained, so that its states come from a store.
        prepare: changes the encoder before training, such as by adding adapters. The states do not
            change. InputError if it cannot.
        check: raises InputError for settings that an encoder of L layers cannot be tuned with.
        numbered: the same tuning with another number.
        trainer: how a model on such an encoder is fitted (`training.trainers`).
        by_width: whether the default learning rate falls with the encoder's width, as it trains
            whole weight matrices (`config.rate_at_width`).
    """

    name: str
    title: str
    defaults: Mapping[str, Any]
    trains: Callable[[str, int, Any, int, int], bool] = lambda *_: False
    settings: tuple[str, ...] = ()
    frozen: bool = False
    prepare: Callable[[Any, Any], None] = field(default=lambda *_: None, repr=False)
    check: Callable[[Any, int], None] = lambda *_: None
    numbered: Callable[[int], Self] | None = None
    trainer: str = "gradient"
    by_width: bool = False

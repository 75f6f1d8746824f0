"""A way to tune: which parameters of the encoder are trained, in which epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Tuning:
    """A way to tune an encoder.

    Attributes:
        name: as in settings: "full", or "top:2" of a way that has a number.
        title: for people: "fine-tuning".
        defaults: settings that differ from those of `config.Settings`, from a search on dev.
        settings: names of settings that only some ways have.
        trains: whether a parameter of the encoder is trained, given its name, its depth (0 the
            embeddings, 1..L the layers), the settings, L and the epoch (from 1).
        frozen: the encoder stays as it is, so that its states come from a store.
        prepare: changes the encoder before training, such as by adding adapters; the states stay
            what they are. InputError where it cannot.
        check: raises InputError for settings that an encoder of L layers cannot be tuned with.
        numbered: the same way with another number.
    """

    name: str
    title: str
    defaults: Mapping[str, Any]
    trains: Callable[[str, int, Any, int, int], bool] = lambda *_: False
    settings: tuple[str, ...] = ()
    frozen: bool = False
    prepare: Callable[[nn.Module, Any], None] = field(default=lambda *_: None, repr=False)
    check: Callable[[Any, int], None] = lambda *_: None
    numbered: Callable[[int], Tuning] | None = None

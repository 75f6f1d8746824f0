"""The interface of a tuning: how much of the encoder is trained."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """A way to tune an encoder.

    Attributes:
        name: in records, files and options.
        title: for people, such as "fine-tuning".
        frozen: whether the encoder stays as it is, so that its states come from a store.
    """

    name: str
    title: str
    frozen: bool = False

"""Names that are imported when they are used: importing featbert must not import torch."""

from __future__ import annotations

import importlib
from typing import Any


def late(module: str, name: str) -> Any:
    """A function of a folder that stands after the caller's, imported at the moment of the call.

    For nouns that show themselves: what draws a comparison stands after it, and yet it is the
    comparison that a notebook asks. Both arguments are literals, which a test looks up.

    Args:
        module: full name of the module that defines it.
    """
    return getattr(importlib.import_module(module), name)

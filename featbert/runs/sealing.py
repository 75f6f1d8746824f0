"""A checksum in a JSON record over all the rest of it: numbers that nobody wrote are not read.

Types and cross-checks find most damage, but no rule says that a training took 41.0 seconds and not
47.0. The checksum is no signature: it tells damage and edits, not who wrote the record.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

KEY = "checksum"


def sealed(data: dict[str, Any]) -> dict[str, Any]:
    """The plain data with its checksum, SHA-256 in hex, as the last key."""
    return data | {KEY: _checksum(data)}


def is_sealed(data: Any) -> bool:
    """Whether read data has a checksum and is as it was written."""
    try:
        return isinstance(data, dict) and data[KEY] == _checksum(without_seal(data))
    except (KeyError, RecursionError):
        return False


def is_intact(data: dict[str, Any]) -> bool:
    """Whether read data is as it was written; what has no checksum is older, and counts as such."""
    return KEY not in data or is_sealed(data)


def without_seal(data: dict[str, Any]) -> dict[str, Any]:
    """The data that the checksum is of."""
    return {name: value for name, value in data.items() if name != KEY}


def _checksum(data: dict[str, Any]) -> str:
    """Of the data as JSON says it, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()

"""Counts as words."""

from __future__ import annotations


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """1, "run" -> 1 run; 1234, "run" -> 1,234 runs; 2, "search", "searches" -> 2 searches"""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"

"""Counts, shares and runs in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """1, "run" -> 1 run; 1234, "run" -> 1,234 runs; 2, "search", "searches" -> 2 searches"""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def in_percent(share: float) -> str:
    """0.125 -> 12.5%: a share that somebody chose, with the digits that it was given."""
    return f"{100 * share:g}%"


def called(layers: str | None, settings: Mapping[str, Any]) -> str:
    """A run without its seed: its layers or fine-tuning, and how much of train it learned from."""
    share = settings.get("train_share", 1)
    return (layers or "fine-tuning") + ("" if share == 1 else f"  {in_percent(share)} of train")


def unusual(counts: Mapping[str, int]) -> str:
    """What was unusual in a text, of counts by name: "3 repaired tags, 1 unknown word", or ""."""
    return ", ".join(
        counted(n, name.replace("_", " ").removesuffix("s")) for name, n in counts.items() if n
    )


def named_sentence(number: int, split: str, words: Sequence[str]) -> str:
    """2, "train", ["EU", "rejects"] -> sentence 3 of train ('EU rejects'): its beginning."""
    return f"sentence {number + 1} of {split} ({' '.join(words)[:60]!r})"


def on_one_line(text: str) -> str:
    """`text` with what ends a line, or cannot be printed, written out: `\\n`, `\\x1b`."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def natural(text: str) -> list[tuple[int, str]]:
    """Sort key by which `layer:7` comes before `layer:10`: shorter numbers before longer ones."""
    pieces = [piece for piece in re.split("([0-9]+)", text) if piece]
    digits = [piece.lstrip("0") if piece[0] in "0123456789" else None for piece in pieces]
    return [
        (-1, piece) if number is None else (len(number), number)
        for piece, number in zip(pieces, digits, strict=True)
    ]

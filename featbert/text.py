"""Numbers, names and runs as text that is safe to print."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """1234, "run" -> 1,234 runs, or 2, "search", "searches" -> 2 searches, or 1, "run" -> 1 run"""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def enumerated(names: Iterable[str], joint: str = "and") -> str:
    """["a", "b", "c"] -> a, b and c"""
    *first, last = names
    return f"{', '.join(first)} {joint} {last}" if first else last


def in_percent(share: float) -> str:
    """0.125 -> 12.5%, with the digits of the number."""
    return f"{100 * share:g}%"


def unusual(counts: Mapping[str, int]) -> str:
    """Counts by name as text: "3 repaired tags, 1 unknown word", or "" if all are 0."""
    return ", ".join(
        counted(n, name.replace("_", " ").removesuffix("s")) for name, n in counts.items() if n
    )


def named_sentence(number: int, split: str, words: Sequence[str], unit: str = "sentence") -> str:
    """2, "train", ["EU", "rejects"] -> sentence 3 of train ('EU rejects')"""
    return f"{unit} {number + 1} of {split} ({' '.join(words)[:60]!r})"


def printable(text: str, keep: str = "") -> str:
    """`text` on one line with control and format characters, except `keep`, written out: `\\n`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in text)


def shortened(text: str, width: int = 60) -> str:
    """`text` cut to `width` characters, with an ellipsis at the end if it was longer."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def excerpt(text: str) -> str:
    """`text` quoted on one line for a message, cut at 60 characters."""
    return repr(shortened(text))


def listed(names: Iterable[str], most: int = 12, width: int = 60) -> str:
    """The first `most` names for a message, each cut to `width`, and how many follow."""
    texts = [printable(shortened(name, width)) for name in names]
    further = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + further


def json_text(data: Any) -> str:
    """Plain data as JSON, with non-ASCII letters as they are and all control characters escaped."""
    text = json.dumps(data, indent=1, ensure_ascii=False, default=str)
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def natural(text: str) -> list[tuple[int, str]]:
    """Sort key by which `layer:7` comes before `layer:10`: shorter numbers before longer ones."""
    pieces = filter(None, re.split("([0-9]+)", text))
    return [
        (len(number := piece.lstrip("0")), number) if piece[0] in "0123456789" else (-1, piece)
        for piece in pieces
    ]


def scaled(number: float, unit: str) -> str:
    """`12.3 MB`: the largest prefix that leaves a digit before the point, 3 digits at most."""
    if number < 1000:
        return f"{round(number)} {unit}".rstrip()
    power = 0
    while number >= 999.5 and power < 6:
        number /= 1000
        power += 1
    return f"{number:.{int(number < 99.95)}f} {' kMGTPE'[power]}{unit}"

"""One line of progress as text: what, a bar, how much, rate, time left, a note.

    extracting  ━━━━━━━━────────  12,000/301,418 words  4,600 words/s  1:02 left

Pure functions of numbers; `progress.py` puts them on a terminal.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

# Seconds of the past that a rate is taken from, so that it follows what goes on now, and those
# between two samples of it.
WINDOW = 30.0
SAMPLE = 0.2
FULL, EMPTY = "━", "─"
# Widths of the bar, where there is room.
BARS = (24, 12)


@dataclass
class Line:
    """One piece of work.

    Attributes:
        what, unit, total: as it is told; no total where nobody knows it.
        began: seconds on the clock that all times here are of.
        done: so far; a float where parts of a unit count.
        note: said at the end of the line, where there is room.
        window: seconds of the past that the rate is taken from.
    """

    what: str
    unit: str
    began: float
    total: int | None = None
    done: float = 0
    note: str = ""
    window: float = WINDOW
    _at: float = 0
    _seen: deque[tuple[float, float]] = field(default_factory=deque)

    def update(self, done: float, total: int | None, now: float) -> None:
        """How much is done at `now`."""
        self.done, self.total, self._at = done, total, now
        if len(self._seen) > 1 and now - self._seen[-1][0] < SAMPLE:
            return
        self._seen.append((now, done))
        # One sample from before the window stays, so that slow work has a rate, too.
        while len(self._seen) > 2 and self._seen[1][0] <= now - self.window:
            self._seen.popleft()

    def rate(self, now: float) -> float | None:
        """Units a second lately; None until two updates tell.

        What was there at the first update, as after an interruption, is nobody's speed.
        """
        if len(self._seen) < 2:
            return None
        (first, before), (last, after) = self._seen[0], self._seen[-1]
        # Where the next update is late the rate falls.
        seconds = (now if now - last > self.window else last) - first
        return (after - before) / seconds if seconds > 0 and after > before else None

    def left(self, now: float) -> float | None:
        """Seconds until all is done at this rate."""
        rate = self.rate(now)
        if rate is None or self.total is None:
            return None
        return max(0.0, (self.total - self.done) / rate - (now - self._at))

    def text(self, now: float, width: int = 10_000, *, bars: tuple[int, ...] = BARS) -> str:
        """The line in at most `width` columns: without its bar, then its note, then its rate.

        Args:
            bars: widths of the bar to choose from, the best first.
        """
        amount = amounts(self.done, self.total, self.unit)
        rate, left = self.rate(now), self.left(now)
        speed = "" if rate is None else speeds(rate, self.unit)
        when = clock(now - self.began) if left is None else f"{clock(left)} left"
        fits = ""
        for note in dict.fromkeys((self.note, "")):
            for size in (*bars, 0):
                drawn = drawn_bar(self.done, self.total, size) if self.total else ""
                fits = _joined(self.what, drawn, amount, speed, when, note)
                if len(fits) <= width:
                    return fits
        fits = _joined(self.what, amount, when)
        return fits if len(fits) <= width else fits[: max(0, width - 1)] + "…"


def _joined(*parts: str) -> str:
    return "  ".join(part for part in parts if part)


def amounts(done: float, total: int | None, unit: str) -> str:
    """12000, 301418, "words" -> 12,000/301,418 words; bytes as kB, MB or GB."""
    if not unit or (total is None and not done):
        return ""
    if unit == "bytes":
        name, size = _byte_unit(total or done)
        of = "" if total is None else f"/{total / size:,.1f}"
        return f"{done / size:,.1f}{of} {name}"
    return f"{int(done):,}{'' if total is None else f'/{total:,}'} {unit}"


def speeds(rate: float, unit: str) -> str:
    """Units a second, or a minute where they are slow."""
    if unit == "bytes":
        name, size = _byte_unit(rate)
        return f"{rate / size:,.1f} {name}/s"
    if rate < 1:
        return f"{60 * rate:.1f} {unit}/min"
    return f"{rate:,.{0 if rate >= 10 else 1}f} {unit}/s"


def _byte_unit(n: float) -> tuple[str, float]:
    """The unit that `n` bytes are told in, and its size."""
    return ("GB", 1e9) if n >= 1e9 else ("MB", 1e6) if n >= 1e6 else ("kB", 1e3)


def clock(seconds: float) -> str:
    """62.4 -> 1:02; 3723 -> 1:02:03"""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def drawn_bar(done: float, total: int, size: int) -> str:
    """`size` characters of which as many are full as is done."""
    full = min(size, int(size * done / total))
    return FULL * full + EMPTY * (size - full)

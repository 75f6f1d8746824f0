"""SIGINT and SIGTERM as exceptions, raised where they end the command and leave nothing locked.

The exception of a signal comes between any two steps of Python. In the code of a lock the lock
would stay taken, and who waits for it would wait for ever: there it is put off for a moment. In a
weak reference's callback or a `__del__` Python throws it away and goes on: it is raised once more.
https://docs.python.org/3/library/signal.html#note-on-signal-handlers-and-exceptions
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

# Seconds until a signal that came at a bad moment is tried again, and how often it is put off:
# who is in the code of a lock for so long only waits there, which can be left.
AGAIN = 0.01
TRIES = 20
# Modules of the standard library whose Python code holds locks, and the one that does while it
# finds a module, but not while the module is carried out.
LOCKING = (
    *("threading", "queue", "weakref", "_weakrefset"),
    *("concurrent/futures/_base", "concurrent/futures/thread"),
)
IMPORTING = "<frozen importlib._bootstrap>"
_LIBRARY = Path(threading.__file__).parent
_LOCKING_FILES = frozenset(str(_LIBRARY / f"{name}.py") for name in LOCKING)
# The timer that brings a signal back; not every system has it.
_CAN_WAIT = hasattr(signal, "setitimer")


class Terminated(KeyboardInterrupt):
    """SIGTERM: ends a command as Ctrl-C does."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Within the block SIGINT raises KeyboardInterrupt and SIGTERM `Terminated`.

    A SIGINT that is ignored, as in a shell's background, stays so. After the block both end the
    process at once: all is done and told, and nobody wants a traceback while Python ends.
    """
    before = sys.unraisablehook
    interrupts = _Interrupts(before)
    numbers = [signal.SIGTERM, *([signal.SIGALRM] if _CAN_WAIT else [])]
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        numbers.append(signal.SIGINT)
    for number in numbers:
        signal.signal(number, interrupts.hear)
    sys.unraisablehook = interrupts.lost
    try:
        yield
    finally:
        interrupts.over = True
        sys.unraisablehook = before
        if _CAN_WAIT:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


class _Interrupts:
    """What was heard, and how often it has been put off.

    Attributes:
        over: nothing is raised any more.
    """

    def __init__(self, told: Callable[[UnraisableHookArgs], object]) -> None:
        """`told` hears of what Python throws away and is no interrupt."""
        self.over = False
        self._error: type[KeyboardInterrupt] | None = None
        self._tries = 0
        self._told = told

    def hear(self, number: int, frame: FrameType | None) -> None:
        """The handler: of a signal, or of the timer that brings one back."""
        if number == signal.SIGTERM:
            self._error = Terminated
        elif number == signal.SIGINT and self._error is None:
            self._error = KeyboardInterrupt
        if self._error is None or self.over:
            return
        if _CAN_WAIT and self._tries < TRIES and _is_locking(frame):
            self._tries += 1
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
            return
        error, self._error, self._tries = self._error, None, 0
        raise error

    def lost(self, what: UnraisableHookArgs) -> None:
        """Hears of exceptions that Python throws away."""
        if not (_CAN_WAIT and issubclass(what.exc_type, KeyboardInterrupt)):
            self._told(what)
            return
        self._error = what.exc_type
        signal.setitimer(signal.ITIMER_REAL, AGAIN)


def _is_locking(frame: FrameType | None) -> bool:
    """Whether the code of a lock is under way."""
    if frame is not None and frame.f_code.co_filename == IMPORTING:
        return True
    while frame is not None:
        if frame.f_code.co_filename in _LOCKING_FILES:
            return True
        frame = frame.f_back
    return False

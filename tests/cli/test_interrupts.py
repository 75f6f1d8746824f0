"""Signals at bad moments: in a callback, in the code of a lock, before a command begins."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import pytest

from featbert.cli.interrupts import Terminated, interruptible

PATIENCE = 30
NUMBERS = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Terminated}


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """How signals are handled is as before afterwards."""
    before = {n: signal.getsignal(n) for n in (*NUMBERS, signal.SIGALRM)}
    yield
    for n, handler in before.items():
        signal.signal(n, handler)


@pytest.fixture(params=NUMBERS, ids=lambda number: number.name)
def number(request: pytest.FixtureRequest) -> signal.Signals:
    found: signal.Signals = request.param
    return found


def send(number: signal.Signals) -> None:
    """A signal to this process; its handler runs within this function's frame."""
    os.kill(os.getpid(), number)
    for _ in range(1000):
        pass


def wait_for_it() -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        time.sleep(0.001)


class Thing:
    """What a weak reference or a finaliser is about."""


class Noisy:
    """Sends a signal when it goes."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number

    def __del__(self) -> None:
        send(self.number)


def interrupted(work: Callable[[], None]) -> type[KeyboardInterrupt]:
    """How work ended."""
    try:
        with interruptible():
            work()
    except KeyboardInterrupt as error:
        return type(error)
    pytest.fail("an interrupt expected")


def test_it_raises_at_once(number: signal.Signals) -> None:
    done = []

    def work() -> None:
        send(number)
        done.append(1)

    assert interrupted(work) is NUMBERS[number]
    assert not done


def test_what_a_callback_swallows_is_raised_after_it(
    number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    things = [Thing()]
    reference = weakref.ref(things[0], lambda _: send(number))

    def work() -> None:
        things.clear()
        wait_for_it()

    assert interrupted(work) is NUMBERS[number]
    assert reference() is None
    assert capfd.readouterr().err == ""


def test_what_a_finaliser_swallows_is_raised_after_it(number: signal.Signals) -> None:
    things = [Noisy(number)]

    def work() -> None:
        things.clear()
        wait_for_it()

    assert interrupted(work) is NUMBERS[number]


class Loud:
    """A lock in whose taking a signal comes."""

    def __init__(self, number: signal.Signals) -> None:
        self._lock = threading.Lock()
        self._number = number
        self.locked = self._lock.locked
        self.acquire = self._lock.acquire
        self.release = self._lock.release

    def __enter__(self) -> None:
        self._lock.acquire()
        send(self._number)

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_a_lock_is_not_left_locked(number: signal.Signals) -> None:
    loud = Loud(number)
    condition = threading.Condition(loud)
    entered = []

    def work() -> None:
        with condition:
            entered.append(loud.locked())
        wait_for_it()

    assert interrupted(work) is NUMBERS[number]
    assert entered == [True]
    assert not loud.locked()


def test_waiting_for_another_thread_is_left(number: signal.Signals) -> None:
    """Which is in the code of a lock too, but stays there."""
    never = threading.Event()
    timer = threading.Timer(0.05, send, [number])

    def work() -> None:
        timer.start()
        assert never.wait(PATIENCE)

    assert interrupted(work) is NUMBERS[number]
    timer.join()
    assert not never.is_set()
    never.set()  # its lock is free


def test_waiting_is_left_though_signals_keep_coming(number: signal.Signals) -> None:
    """As they do while Ctrl-C is held down."""
    never, enough = threading.Event(), threading.Event()

    def keep_sending() -> None:
        end = time.monotonic() + PATIENCE
        while not enough.is_set() and time.monotonic() < end:
            os.kill(os.getpid(), number)
            time.sleep(0.03)

    sending = threading.Thread(target=keep_sending)

    def work() -> None:
        sending.start()
        try:
            assert never.wait(2 * PATIENCE)
        finally:
            enough.set()
            sending.join()

    begun = time.monotonic()
    assert interrupted(work) is NUMBERS[number]
    assert time.monotonic() - begun < PATIENCE


def test_an_end_asked_for_is_told_as_one_though_ctrl_c_follows() -> None:
    def work() -> None:
        with threading.Condition(Loud(signal.SIGTERM)):
            send(signal.SIGINT)
        wait_for_it()

    assert interrupted(work) is Terminated


def test_what_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible():
            send(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_as_the_block_ends_nothing_is_raised(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, sent = signal.setitimer, []

    def setitimer(*words: float) -> tuple[float, float]:
        sent.append(number)
        send(number)
        return plain(*words)

    monkeypatch.setattr(signal, "setitimer", setitimer)
    with interruptible():
        pass
    assert sent == [number]
    assert signal.getsignal(number) is signal.SIG_DFL


def test_others_are_thrown_away_as_ever(capfd: pytest.CaptureFixture[str]) -> None:
    class Broken:
        def __del__(self) -> None:
            raise ValueError("no matter")

    before, told = sys.unraisablehook, []
    sys.unraisablehook = lambda what: told.append(what.exc_type)
    try:
        with interruptible():
            broken = Broken()
            del broken
            gc.collect()
    finally:
        sys.unraisablehook = before
    assert told == [ValueError]


def ended(code: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a process that carries out code."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_before_a_command_begins_it_is_a_line_too() -> None:
    code = (
        "import os, signal, sys, typer.main\n"
        "from featbert.cli import main\n"
        "plain = typer.main.get_command\n"
        "def get_command(app):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return plain(app)\n"
        "typer.main.get_command = get_command\n"
        "sys.argv = ['featbert', 'check', 'sample']\n"
        "main()\n"
    )
    assert ended(code) == (143, "", "terminated; no command was under way\n")


def test_while_commands_are_imported_the_process_ends_without_a_traceback() -> None:
    code = (
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'featbert.cli':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from featbert.__main__ import main\n"
        "main()\n"
    )
    assert ended(code) == (-signal.SIGINT, "", "")

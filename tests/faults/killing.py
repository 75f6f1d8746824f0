"""Commands that are killed at random moments, and carried out again until they end by themselves.

    commands = Commands(forks, "print('a command begins')")
    tries = commands.killed_through(words, cwd=folder, kills=6, seed=1, ready="extracting")

Every command is a process of its own, forked from one that has done the slow imports (the fixture
`forks`): a kill while torch is imported would show nothing, and would cost seconds.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tests.processes import ROOT

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
# Exit codes of a command that a signal ended: by itself, and as the command line tells it.
CODES = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}
# Seconds that no command of the suite takes.
PATIENCE = 120.0
POLL = 0.002
# Of the process that others are forked from: without the threads of OpenBLAS, and of the allocator
# of pyarrow, which pandas loads.
SINGLE = {
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def soak_kills(usual: int) -> int:
    """Kills of one test: `usual` in the suite, FEATBERT_SOAK_KILLS of them where it is set."""
    return int(os.environ.get("FEATBERT_SOAK_KILLS") or usual)


@dataclass(frozen=True)
class Try:
    """How one process of a command ended.

    Attributes:
        exit_code: negative where a signal ended it at once.
        sent: the signal it was sent; None where it had ended by itself before.
        peak_memory: highest resident size in bytes, that of the process it was forked from at
            least.
    """

    exit_code: int
    stdout: str
    stderr: str
    sent: signal.Signals | None
    peak_memory: int

    @property
    def killed(self) -> bool:
        """Whether the signal ended it; it may have been as good as finished.

        While Python itself ends, a signal ends the process at once, whatever it is.
        """
        return self.sent is not None and self.exit_code in (CODES[self.sent], -self.sent)


class Forks:
    """The process that commands are forked from, one at a time; use it as a context.

    Attributes:
        folder: for what a command writes.
        process: id of the command that runs; None where none does.
    """

    def __init__(self) -> None:
        self._files = tempfile.TemporaryDirectory()
        self.folder = Path(self._files.name)
        self.process: int | None = None
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.forking"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            cwd=ROOT,
            env=os.environ | SINGLE,
        )

    def __enter__(self) -> Forks:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self.settle()
        self._parent.stdin.close()
        self._parent.wait(PATIENCE)
        self._parent.stdout.close()
        self._files.cleanup()

    def settle(self) -> None:
        """Ends the command that a test left running, as it does when it fails."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.kill(self.process, signal.SIGKILL)
            self.answer(PATIENCE)
            self.process = None

    def tell(self, order: dict[str, object]) -> None:
        """Orders a command."""
        assert self._parent.stdin is not None
        self._parent.stdin.write(json.dumps(order).encode() + b"\n")

    def has_answer(self, seconds: float) -> bool:
        """Whether there is an answer within some seconds."""
        return bool(select.select([self._parent.stdout], [], [], seconds)[0])

    def answer(self, seconds: float) -> str:
        """The next line of an answer, which must come within some seconds."""
        assert self._parent.stdout is not None
        if not self.has_answer(seconds):
            said = (self.folder / "stderr").read_text("utf-8", errors="replace")
            raise AssertionError(f"the command goes on and on; it said\n{said}")
        line = self._parent.stdout.readline().decode()
        assert line, "the process that commands are forked from has ended; its stderr says why"
        return line


class Commands:
    """Starts `featbert` commands, and sends them signals."""

    def __init__(
        self,
        forks: Forks,
        prepare: str = "",
        *,
        env: Mapping[str, str] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        """How all commands are started.

        Args:
            prepare: code that each process runs first, such as what makes blocks small.
            env: what is added to the environment.
            patience: seconds that no command takes.
        """
        self._forks = forks
        self._prepare = prepare
        self._env = dict(env or {})
        self._patience = patience

    def run(self, words: Sequence[object], *, cwd: Path) -> Try:
        """Carries out a command to its end."""
        return self.stopped(words, cwd=cwd, after=None)

    def stopped(
        self,
        words: Sequence[object],
        *,
        cwd: Path,
        after: float | None,
        by: signal.Signals = signal.SIGKILL,
        ready: str = "",
    ) -> Try:
        """Carries out a command and sends it a signal.

        Args:
            after: seconds from when it is ready to the signal; None sends none.
            by: the signal.
            ready: what it says on stderr when its work begins.
        """
        process = self.started(words, cwd=cwd, ready=ready if after is not None else "")
        if after is None or self._forks.has_answer(after):
            return self.ended()
        with suppress(ProcessLookupError):  # it ended this very moment
            os.kill(process, by)
        return self.ended(by)

    def started(self, words: Sequence[object], *, cwd: Path, ready: str = "") -> int:
        """Starts a command and returns its process id when it is ready; `ended` must follow."""
        self._forks.settle()
        (self._forks.folder / "stderr").write_bytes(b"")
        places = {name: str(self._forks.folder / name) for name in ("stdout", "stderr")}
        first = {"env": self._env, "prepare": self._prepare, "patience": 0.8 * self._patience}
        self._forks.tell({"words": [*map(str, words)], "cwd": str(cwd), **places, **first})
        process = self._forks.process = int(self._forks.answer(self._patience))
        give_up = time.monotonic() + self._patience
        while ready not in self._written("stderr") and not self._forks.has_answer(POLL):
            assert time.monotonic() < give_up, self._written("stderr")
        return process

    def ended(self, sent: signal.Signals | None = None) -> Try:
        """Waits for the end of the command that was started.

        Args:
            sent: the signal that it was sent.
        """
        code, kilobytes = map(int, self._forks.answer(self._patience).split())
        self._forks.process = None
        written = (self._written("stdout"), self._written("stderr"))
        return Try(code, *written, sent, kilobytes * 1024)

    def killed_through(
        self,
        words: Sequence[object],
        *,
        cwd: Path,
        kills: int,
        seed: int,
        longest: float,
        ready: str = "",
    ) -> list[Try]:
        """Carries out one command again and again: `kills` times killed, then to its end.

        Each signal has its turn; the moments are random, up to `longest` seconds after the
        command is ready. It ends early where a try was finished before its signal.

        Returns:
            Every try; the last one was not killed.
        """
        moments = random.Random(seed)
        tries: list[Try] = []
        for k in range(kills):
            by, after = SIGNALS[k % len(SIGNALS)], moments.uniform(0, longest)
            tries.append(self.stopped(words, cwd=cwd, after=after, by=by, ready=ready))
            if not tries[-1].killed:
                return tries
        return [*tries, self.run(words, cwd=cwd)]

    def _written(self, name: str) -> str:
        return (self._forks.folder / name).read_text("utf-8", errors="replace")

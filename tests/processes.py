"""Python in processes of their own: what they print, and which heavy libraries they load.

The process of the tests has loaded everything long ago; only a fresh one can tell.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[1]
HEAVY = (
    *("torch", "transformers", "h5py", "seqeval", "sklearn", "scipy"),
    *("matplotlib", "pandas", "optuna"),
)
_MARK = "loaded:"
_TELL = f"import sys; print({_MARK!r}, *(name for name in {HEAVY} if name in sys.modules))"
_COMMANDS = """
import contextlib, io, json, sys
from featbert.cli.main import main
ended = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["featbert", *words]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    light = sys.modules.keys().isdisjoint(("torch", "transformers"))
    ended.append([code, out.getvalue(), err.getvalue(), light])
print(json.dumps(ended))
"""
_HOLDER = """
import sys, time
from pathlib import Path
from featbert.io import owning
with owning(Path(sys.argv[1])):
    print("held", flush=True)
    while not (len(sys.argv) > 2 and Path(sys.argv[2]).exists()):
        time.sleep(0.02)
    time.sleep(0.3)
"""


@dataclass(frozen=True)
class Ended:
    """How a command ended; `light`: neither torch nor transformers was loaded by then."""

    exit_code: int
    stdout: str
    stderr: str
    light: bool


def python(
    code: str, *words: object, cwd: Path = ROOT, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Code that ends well in a process of its own, with these arguments."""
    command = [sys.executable, "-c", code, *map(str, words)]
    how = {"capture_output": True, "text": True, "check": False}
    done = subprocess.run(command, cwd=cwd, env=env, **how)
    assert done.returncode == 0, done.stderr
    return done


def loaded(code: str) -> tuple[str, ...]:
    """Those of HEAVY that code, which prints nothing, loads."""
    printed, _, names = python(f"{code}\n{_TELL}").stdout.rpartition(_MARK)
    assert printed == ""
    return tuple(names.split())


def fresh_commands(*commands: Sequence[object], cwd: Path) -> list[Ended]:
    """`featbert` with each of several arguments, in a folder, in one process of its own."""
    done = python(_COMMANDS, json.dumps([[*map(str, words)] for words in commands]), cwd=cwd)
    return [Ended(*ended) for ended in json.loads(done.stdout)]


@contextlib.contextmanager
def holding(path: Path, until: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """A process that has the lock of `path`: within the block, or until a file appears."""
    words = [path] if until is None else [path, until]
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, *map(str, words)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        try:
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def killed_command(
    *words: object, cwd: Path, when: Callable[[], bool], prepare: str = ""
) -> tuple[int, int]:
    """The exit code of a `featbert` command that is killed (SIGKILL) as soon as `when()` holds.

    And the number of its processes, which end with it.

    Args:
        prepare: code that the process runs before the command.
    """
    code = f"{prepare}\nfrom featbert.cli.main import main\nmain()\n"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    with process:
        while process.poll() is None and not when():
            time.sleep(0.002)
        assert process.poll() is None
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
    assert still_alive(children) == []
    return process.returncode, len(children)


def still_alive(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Those that have not ended within ten seconds. They are killed."""
    _, alive = psutil.wait_procs(processes, timeout=10)
    for process in alive:
        process.kill()
    return alive

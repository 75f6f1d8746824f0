"""Ctrl-C and SIGTERM end a command cleanly: one line, the shell's exit code, no process left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.workspace import Workspace

COMMAND = [sys.executable, "-m", "featbert"]
# Long enough for a busy machine; where all is well nobody waits for it.
PATIENCE = 90


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text("utf-8").split()]


def _is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _until(fits, what: str) -> None:
    for _ in range(PATIENCE * 20):
        if fits():
            return
        time.sleep(0.05)
    pytest.fail(f"{what} expected within {PATIENCE} seconds")


@pytest.mark.skipif(
    not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="asks /proc for processes"
)
def test_ctrl_c_while_workers_start_ends_them_all(workspace: Workspace) -> None:
    file = workspace.folder / "trial.toml"
    file.write_text(
        f'data = "{workspace.corpus}"\nmodel = "{workspace.model}"\nseeds = [1, 2]\n'
        "[finetune]\nepochs = 500\n",
        "utf-8",
    )
    where = ["--cache-dir", workspace.cache, "--runs-dir", workspace.runs, "--jobs", "2"]
    running = subprocess.Popen(
        [*COMMAND, "run", *map(str, [file, *where])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group of its own, as a terminal's foreground is one
    )
    try:
        _until(lambda: len(_children(running.pid)) >= 3, "two workers and their tracker")
        started = _children(running.pid)
        os.killpg(running.pid, signal.SIGINT)  # what Ctrl-C does
        stdout, stderr = running.communicate(timeout=PATIENCE)
    finally:
        running.kill()
    assert running.returncode == 130
    assert stdout == ""
    first, last = stderr.splitlines()
    assert first.endswith("2 of 2 runs to train")
    assert last.startswith("interrupted; ")
    assert last.endswith("the same command goes on after them")
    _until(lambda: not any(map(_is_there, started)), "no worker")


def test_sigterm_ends_a_command_as_ctrl_c_does(tmp_path: Path) -> None:
    pipe = tmp_path / "corpus.conll"
    os.mkfifo(pipe)  # reading it waits, until the test ends
    running = subprocess.Popen(
        [*COMMAND, "check", str(pipe)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    writing = os.open(pipe, os.O_WRONLY)  # returns when the command reads
    try:
        time.sleep(0.1)
        running.send_signal(signal.SIGTERM)
        stdout, stderr = running.communicate(timeout=PATIENCE)
    finally:
        os.close(writing)
        running.kill()
    assert (running.returncode, stdout) == (143, "")
    assert stderr == "terminated; the same command starts again\n"

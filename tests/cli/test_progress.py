"""Progress: a bar with rate and time left at a terminal, and nothing where nobody looks."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

from featbert.cli.progress import Meter
from tests.processes import sent

WORK = """
import time
from featbert.cli.progress import Meter
with Meter().measure("extracting", "words") as bar:
    for done in range(0, 501, 100):
        bar.update(done, 1000)
        time.sleep(0.25)
print("result")
"""


def at_a_terminal(code: str) -> tuple[str, str]:
    """(stdout, what the terminal behind stderr got) of Python code."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    seen = b"".join(sent(ours))
    assert process.stdout is not None
    stdout = process.stdout.read().decode()
    process.stdout.close()
    os.close(ours)
    assert process.wait() == 0
    return stdout, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())


def test_a_bar_with_rate_and_time_left() -> None:
    stdout, bar = at_a_terminal(WORK)
    assert stdout == "result\n"
    assert "extracting" in bar
    assert "500/1,000 words" in bar
    assert re.search(r"\d+ words/s", bar)
    assert re.search(r"0:0\d left", bar)


def test_nothing_but_lines_where_stderr_is_no_terminal(capsys) -> None:
    meter = Meter()
    meter.say("a line")
    with meter.measure("extracting", "words") as bar:
        bar.update(1, 2)
    assert capsys.readouterr() == ("", "a line\n")
    Meter(quiet=True).say("unheard")
    assert capsys.readouterr().err == ""

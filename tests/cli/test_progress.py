"""Progress on stderr: bars at a terminal, lines elsewhere, nothing with --quiet."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

from featbert.cli import progress
from featbert.cli.progress import shown
from featbert.progress import notice, report, stage
from tests.processes import sent

WORK = """
import time
from featbert.cli.progress import shown
from featbert.progress import stage
with shown(), stage("all", "runs", 2), stage("extracting", "words", 1000) as advance:
    for _ in range(5):
        advance(100, note="loss 0.5")
        time.sleep(0.3)
print("result")
"""


def test_bars_with_time_left_and_a_note_at_a_terminal() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", WORK],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(theirs)
    seen = b"".join(sent(ours)).decode()
    stdout, _ = process.communicate()
    os.close(ours)
    bars = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
    assert (process.returncode, stdout) == (0, b"result\n")
    assert re.search(r"extracting .* [45]00/1,000 words  0:0\d left  loss 0.5", bars)
    assert "0/2 runs" in bars


def test_lines_without_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PLAIN_AFTER", 0.0)
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    with shown(), stage("reading", "bytes", 4_000_000, done=1_000_000) as advance:
        advance(1_000_000, note="odd\x1b")
        advance(1_000_000)
        report("epoch 1\x1b[31m")
        notice("a warning")
    out, err = capsys.readouterr()
    first, second, third = err.splitlines()
    assert out == ""
    assert re.fullmatch(r"reading  2\.0/4\.0 MB  .* left  odd\\x1b", first)
    assert (second, third) == (r"epoch 1\x1b[31m", "a warning")


def test_quiet_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with shown(quiet=True), stage("reading", "bytes", 1) as advance:
        advance()
        report("epoch 1")
        notice("a warning")
    assert capsys.readouterr() == ("", "")

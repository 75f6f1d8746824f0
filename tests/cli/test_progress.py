"""Progress on stderr: bars at a terminal, lines elsewhere, nothing with --quiet."""

import io
import re
import sys

import pytest

from featbert.cli import progress
from featbert.cli.progress import shown
from featbert.progress import notice, report, stage
from featbert.progress import shown as in_python
from tests.analysis.records import make_epoch


def test_lines_without_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PLAIN_AFTER", 0.0)
    with shown(), stage("reading\x1b", "bytes", 4_000_000, done=1_000_000) as advance:
        advance(1_000_000)
        advance(1_000_000)
        report("epoch 1\x1b[31m")
        notice("a warning")
    out, err = capsys.readouterr()
    first, second, third = err.splitlines()
    assert out == ""
    assert re.fullmatch(r"reading\\x1b  2\.0/4\.0 MB  .* left", first)
    assert (second, third) == (r"epoch 1\x1b[31m", "a warning")


def test_a_bar_has_room_for_the_last_epoch_at_80_columns(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    for name, value in {"COLUMNS": "80", "TERM": "xterm", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    progress._display.cache_clear()
    with shown(), stage("training", "steps", 3600) as advance:
        advance(1200)
        advance(0, str(make_epoch(12, 0.0481, 0.6312)))
        progress._display().refresh()
    progress._display.cache_clear()
    assert "epoch 12  loss 0.048  dev 63.12" in screen.getvalue()


@pytest.mark.parametrize("wanted", [True, False])
def test_python_users_see_bars_and_reports(wanted, monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("featbert.progress.SHOWN_AFTER", 0.0)
    with in_python(wanted), stage("reading", "lines", 30) as advance:
        advance(30)
        report("epoch 1 of 3")
    shown = screen.getvalue()
    assert [word in shown for word in ("reading", "30/30", "epoch 1 of 3")] == [wanted] * 3

"""Stages, reports and warnings reach their listener, from this process and from another one.

On stderr they are bars at a terminal, lines elsewhere, nothing with --quiet.
"""

import io
import logging
import re
import sys
import time

import pytest

from featbert import progress
from featbert.data.check import check_corpus
from featbert.data.load import load_corpus
from featbert.progress import (
    Message,
    Relay,
    forwarded,
    heard_by,
    logged_by,
    notice,
    prefixed,
    report,
    shown,
    shown_in_python,
    stage,
    track,
)
from tests.analysis.records import make_epoch
from tests.listening import Ear


def work() -> None:
    with stage("counting", "sheep", 6, done=2) as advance:
        advance(2)
        with stage("sleeping", "") as inner:
            inner(1)
        advance(1)
    report("five sheep")
    notice("one is black: 100%")


def check_heard(ear: Ear) -> None:
    assert ear.stages == {"counting": ("sheep", 6), "sleeping": ("", None)}
    assert ear.done == {"counting": 5, "sleeping": 1}
    assert ear.ended == ["sleeping", "counting"]


def test_a_listener_hears_stages_within_its_block():
    ear = Ear()
    with heard_by(ear):
        work()
        with pytest.raises(KeyError), stage("failing", "sheep"):
            raise KeyError
    assert ear.ended.pop() == "failing"
    assert ear.stages.pop("failing") == ("sheep", None)
    del ear.done["failing"]
    work()
    check_heard(ear)


def test_another_process_is_shown_as_this_one():
    messages: list[Message] = []
    with forwarded(messages.append), prefixed("last, seed 1"):
        work()
    ear, lines = Ear(), []
    relay = Relay()
    with heard_by(ear), logged_by(lambda level, text: lines.append((level, text)), logging.INFO):
        for message in messages:
            relay(message)
    check_heard(ear)
    messages = []
    with forwarded(messages.append), stage("outer", "steps"), stage("inner", "steps"):
        before_death = list(messages)
    with heard_by(died := Ear()):
        for message in before_death:
            relay(message)
        relay.close()
    assert died.ended == ["inner", "outer"]
    assert lines == [
        (logging.INFO, "last, seed 1: five sheep"),
        (logging.WARNING, "last, seed 1: one is black: 100%"),
    ]


@pytest.mark.parametrize("items", [0, 99, 1234])
def test_tracked_items_pass_through_and_are_counted(items):
    ear = Ear()
    with heard_by(ear):
        assert list(track(range(items), "passing", "items")) == list(range(items))
    assert (ear.stages["passing"], ear.done["passing"]) == (("items", items), items)
    assert ear.calls["passing"] <= 200


def test_long_work_is_counted_to_its_end(workspace, tmp_path):
    """Reading, checking, hashing, tokenizing, loading, comparing checksums."""
    ear = Ear()
    with heard_by(ear):
        corpus = load_corpus(workspace.corpus)
        check_corpus(corpus)
        from featbert.api import extract
        from featbert.encoders.source import find_encoder

        store = extract(
            corpus, find_encoder(str(workspace.model)), cache_dir=tmp_path, device="cpu"
        )
        store.verify()
        store.read("train")
    for what, (_, total) in ear.stages.items():
        assert total is None or ear.done[what] == total, what
    assert {unit for unit, _ in ear.stages.values()} >= {"lines", "sentences", "bytes", "layers"}
    assert set(ear.ended) == set(ear.stages)


@pytest.mark.parametrize("quiet", [False, True])
def test_lines_without_a_terminal(quiet, capsys, monkeypatch):
    monkeypatch.setattr(progress, "PLAIN_AFTER", 0.0)
    with shown(quiet=quiet), stage("reading\x1b", "bytes", 4_000_000, done=1_000_000) as advance:
        advance(1_000_000)
        advance(1_000_000)
        report("epoch 1\x1b[31m")
        notice("a warning")
    out, err = capsys.readouterr()
    assert out == ""
    first, *others = err.splitlines() or [""]
    assert re.fullmatch(r"reading\\x1b  2\.0/4\.0 MB  .* left", first) or quiet
    assert others == [r"epoch 1\x1b[31m", "a warning"] * (not quiet)


def test_a_notebook_without_ipywidgets_has_one_line_and_the_warnings(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PLAIN_AFTER", 0.0)
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    with shown(), stage("reading", "lines", 30) as advance:
        advance(10)
        report("epoch 1")
        report("epoch 2")
        notice("a warning")
        report("epoch 3")
    lines = capsys.readouterr().err.split("\n")
    assert [line.split("\r")[-1].rstrip() for line in lines] == [
        "epoch 2",
        "a warning",
        "epoch 3",
        "",
    ]


def terminal(monkeypatch):
    """A terminal of 80 columns at stderr, which shows stages at once."""
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    for name, value in {"COLUMNS": "80", "TERM": "xterm", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    return screen


def test_a_bar_has_room_for_the_last_epoch_at_80_columns(monkeypatch):
    screen = terminal(monkeypatch)
    with shown(), stage("training", "steps", 3600) as advance:
        advance(1200)
        advance(0, str(make_epoch(12, 0.0481, 0.6312)))
        time.sleep(0.5)  # it is drawn eight times a second
        report("[bold]a line above[/bold]")
    assert "epoch 12  loss 0.048  dev 63.12" in screen.getvalue()
    assert "[bold]a line above[/bold]" in screen.getvalue()


@pytest.mark.parametrize("wanted", [True, False])
def test_python_users_see_bars_and_reports(wanted, monkeypatch):
    screen = terminal(monkeypatch)
    with shown_in_python(wanted), stage("reading [red]", "lines", 30) as advance:
        advance(30)
        time.sleep(0.5 * wanted)
        report("epoch 1 of 3")
    words = ["reading [red]", "30/30 lines", "epoch 1 of 3"]
    assert [word in screen.getvalue() for word in words] == [wanted] * 3


def test_nothing_is_shown_twice(monkeypatch):
    """The commands call the functions of Python."""
    screen = terminal(monkeypatch)
    with shown(quiet=True), shown_in_python(True), stage("reading", "lines", 30) as advance:
        advance(30)
        report("epoch 1 of 3")
    assert screen.getvalue() == ""

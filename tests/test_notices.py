"""One line of what happened on the way, to whoever listens."""

from __future__ import annotations

import logging

from featbert.progress import notice, noticed_by
from featbert.runs.carrying_out import Listeners
from featbert.runs.workers import Report, _pass_on


def test_the_innermost_reader_hears_it():
    outer, inner = [], []
    with noticed_by(outer.append):
        notice("one")
        with noticed_by(inner.append):
            notice("two")
        notice("three")
    assert (outer, inner) == (["one", "three"], ["two"])


def test_where_nobody_listens_it_is_a_warning(caplog):
    with caplog.at_level(logging.WARNING, logger="featbert"):
        notice("a batch %s does not fit")
    assert caplog.messages == ["a batch %s does not fit"]


def test_what_a_worker_notices_is_heard_by_who_gives_orders():
    told = []
    with noticed_by(told.append):
        _pass_on(Report("notice", text="halved"), "last--seed1", Listeners())
    assert told == ["last--seed1: halved"]

"""Stages, reports and warnings reach whoever shows them, from this process and from another one."""

import logging

import pytest

from featbert.data.check import check_corpus
from featbert.data.load import load_corpus
from featbert.progress import (
    Message,
    Relay,
    forwarded,
    heard_by,
    labelled,
    logged_by,
    notice,
    report,
    stage,
    track,
)
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
    with forwarded(messages.append), labelled("last, seed 1"):
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

import copy
import dataclasses
import json
import math
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from featbert.errors import InputError, MissingError
from featbert.runs.record import (
    RECORD_NAME,
    Mix,
    RunRecord,
    from_json,
    read_record,
    to_json,
    write_json,
)
from featbert.tasks.base import Scores
from featbert.training.history import Epoch
from tests.analysis.records import make_record

numbers = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(max_size=8)
scores = st.builds(
    Scores,
    values=st.dictionaries(names, st.floats(-1, 1), max_size=3),
    by_class=st.dictionaries(names, st.dictionaries(names, st.floats(0, 1e9)), max_size=2),
    examples=st.integers(0, 10**6),
    words=st.integers(0, 10**6),
)
plain = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | numbers | st.text()
values = st.recursive(
    plain, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(), v, max_size=3)
)
changes = st.fixed_dictionaries(
    {
        "settings": st.dictionaries(st.text(), values, max_size=3),
        "scores": st.dictionaries(st.sampled_from(["dev", "test"]), scores),
        "counts": st.dictionaries(st.text(), st.integers(0, 10**12), max_size=2),
        "layers": st.none() | st.text(),
        "seed": st.integers(-(2**63), 2**63),
    }
)


def read(text: str) -> RunRecord:
    return from_json(RunRecord, text, where="x/record.json")


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(changes)
def test_a_record_comes_back_equal(changed):
    record = dataclasses.replace(make_record(), **changed)
    again = read(to_json(record))
    assert again == record
    for split, scores_of in again.scores.items():  # the first value is the measure's
        assert list(scores_of.values) == list(record.scores[split].values)


@pytest.mark.parametrize(
    "changes",
    [
        *({"history": [Epoch(1, x, None, 1.0, [])]} for x in (math.nan, math.inf, 1e300)),
        *({"history": [Epoch(1, 0.5, {"f1": x}, 1.0, [])]} for x in (-5.0, 1.01, math.nan)),
        {"history": [Epoch(-1, 0.5, None, 1.0, [])]},
        *({"cost": {"training_seconds": x}} for x in (-1.0, math.inf, 1e31)),
        *({"cost": {"peak_memory_bytes": x}} for x in (-1, 2**63)),
        *({"scores": {"dev": Scores({"f1": x}, {}, 1, 1)}} for x in (-5.0, 1.001, math.nan)),
        {"scores": {"dev": Scores({"f1": 0.5}, {"PER": {"f1": -0.5}}, 1, 1)}},
        {"mix": Mix([1, -2], [0.5, 0.5], 1.0)},
        *({"started": x} for x in ("", "yesterday", "2026-13-01T00:00:00")),
    ],
)
def test_numbers_and_times_that_no_run_has_are_refused(changes):
    """Also where the checksum fits."""
    with pytest.raises(InputError, match=r"x/record\.json"):
        read(to_json(make_record(**changes)))


def test_a_share_may_exceed_one_by_its_rounding():
    scored = {"dev": Scores({"f1": 1 + 2**-52}, {}, 1, 1)}
    assert read(to_json(make_record(scores=scored))).scores == scored


@pytest.mark.parametrize(
    "changes",
    [
        *({"task": "chess"}, {"task": "classification:chess"}, {"tuning": "none:2"}),
        *(
            {"tuning": "osmosis"},
            {"layers": "layer:7"},
            {"layers": "../.."},
            {"layer_indices": None},
        ),
        *({"settings": {"epochs": None}}, {"settings": {"epochs": -4}}),
        *({"settings": {"epochs": 4, "unknown": 1}}, {"trained_on": ["elsewhere"]}),
        *(
            {"best_epoch": 0},
            {"best_epoch": 7},
            {"history": []},
            {"history": [Epoch(1, 1.0, {}, 1.0, [])]},
            {"mix": Mix([1], [], 1.0)},
        ),
        {"scores": {"dev": Scores({"accuracy": 0.5}, {}, 1, 1)}},
        {"scores": {"../dev": Scores({"f1": 0.5}, {}, 1, 1)}},
        {"scores": {"dev": Scores({"f1": 0.5}, {"PER": {"f1": 5.0}}, 1, 1)}},
        {"signature": {"splits": {}}},
    ],
)
def test_parts_that_do_not_fit_each_other_are_refused(tmp_path, changes):
    path = tmp_path / "run" / RECORD_NAME
    write_json(path, make_record())
    assert read_record(path.parent).name == "run"
    write_json(path, make_record(**changes))
    with pytest.raises(InputError, match=r"run/record\.json"):
        read_record(path.parent)


def places(value, at=()):
    """Every path in a JSON value, the top included."""
    if not isinstance(value, dict | list):
        return [at]
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [at, *(place for key, v in inner for place in places(v, (*at, key)))]


DATA = json.loads(to_json(make_record()))


@given(st.sampled_from(places(DATA)), values | st.just(10**400))
def test_a_modified_record_is_refused(place, value):
    data = copy.deepcopy(DATA)
    target = data
    for step in place[:-1]:
        target = target[step]
    before = target[place[-1]] if place else data
    if json.dumps(value) == json.dumps(before):
        return
    if place:
        target[place[-1]] = value
    with pytest.raises(InputError, match=r"x/record\.json"):
        read(json.dumps(data if place else value))


def test_the_record_is_on_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    done = []
    real_fsync, real_replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda f: (done.append("flush"), real_fsync(f)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("name"), real_replace(a, b)))
    write_json(tmp_path / "run" / RECORD_NAME, make_record("run"))
    assert done[:2] == ["flush", "name"]
    assert read_record(tmp_path / "run") == make_record("run")
    assert os.listdir(tmp_path / "run") == ["record.json"]


def test_a_folder_without_a_readable_record_of_its_own(tmp_path):
    with pytest.raises(MissingError, match=tmp_path.name):
        read_record(tmp_path)
    for data in (b"\xff\xfe\x00", to_json(make_record("other")).encode()):
        (tmp_path / "record.json").write_bytes(data)
        with pytest.raises(InputError, match=r"record\.json"):
            read_record(tmp_path)
    (tmp_path / "record.json").unlink()
    (tmp_path / "record.json").mkdir()
    with pytest.raises(InputError, match=r"record\.json"):
        read_record(tmp_path)

import copy
import dataclasses
import json
import math
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from featbert.errors import InputError, MissingError
from featbert.runs.record import RECORD_NAME, RunRecord, from_json, read_record, to_json, write_json
from featbert.tasks.base import Scores
from featbert.training.history import Epoch
from tests.analysis.records import make_record

numbers = st.floats(allow_nan=False, allow_infinity=False)
by_name = st.dictionaries(st.text(max_size=8), numbers, max_size=3)
scores = st.builds(
    Scores,
    values=by_name,
    by_class=st.dictionaries(st.text(max_size=8), by_name, max_size=2),
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


def test_what_json_does_not_know_comes_back():
    """Paths that are not UTF-8, and the loss of a training that diverged."""
    (row,) = read(to_json(make_record(history=[Epoch(1, math.nan, None, 1.0, [])]))).history
    assert math.isnan(row.train_loss)
    record = make_record(signature={"source": "corpora/\udcff\udc80"})
    assert read(to_json(record).encode("utf-8").decode()) == record
    assert record.signature.source.startswith("corpora/")


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

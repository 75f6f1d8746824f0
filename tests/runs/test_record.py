import dataclasses
import math
import os
import re
from typing import Any

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
    values=st.dictionaries(names, st.floats(-1, 1) | st.just(1 + 2**-52), max_size=3),
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


def scored(value: float, name: str = "f1", **by_class: float) -> dict[str, Any]:
    return {"scores": {"dev": Scores({name: value}, {"PER": by_class} if by_class else {}, 1, 1)}}


def epoch(number: int = 1, loss: float = 0.5, dev: dict[str, float] | None = None) -> Any:
    return {"history": [Epoch(number, loss, dev, 1.0, [])]}


NO_RUN = [
    *(epoch(loss=loss) for loss in (math.nan, math.inf, 1e300)),
    *(epoch(dev={"f1": f1}) for f1 in (-5.0, 1.01, math.nan)),
    *(epoch(-1), epoch(dev={}), {"history": []}, {"best_epoch": 0}, {"best_epoch": 7}),
    *({"cost": {"training_seconds": x}} for x in (-1.0, math.inf, 1e31)),
    *({"cost": {"peak_memory_bytes": x}} for x in (-1, 2**63)),
    *(scored(x) for x in (-5.0, 1.001, math.nan)),
    *(scored(0.5, f1=-0.5), scored(0.5, f1=5.0), scored(0.5, "accuracy")),
    {"scores": {"../dev": Scores({"f1": 0.5}, {}, 1, 1)}},
    *({"mix": mix} for mix in (Mix([1, -2], [0.5, 0.5], 1.0), Mix([1], [], 1.0))),
    *({"started": x} for x in ("", "yesterday", "2026-13-01T00:00:00")),
    *({"task": x} for x in ("chess", "classification:chess")),
    *({"tuning": x} for x in ("none:2", "osmosis")),
    *({"layers": x} for x in ("layer:7", "../..")),
    *({"settings": x} for x in ({"epochs": None}, {"epochs": -4}, {"epochs": 4, "unknown": 1})),
    *({"layer_indices": None}, {"trained_on": ["elsewhere"]}, {"signature": {"splits": {}}}),
]


@pytest.mark.parametrize("changes", NO_RUN)
def test_what_no_run_has_or_what_does_not_fit_is_refused(tmp_path, changes):
    """Also if the checksum fits."""
    path = tmp_path / "run" / RECORD_NAME
    write_json(path, make_record(**changes))
    with pytest.raises(InputError, match=r"run/record\.json"):
        read_record(path.parent)


def test_a_modified_record_is_refused():
    text = to_json(make_record())
    for digit in re.finditer(r"\d", text):
        other = "2" if digit[0] == "1" else "1"
        with pytest.raises(InputError, match=r"x/record\.json"):
            read(text[: digit.start()] + other + text[digit.end() :])


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

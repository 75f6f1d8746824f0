import dataclasses
import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from featbert.comparison.record import (
    Cost,
    Mix,
    RecordError,
    RunRecord,
    Signature,
    read_record,
    record_from_json,
    record_to_json,
)
from featbert.errors import InputError, MissingError
from featbert.training.history import Epoch, ParameterGroup
from featbert.training.settings import LATER_SETTINGS
from tests.comparison.records import as_read, make_record
from tests.comparison.strategies import numbers, scores

plain = st.none() | st.booleans() | st.integers() | numbers | st.text()
values = st.recursive(
    plain, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(), v, max_size=3)
)
epochs = st.builds(
    Epoch,
    train_loss=numbers,
    dev_f1=st.none() | numbers,
    dev_precision=st.none() | numbers,
    dev_recall=st.none() | numbers,
    seconds=numbers,
    groups=st.lists(st.builds(ParameterGroup, learning_rate=numbers), max_size=2),
)
records = st.builds(
    RunRecord,
    settings=st.dictionaries(st.text(), values, max_size=3),
    signature=st.builds(Signature),
    scores=st.dictionaries(st.sampled_from(["dev", "test"]), scores),
    history=st.lists(epochs, max_size=2),
    mix=st.none() | st.builds(Mix, weights=st.lists(numbers, max_size=3), scale=numbers),
    cost=st.builds(
        Cost,
        extraction_seconds=st.none() | numbers,
        training_seconds=numbers,
        prediction_seconds=numbers,
        extraction_flops=st.none() | numbers,
        training_flops=numbers,
        prediction_flops=numbers,
    ),
    format_version=st.just(1),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records)
def test_a_record_comes_back_equal(record):
    text = record_to_json(record)
    again = record_from_json(text, where="record.json")
    # An older record is read with the settings that came after it, as it was trained.
    assert again == as_read(record)
    assert record_from_json(record_to_json(again), where="record.json") == again


def test_a_path_that_is_not_utf8_comes_back_and_can_be_written():
    record = make_record(signature={"source": "corpora/\udcff\udc80"})
    text = record_to_json(record)
    assert record_from_json(text.encode("utf-8").decode(), where="record.json") == as_read(record)


def test_a_diverged_training_comes_back():
    record = make_record(
        history=[Epoch(1, math.nan, None, None, None, 1.0, [])], mix=Mix([3], [math.nan], math.inf)
    )
    again = record_from_json(record_to_json(record), where="record.json")
    assert math.isnan(again.history[0].train_loss)
    assert math.isnan(again.mix.weights[0])


def places(value: Any, at: tuple = ()) -> list[tuple]:
    """Every path in a JSON value, the top included."""
    if not isinstance(value, dict | list):
        return [at]
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [at, *(place for key, v in inner for place in places(v, (*at, key)))]


TEXT = record_to_json(make_record())
PLACES = places(json.loads(TEXT))


LATER = (
    *(
        "encoder_files",
        "extraction_device",
        "casing",
        "adapted_epochs",
        "labels",
        "model_source",
        "reading",
    ),
    *("trained_on", "epochs_from", "configurations_tried", "weights", "train_sentences"),
    *("train_words", *LATER_SETTINGS),
)


def holds(data: Any, built: Any) -> bool:
    """Whether what was built says what the data says.

    Data may have keys that nobody knows, and lack those that came later and have a default.
    """
    if isinstance(built, dict):
        return isinstance(data, dict) and all(
            holds(data[k], built[k]) if k in data else k in LATER for k in built
        )
    if isinstance(built, list):
        return isinstance(data, list) and len(data) == len(built) and all(map(holds, data, built))
    return data == built and isinstance(data, bool) == isinstance(built, bool)


@given(
    st.sampled_from(PLACES),
    st.sampled_from(["replace", "remove", "add"]),
    values | st.just(10**400),
)
def test_a_changed_record_is_refused_or_says_what_it_says(place, how, value):
    data = json.loads(TEXT)
    parent, key = None, None
    target = data
    for step in place:
        parent, key, target = target, step, target[step]
    if how == "add" and isinstance(target, dict):
        target["a new key"] = value
    elif parent is None:
        data = value
    elif how == "remove":
        del parent[key]
    else:
        parent[key] = value
    try:
        record = record_from_json(json.dumps(data), where="record.json")
    except RecordError:
        return
    assert holds(data, dataclasses.asdict(record))


@given(st.text() | st.integers(0, len(TEXT) - 2).map(lambda n: TEXT[:n]))
def test_text_that_is_no_record_is_refused(text):
    with pytest.raises(RecordError, match="expected"):
        record_from_json(text, where="record.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"approach": "probe"}, "one of features, finetune expected at approach"),
        ({"seed": True}, "a whole number expected at seed"),
        ({"vary": "context"}, "a list expected at vary"),
        ({"layers": 3}, "text expected at layers"),
        ({"scores": {"dev": {}}}, r"field scores.dev.entity expected"),
        ({"format_version": 2}, "format version 1 expected"),
        (
            {"cost": {**json.loads(TEXT)["cost"], "training_seconds": math.inf}},
            "a finite number expected at cost.training_seconds",
        ),
    ],
)
def test_a_wrong_field_is_named(change, message):
    data = {**json.loads(TEXT), **change}
    with pytest.raises(RecordError, match=message) as caught:
        record_from_json(json.dumps(data), where="x/record.json")
    assert isinstance(caught.value, InputError)
    assert "x/record.json" in str(caught.value)


def test_a_folder_without_a_record_is_no_finished_run(tmp_path):
    with pytest.raises(MissingError, match=r"holds no record\.json"):
        read_record(tmp_path)
    (tmp_path / "record.json").mkdir()
    with pytest.raises(RecordError, match="cannot be read"):
        read_record(tmp_path)


def test_a_record_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "record.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecordError, match="cannot be read"):
        read_record(tmp_path)

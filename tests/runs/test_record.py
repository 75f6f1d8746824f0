import dataclasses
import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from featbert.errors import InputError, MissingError
from featbert.runs.record import (
    Cost,
    Mix,
    RecordError,
    RunRecord,
    Signature,
    SplitIdentity,
    json_text,
    read_record,
    record_from_json,
    record_to_json,
)
from featbert.training.history import Epoch, ParameterGroup
from featbert.training.settings import LATER_SETTINGS, TrainingSettings
from tests.analysis.records import as_read, make_record
from tests.analysis.strategies import numbers, scores

_SETTINGS = {f.name for f in dataclasses.fields(TrainingSettings)}
plain = st.none() | st.booleans() | st.integers() | numbers | st.text()
values = st.recursive(
    plain, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(), v, max_size=3)
)
shares = st.floats(0, 1)
# A setting of today holds what a run can have; hypothesis finds their names in the code.
unknown_settings = st.text().filter(lambda name: name not in _SETTINGS)
amounts = st.floats(0, allow_infinity=False)
counts = st.integers(0, 10**12)
epochs = st.builds(
    Epoch,
    train_loss=numbers,
    dev_f1=st.none() | shares,
    dev_precision=st.none() | shares,
    dev_recall=st.none() | shares,
    seconds=numbers,
    groups=st.lists(st.builds(ParameterGroup, learning_rate=numbers), max_size=2),
)
records = st.builds(
    RunRecord,
    settings=st.dictionaries(unknown_settings, values, max_size=3),
    signature=st.builds(Signature),
    scores=st.dictionaries(st.sampled_from(["dev", "test"]), scores),
    history=st.lists(epochs, min_size=1, max_size=2),
    counts=st.dictionaries(st.text(), counts, max_size=2),
    mix=st.none()
    | st.lists(st.tuples(st.integers(), numbers), max_size=3).map(
        lambda pairs: Mix([i for i, _ in pairs], [w for _, w in pairs], 1.5)
    ),
    cost=st.builds(
        Cost,
        extraction_seconds=st.none() | amounts,
        extraction_words=st.none() | counts,
        store_bytes=st.none() | counts,
        training_seconds=amounts,
        prediction_seconds=amounts,
        prediction_words=counts,
        peak_memory_bytes=counts,
        trained_parameters=counts,
        total_parameters=st.integers(10**12, 10**13),
        run_bytes=counts,
        extraction_flops=st.none() | amounts,
        training_flops=amounts,
        prediction_flops=amounts,
    ),
    train_sentences=st.none(),
    train_words=st.none(),
    format_version=st.just(1),
)


def fitting(record: RunRecord) -> RunRecord:
    """The record, with what it says twice said alike."""
    splits = record.signature.splits | {
        name: SplitIdentity("t", "g", scores.sentences, scores.words)
        for name, scores in record.scores.items()
    }
    return dataclasses.replace(
        record,
        signature=dataclasses.replace(record.signature, splits=splits),
        history=[dataclasses.replace(row, epoch=n) for n, row in enumerate(record.history, 1)],
        best_epoch=len(record.history),
    )


records = records.map(fitting)


@settings(suppress_health_check=[HealthCheck.too_slow])
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


# As records were before they had a checksum: types and cross-checks alone must find what is wrong.
TEXT = json_text(dataclasses.asdict(make_record()))
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
    *("train_words", "predictions", *LATER_SETTINGS),
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


@given(st.sampled_from(PLACES), values | st.just(10**400))
def test_whatever_is_changed_in_a_record_is_refused(place, value):
    data = json.loads(record_to_json(make_record()))
    target = data
    for step in place[:-1]:
        target = target[step]
    before = target[place[-1]] if place else data
    if json.dumps(value, sort_keys=True) == json.dumps(before, sort_keys=True):
        return
    if place:
        target[place[-1]] = value
    with pytest.raises(RecordError):
        record_from_json(json.dumps(data if place else value), where="record.json")


def changed(data, place, value):
    """The data with another value at a dotted place."""
    *above, last = place.split(".")
    target = data
    for step in above:
        target = target[int(step) if isinstance(target, list) else step]
    target[last] = value
    return json.dumps(data)


CONTRADICTIONS = {
    "scores.dev.entity.correct": (5999, r"scores.dev.entity.precision of 0.599900"),
    "scores.dev.entity.f1": (0.61, r"scores.dev.entity.f1 of 0.600000, as its counts give"),
    "scores.dev.strict.predicted": (-1, "scores.dev.strict.predicted of at least 0"),
    "scores.dev.word.correct": (20_000, "scores.dev.word.correct of at most 10,000"),
    "scores.dev.by_type": ({}, "scores.dev.entity.correct of 0, as the sum over its types"),
    "scores.dev.word_accuracy": (1.5, "word_accuracy from 0 to 1"),
    "scores.dev.words": (3, "at least a word a sentence"),
    "scores.dev.sentences": (151, "of 150, as signature.splits.dev.sentences"),
    "signature.splits.test.words": (9, "of 9, as signature.splits.test.words"),
    "signature.splits": ({}, "signature.splits.dev of the scored split"),
    "best_epoch": (2, "best_epoch from 1 to 1"),
    "history": ([], "best_epoch from 1 to 0"),
    "history.0.epoch": (3, r"history of the epochs 1, 2, "),
    "history.0.dev_f1": (60.0, "dev_f1 of epoch 1 from 0 to 1"),
    "cost.training_seconds": (-1.0, "cost.training_seconds of at least 0"),
    "cost.trained_parameters": (10**12, "cost.trained_parameters of at most 36,000,000"),
    "counts.windowed_sentences": (-3, "counts.windowed_sentences of at least 0"),
    "mix.weights": ([1.0], "mix.weights of 2 layers .* found 1 weight"),
    "train_words": (12_001, "train_words from 0 to 12,000"),
    "settings.dropout": (None, "settings.dropout that a run can have expected .* found None"),
    "settings.epochs": (0, "settings that a run can have expected .* epochs of at least 1"),
}


@pytest.mark.parametrize("place", CONTRADICTIONS)
def test_numbers_that_contradict_each_other_are_refused(place):
    value, told = CONTRADICTIONS[place]
    with pytest.raises(RecordError, match=told) as caught:
        record_from_json(changed(json.loads(TEXT), place, value), where="x/record.json")
    assert "x/record.json" in str(caught.value)
    assert "\n" not in str(caught.value)


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

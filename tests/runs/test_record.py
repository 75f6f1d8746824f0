"""Records of runs, folders of runs and results files: read back equal, or refused."""

import dataclasses
import hashlib
import json
import lzma
import math
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from featbert.errors import InputError, MissingError
from featbert.runs import results
from featbert.runs.record import (
    RECORD_NAME,
    Mix,
    RunRecord,
    from_json,
    read_record,
    to_json,
    write_json,
)
from featbert.runs.results import exists, listed_in, read_text, write_results
from featbert.runs.run import Run, find_runs
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


def finish(runs_dir: Path, name: str) -> Path:
    folder = runs_dir / name
    write_json(folder / RECORD_NAME, make_record(name))
    return folder


def test_finished_unfinished_and_unreadable_are_distinguished(tmp_path):
    finish(tmp_path, "b")
    finish(tmp_path, "a")
    (tmp_path / "going").mkdir()
    (tmp_path / "going" / "record.json.tmp").write_text("{}")
    broken = finish(tmp_path, "broken")
    (broken / "record.json").write_text("{")
    other = finish(tmp_path, "other")
    (other / "record.json").write_bytes((tmp_path / "a" / "record.json").read_bytes())
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "README.md").write_text("about this folder")
    found = find_runs(tmp_path)
    assert [run.name for run in found] == ["a", "b"]
    assert [run.record.name for run in found.runs] == ["a", "b"]
    assert found.unfinished == (tmp_path / "going",)
    assert list(found.problems) == [broken, other]
    assert len(found.notes()) == 3
    assert "going" in found.notes()[-1]
    assert "going" in found.notes("GO")[-1]
    assert len(found.notes("another corpus")) == 2


def test_a_directory_that_is_missing_or_is_a_file(tmp_path):
    with pytest.raises(MissingError, match="none"):
        find_runs(tmp_path / "none")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"):
        find_runs(tmp_path / "file")


def test_predictions_are_those_that_the_scores_were_counted_on(tmp_path):
    data = b"x B-PER B-PER\ny O O\n"
    hashes = {"dev": hashlib.sha256(data).hexdigest()}
    run = Run(tmp_path, make_record("r", predictions=hashes))
    with pytest.raises(MissingError, match=r"dev\.conll"):
        run.predictions("dev")
    (tmp_path / "dev.conll").write_bytes(data)
    assert run.predictions("dev").predicted == [["B-PER", "O"]]
    assert repr(run.predictions("dev")) == "<Predictions: 1 sequence, 2 words>"
    (tmp_path / "dev.conll").write_text("x B-PER O\ny O O\n")  # as many words, other tags
    with pytest.raises(InputError, match=r"dev\.conll"):
        run.predictions("dev")


CONTENTS = {"b/record.json": {"é": [1, 2.5, None]}, "b/dev.conll": "x O\r\n", "a/x/y.json": {}}


def written(folder: Path, contents=CONTENTS) -> Path:
    file = folder / "some.jsonl.xz"
    write_results(file, contents)
    return file


def test_paths_lead_into_a_file_as_into_a_folder(tmp_path) -> None:
    file = written(tmp_path)
    assert json.loads(read_text(file / "b" / "record.json")) == CONTENTS["b/record.json"]
    assert read_text(file / "b" / "dev.conll") == CONTENTS["b/dev.conll"]
    assert [path.name for path in listed_in(file)] == ["a", "b"]
    assert listed_in(file / "b", "*.json") == [file / "b" / "record.json"]
    assert listed_in(file / "none") == []
    assert exists(file / "a")
    assert not exists(file / "b" / "test.conll")
    with pytest.raises(FileNotFoundError):
        read_text(file / "b")


def test_equal_contents_give_equal_bytes(tmp_path) -> None:
    first = written(tmp_path).read_bytes()
    os.utime(tmp_path / "some.jsonl.xz", (1, 1))
    assert written(tmp_path, dict(reversed(CONTENTS.items()))).read_bytes() == first
    lines = [json.loads(line) for line in lzma.decompress(first).splitlines()]
    assert [line["file"] for line in lines[1:]] == sorted(CONTENTS)


def test_what_is_no_whole_results_file_is_refused_with_the_reason(tmp_path, monkeypatch) -> None:
    sound = written(tmp_path).read_bytes()
    text = lzma.decompress(sound)
    foreign = [b"", b"PK\x03\x04", b"{}", lzma.compress(b"[1]\n"), lzma.compress(b"\xff{")]
    middle = len(sound) // 2
    flipped = sound[:middle] + bytes([sound[middle] ^ 1]) + sound[middle + 1 :]
    edited = lzma.compress(text.replace(b"2.5", b"2.6"))
    other = lzma.compress(text.replace(b"featbert results 1", b"featbert results 9"))
    shorter = lzma.compress(text.rpartition(b'{"file"')[0])
    for n, damaged in enumerate((*foreign, sound[:-5], flipped, edited, other, shorter)):
        file = tmp_path / f"{n}.jsonl.xz"
        file.write_bytes(damaged)
        with pytest.raises(InputError, match=file.name):
            listed_in(file)
        with pytest.raises(InputError, match=file.name):
            write_results(file, {})  # it may be somebody's
        assert file.read_bytes() == damaged
    monkeypatch.setattr(results, "LARGEST", 100)
    with pytest.raises(InputError, match="100"):
        listed_in(written(tmp_path / "b", CONTENTS) / "b")


def test_other_names_are_refused(tmp_path) -> None:
    with pytest.raises(InputError, match=r"results\.json"):
        write_results(tmp_path / "results.json", {})
    assert not [*tmp_path.iterdir()]

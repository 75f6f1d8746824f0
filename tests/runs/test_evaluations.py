import dataclasses
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from featbert.errors import FeatbertError, InputError, MissingError
from featbert.runs.evaluations import (
    EvaluationRecord,
    evaluation_path,
    evaluations_of,
    read_evaluation,
    write_evaluation,
)
from featbert.runs.record import SplitIdentity
from featbert.runs.run import Run
from tests.analysis.evaluation_records import evaluate, make_evaluation
from tests.analysis.records import make_record
from tests.analysis.strategies import numbers, scores

records = st.builds(
    EvaluationRecord,
    mapping=st.dictionaries(st.text(), st.text(), max_size=3),
    scores=scores,
    extraction_seconds=st.none() | numbers,
    prediction_seconds=numbers,
)
IDENTITY = SplitIdentity("t" * 64, "g" * 64, 10, 100)


@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(records)
def test_an_evaluation_comes_back_equal(tmp_path, record):
    path = tmp_path / "evaluations" / "e.json"
    write_evaluation(path, record)
    assert read_evaluation(path) == record
    assert os.listdir(path.parent) == ["e.json"]


def test_an_evaluation_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "e.json"
    write_evaluation(path, make_evaluation("r", "de", 0.5))

    def fails(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(FeatbertError, match=r"e\.json.*no space left"):
        write_evaluation(path, make_evaluation("r", "de", 0.9))
    assert read_evaluation(path).scores.values["f1"] == 0.5


def path_of(corpus: str = "wikiann-de", split: str = "test", mapping=(), **identity) -> Path:
    changed = dataclasses.replace(IDENTITY, **identity)
    return evaluation_path(Path("runs/r"), corpus, split, changed, dict(mapping))


def test_each_evaluation_has_a_path_of_its_own():
    paths = [
        path_of(),
        path_of(text="x" * 64),
        path_of(tags="x" * 64),
        path_of(split="dev"),
        path_of(corpus="wikiann-nl"),
        path_of(mapping={"MISC": "O"}),
        path_of(mapping={"MISC": "ORG"}),
        path_of(mapping={"MISC": "O", "GPE": "LOC"}),
    ]
    assert len(set(paths)) == len(paths)
    assert all(path.parent == Path("runs/r/evaluations") for path in paths)
    name = paths[0].name
    assert name.startswith("wikiann-de--test--")
    assert len(name) == len("wikiann-de--test--12345678.json")


def test_the_same_evaluation_is_found_again():
    # Sizes follow from the text, and a mapping has no order.
    assert path_of(sentences=11, words=12) == path_of()
    both = {"MISC": "O", "GPE": "LOC"}
    assert path_of(mapping=both) == path_of(mapping=dict(reversed(both.items())))


@pytest.mark.parametrize("corpus", ["../../etc", "a/b", "..", "", "x" * 500, "a b\n", "/"])
def test_no_corpus_name_leaves_the_folder(corpus):
    path = path_of(corpus=corpus)
    assert path.parent == Path("runs/r/evaluations")
    assert len(path.name) < 100
    assert not set(path.name) & set("/\\\n ")


def test_all_evaluations_of_a_run_by_name(tmp_path):
    run = Run(tmp_path / "r", make_record("r"))
    assert evaluations_of(run) == []
    for language, f1 in (("nl", 0.3), ("de", 0.2)):
        evaluate(run, language, f1)
    evaluate(run, "de", 0.25, mapping={"MISC": "O"})
    (run.folder / "evaluations" / "wikiann-de--test--00000000.conll").write_text("a O O\n")
    (run.folder / "evaluations" / "x.json.tmp").write_text("{")
    found = evaluations_of(run)
    assert sorted((e.language, e.scores.values["f1"]) for e in found) == [
        ("de", 0.2),
        ("de", 0.25),
        ("nl", 0.3),
    ]
    assert [e.language for e in found] == ["de", "de", "nl"]


def test_one_damaged_evaluation_is_named(tmp_path):
    run = Run(tmp_path / "r", make_record("r"))
    evaluate(run, "nl")
    path = evaluate(run, "de")
    path.write_text(path.read_text("utf-8")[:-40])
    with pytest.raises(InputError, match=path.name):
        evaluations_of(run)


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"null", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_record_is_refused(tmp_path, data):
    path = tmp_path / "e.json"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"e\.json"):
        read_evaluation(path)


def test_what_is_not_there_is_missing(tmp_path):
    with pytest.raises(MissingError, match=r"none\.json"):
        read_evaluation(tmp_path / "none.json")

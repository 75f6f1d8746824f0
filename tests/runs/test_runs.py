import dataclasses
import hashlib
import os
from pathlib import Path

import pytest

from featbert.errors import FeatbertError, InputError, MissingError
from featbert.runs.record import read_record
from featbert.runs.run import PredictionsError, Run, find_runs, write_record
from featbert.tasks.scorer import prf
from tests.analysis.records import as_read, make_prf, make_record


def finish(runs_dir: Path, name: str) -> Path:
    folder = runs_dir / name
    folder.mkdir()
    write_record(folder, make_record(name))
    return folder


def run_with(tmp_path: Path, text: str | bytes, sentences: int, words: int) -> Run:
    record = make_record("r")
    scores = record.scores["dev"]
    data = text if isinstance(text, bytes) else text.encode()
    none = make_prf(0.0)
    record.scores["dev"] = type(scores)(none, {}, none, none, 1.0, sentences, words)
    record.predictions["dev"] = hashlib.sha256(data).hexdigest()
    (tmp_path / "dev.conll").write_bytes(data)
    return Run(tmp_path, record)


def test_finished_unfinished_and_unreadable_are_told_apart(tmp_path):
    finish(tmp_path, "b")
    finish(tmp_path, "a")
    (tmp_path / "going").mkdir()
    (tmp_path / "going" / "record.json.tmp").write_text("{}")
    broken = finish(tmp_path, "broken")
    (broken / "record.json").write_text("{")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "README.md").write_text("about this folder")
    found = find_runs(tmp_path)
    assert [run.name for run in found] == ["a", "b"]
    assert [run.record.name for run in found.runs] == ["a", "b"]
    assert found.unfinished == (tmp_path / "going",)
    assert [problem.folder for problem in found.problems] == [broken]
    assert "is not JSON" in found.problems[0].reason
    assert len(found.notes) == 2
    assert "not JSON" in found.notes[0]
    assert found.notes[1] == "left out, not finished: going"


def test_a_directory_that_is_missing_or_is_a_file(tmp_path):
    with pytest.raises(MissingError, match="does not exist; train a run first"):
        find_runs(tmp_path / "none")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be listed"):
        find_runs(tmp_path / "file")


def test_predictions_with_tabs_keep_words_with_spaces(tmp_path):
    text = "-DOCSTART-\tO\tO\n\nNew York\tB-LOC\tB-LOC\na\x85b\tO\tI-LOC\n \t\n\nx\tO\tO\n"
    found = run_with(tmp_path, text, 2, 3).predictions("dev")
    assert found.words == [["New York", "a\x85b"], ["x"]]
    assert found.gold == [["B-LOC", "O"], ["O"]]
    assert found.predicted == [["B-LOC", "I-LOC"], ["O"]]


def test_predictions_with_spaces_and_windows_line_ends(tmp_path):
    found = run_with(tmp_path, "a\xa0b O O\r\n-DOCSTART- O O\r\nc O O\r\n", 2, 2)
    assert found.predictions("dev").words == [["a\xa0b"], ["c"]]


@pytest.mark.parametrize("text", ["a O\n", "a O O O\n", "a\tO\n", "\tO\tO\n"])
def test_a_line_without_three_columns_is_named(tmp_path, text):
    with pytest.raises(PredictionsError, match=r"line 3 of .*dev\.conll"):
        run_with(
            tmp_path, "x\tO\tO\n\n" + text if "\t" in text else "x O O\n\n" + text, 2, 2
        ).predictions("dev")


def test_predictions_that_the_scores_were_not_counted_on_are_refused(tmp_path):
    with pytest.raises(
        PredictionsError, match=r"2 sentences with 2 words expected .* found 1 with"
    ):
        run_with(tmp_path, "x O O\n", 2, 2).predictions("dev")
    with pytest.raises(PredictionsError, match="UTF-8 expected"):
        run_with(tmp_path, b"\xff O O\n", 1, 1).predictions("dev")
    with pytest.raises(MissingError, match=r"predictions of test expected.*scored on dev, test"):
        run_with(tmp_path, "x O O\n", 1, 1).predictions("test")


def test_predictions_of_another_run_are_refused_though_they_are_as_many(tmp_path):
    run = run_with(tmp_path, "x B-PER B-PER\ny O O\n", 1, 2)
    assert run.predictions("dev").predicted == [["B-PER", "O"]]
    (tmp_path / "dev.conll").write_text("x B-PER O\ny O O\n")
    with pytest.raises(PredictionsError, match=r"that .* was scored on expected"):
        run.predictions("dev")


def test_predictions_of_an_older_run_must_count_as_its_scores_do(tmp_path):
    run = run_with(tmp_path, "x B-PER B-PER\ny O B-PER\n", 1, 2)
    scores = dataclasses.replace(run.record.scores["dev"], entity=prf(1, 2, 1))
    older = Run(tmp_path, dataclasses.replace(run.record, scores={"dev": scores}, predictions={}))
    assert older.predictions("dev").gold == [["B-PER", "O"]]
    (tmp_path / "dev.conll").write_text("x B-PER O\ny O B-PER\n")
    with pytest.raises(PredictionsError, match=r"entities \(1, 2, 1\) expected .*\(0, 1, 1\)"):
        older.predictions("dev")


def test_the_record_of_another_run_does_not_count_here(tmp_path):
    one, other = finish(tmp_path, "one"), finish(tmp_path, "other")
    (one / "record.json").write_bytes((other / "record.json").read_bytes())
    found = find_runs(tmp_path)
    assert [run.name for run in found] == ["other"]
    assert "the record of one expected" in found.problems[0].reason


def test_a_record_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    folder = finish(tmp_path, "run")
    assert read_record(folder) == as_read(make_record("run"))
    assert os.listdir(folder) == ["record.json"]

    def fails(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(FeatbertError, match=r"record\.json cannot be written: no space left"):
        write_record(folder, make_record("run", seed=7))
    assert os.listdir(folder) == ["record.json"]
    assert read_record(folder).seed == 1


def test_the_record_is_on_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    done = []
    real_fsync, real_replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda f: (done.append("flush"), real_fsync(f)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("name"), real_replace(a, b)))
    finish(tmp_path, "run")
    assert done[:2] == ["flush", "name"]


def test_a_record_of_another_run_is_refused(tmp_path):
    with pytest.raises(InputError, match="names 'other'"):
        write_record(tmp_path, make_record("other"))
    assert os.listdir(tmp_path) == []

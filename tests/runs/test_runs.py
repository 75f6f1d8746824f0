import hashlib
from pathlib import Path

import pytest

from featbert.errors import InputError, MissingError
from featbert.runs.record import RECORD_NAME, write_json
from featbert.runs.run import Run, find_runs
from tests.analysis.records import make_record


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

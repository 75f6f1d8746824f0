"""featbert evaluate: what it prints, keeps and refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from featbert.runs.run import Run, find_runs
from tests.processes import fresh_command
from tests.workspace import Workspace, error_of


@pytest.fixture
def space(finished: Workspace, tmp_path: Path) -> Workspace:
    """The finished runs, copied, with other data beside them that calls persons otherwise."""
    shutil.copytree(finished.runs, tmp_path / "runs")
    other = shutil.copytree(finished.corpus, tmp_path / "data" / "nl")
    for path in other.iterdir():
        text = path.read_text("utf-8").replace("PER", "person").replace("Herald", "Bode")
        path.write_text(text.replace("B-MISC", "O"), "utf-8")
    return Workspace(tmp_path, finished.corpus, finished.model)


def evaluate(space: Workspace, run: object, *words: object) -> object:
    where = ("--cache-dir", space.cache, "--runs-dir", space.runs)
    return space.call("evaluate", run, *where, *words)


def runs(space: Workspace) -> dict[str, Run]:
    return {r.record.layers or "finetune": r for r in find_runs(space.runs)}


@pytest.mark.parametrize("which", ["weighted_all", "finetune"])
def test_its_own_test_split(space: Workspace, which: str) -> None:
    run = runs(space)[which]
    result = evaluate(space, run.name, "--data", space.corpus, "--split", "test", "--split", "dev")
    assert result.exit_code == 0, result.output
    for split, line in zip(("test", "dev"), result.stdout.split("\n"), strict=False):
        f1 = run.record.scores[split].values["f1"]
        assert line.startswith(f"tiny {split}  F1 {100 * f1:.2f}  ")
        (path,) = (run.folder / "evaluations").glob(f"tiny--{split}--*.conll")
        assert path.read_bytes() == (run.folder / f"{split}.conll").read_bytes()
    assert result.stdout.count("\n") == 2
    assert "evaluating" in result.stderr


def test_other_data_with_a_mapping(space: Workspace) -> None:
    data = space.folder / "data" / "nl"
    name = runs(space)["last"].name
    plain = evaluate(space, name, "--data", data, "--quiet")
    assert plain.exit_code == 0, plain.output
    assert "never taught person: all of them count as missed" in plain.stdout
    assert "data-nl test has no MISC, PER: what the run tags so counts as wrong" in plain.stdout
    assert plain.stderr == ""
    mapped = evaluate(space, name, "--data", data, "--map", "person=PER", "--map", "MISC=O")
    assert "mapped: person=PER, MISC=O" in mapped.stdout
    assert "never taught" not in mapped.stdout
    assert "has no" not in mapped.stdout
    again = evaluate(space, space.runs / name, "--data", data, "--map=person=PER", "--map=MISC=O")
    assert "evaluated before" in again.stdout
    assert "evaluating" not in again.stderr
    assert len(list(space.cache.rglob("*.h5"))) == 1


def test_json_has_the_records(space: Workspace) -> None:
    run = runs(space)["last"]
    result = evaluate(space, run.name, "--data", space.corpus, "--format", "json", "--quiet")
    (row,) = json.loads(result.stdout)["evaluations"]
    path = Path(row.pop("path"))
    kept = json.loads(path.read_text("utf-8"))
    assert kept.pop("checksum")
    assert kept == row
    assert row["run"] == run.name
    assert row["scores"]["values"]["f1"] == run.record.scores["test"].values["f1"]


def test_text_that_the_run_learned_from_is_said_so(space: Workspace) -> None:
    run = runs(space)["last"]
    result = evaluate(space, run.name, "--data", space.corpus, "--split", "train")
    assert "the run learned from this text" in result.stdout


REFUSED = {
    "run": (("nowhere",), "a finished run expected"),
    "nearest run": (("{run}x",), "did you mean"),
    "data": (("{run}", "--data", "{folder}/nowhere"), "does not exist"),
    "split": (("{run}", "--split", "tset"), "a tset split expected"),
    "map": (("{run}", "--map", "PRE=O"), "'PRE' is none (did you mean 'PER'?)"),
    "no map": (("{run}", "--map", "PER"), "FROM=TO expected"),
    "model": (("{run}", "--model", "{folder}/nowhere"), "does not exist"),
    "scheme": (("{run}", "--scheme", "bixo"), "is not known"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_mistake_is_told_in_one_line(name: str, space: Workspace) -> None:
    words, told = REFUSED[name]
    names = {"run": runs(space)["last"].name, "folder": space.folder}
    given = [w.format(**names) for w in words]
    data = () if "--data" in given else ("--data", space.corpus)
    assert told in error_of(evaluate(space, *given, *data))
    assert not space.cache.exists()


def test_an_encoder_that_is_not_the_runs(space: Workspace) -> None:
    other = shutil.copytree(space.model, space.folder / "other-bert")
    config = other / "config.json"
    config.write_text(config.read_text("utf-8") + "\n", "utf-8")
    name = runs(space)["finetune"].name
    message = error_of(evaluate(space, name, "--data", space.corpus, "--model", other))
    assert "the encoder tiny-bert with config and tokenizer" in message
    assert str(other) in message
    same = shutil.copytree(space.model, space.folder / "moved")
    assert evaluate(space, name, "--data", space.corpus, "--model", same).exit_code == 0


def test_what_is_there_already_and_mistakes_need_no_torch(space: Workspace) -> None:
    run = runs(space)["last"].name
    assert evaluate(space, run, "--data", space.corpus).exit_code == 0
    words = ("evaluate", run, "--data", space.corpus, "--split")
    where = ("--runs-dir", space.runs, "--cache-dir", space.cache)
    there, mistake = (fresh_command(*words, s, *where, cwd=space.folder) for s in ("test", "nope"))
    assert there.exit_code == 0, there.stderr
    assert "evaluated before" in there.stdout
    assert there.stdout.count("\n") == 1
    assert error_of(mistake).startswith("error: a nope split expected")
    assert mistake.stdout == ""
    assert there.light
    assert mistake.light


def test_a_run_that_is_trained_again_says_that_its_evaluations_go(space: Workspace) -> None:
    run = runs(space)["finetune"]
    data = space.folder / "data" / "nl"
    assert evaluate(space, run.name, "--data", data, "--map", "person=PER").exit_code == 0
    words = ("--seeds", run.record.seed, "--overwrite")
    again = space.finetune(*words)
    assert "1 evaluation" in again.stderr
    assert not (run.folder / "evaluations").exists()
    assert "evaluation" not in space.finetune(*words).stderr

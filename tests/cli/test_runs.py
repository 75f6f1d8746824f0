"""featbert runs: what there is, all of one, and its removal."""

import dataclasses
import json
import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest
from rich.text import Text

from featbert.analysis.listing import run_lines
from featbert.io import owning, slug
from featbert.report.html.notebook import html
from featbert.report.listings import runs_table
from featbert.report.rendering import in_format
from featbert.runs.folder import move_into_place
from featbert.runs.record import RECORD_NAME, Notes, SplitIdentity, write_json
from featbert.runs.run import find_runs
from tests.analysis.records import make_epoch, make_record
from tests.workspace import command as call
from tests.workspace import error_of, ok


@pytest.fixture
def runs_dir(tmp_path: Path) -> Path:
    """Two finished runs, one in its second epoch, one whose record is damaged."""
    for name, changes in {"tuned-1": {"layers": None}, "concat-1": {}}.items():
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / RECORD_NAME, make_record(name, **changes))
        (tmp_path / name / "weights.safetensors").write_bytes(b"0" * 2000)
    going = tmp_path / "last-1"
    going.mkdir()
    names = {"corpus": "wikigold", "model": "all-MiniLM-L6-v2"}
    config = {"tuning": "none", "layers": "last", "seed": 7, "settings": {"epochs": 4}}
    config |= {"task": "entities", "signature": names}
    (going / "config.json").write_text(json.dumps(config), "utf-8")
    first = json.dumps(dataclasses.asdict(make_epoch(1, 0.7, 0.5, 61.0)))
    (going / "history.jsonl").write_text(f'{first}\n{{"epoch": 2, "dev"', "utf-8")
    (tmp_path / "broken-1").mkdir()
    (tmp_path / "broken-1" / "record.json").write_text("{", "utf-8")
    return tmp_path


def test_every_run_is_listed_with_its_state(runs_dir):
    done = ok(call("runs", "--runs-dir", runs_dir))
    about, header, *lines = (
        " ".join(line.split()) for line in done.stdout.splitlines() if "─" not in line
    )
    assert about == "wikigold · all-MiniLM-L6-v2 · entities"
    assert header == "id date row seed dev test"
    assert lines[:4] == [
        "last-1 epoch 1 of 4 last (epochs=4) 7 50.00 –",
        "broken-1 damaged – – – –",
        "concat-1 2026-01-02 concat_last4 (epochs=15) 1 60.00 55.00",
        "tuned-1 2026-01-02 fine-tuning 1 60.00 55.00",
    ]
    told = json.loads(call("runs", "--runs-dir", runs_dir, "--format", "json").stdout)
    by_name = {run["run"]: run for run in told}
    assert {name: run["state"] for name, run in by_name.items()} == {
        "concat-1": "finished",
        "tuned-1": "finished",
        "last-1": "epoch 1 of 4",
        "broken-1": "damaged",
    }
    assert by_name["tuned-1"]["scores"] == {"dev": 0.6, "test": 0.55}
    assert (by_name["last-1"]["epochs_done"], by_name["last-1"]["epochs"]) == (1, 4)
    assert by_name["broken-1"]["reason"]
    assert "epoch 1 of 4" in html(find_runs(runs_dir))
    shown = " ".join(ok(call("runs", "show", "concat-1", "--runs-dir", runs_dir)).stdout.split())
    for value in ("epochs=15, learning_rate=0.001", "3: 0.250, 4: 0.750", "0.7000 60.00 0.5 s"):
        assert value in shown
    for name in ("config.json", "history.jsonl"):
        (runs_dir / "last-1" / name).write_text("[1]\n[2]\n")
    assert "unfinished" in call("runs", "--runs-dir", runs_dir).stdout


def test_runs_are_filtered_sorted_and_told_apart_by_their_settings(tmp_path):
    """Settings are compared among runs of one corpus, task, tuning and layers."""
    changes = [{"corpus": "wikigold", "scores": {"f1": dev}} for dev in (0.3, 0.5, 0.4)]
    for number, change in enumerate(changes, 1):
        change["settings"] = {"epochs": 15, "learning_rate": 0.001 * number}
    write_runs(tmp_path, *changes)

    def names(*words: str) -> list[str]:
        done = ok(call("runs", "--runs-dir", tmp_path, "--format", "json", *words))
        return [line["run"][-4:] for line in json.loads(done.stdout)]

    assert names("--sort", "dev") == ["2234", "3234", "1234"]
    assert names("--sort", "seed", "--data", "WIKI", "--tuning", "none") == ["1234", "2234", "3234"]
    assert call("runs", "--runs-dir", tmp_path, "--model", "gpt").exit_code == 1
    assert "--runs-dir" in error_of(call("runs", "--runs-dir", tmp_path / "no folder"))
    text = call("runs", "--runs-dir", tmp_path).stdout
    assert [f"last (learning_rate=0.00{n})" in text for n in (1, 2, 3)] == [True] * 3
    # By an id, by a part that several have, by a row's label.
    assert call("runs", "--runs-dir", tmp_path, "show", "2234").exit_code == 0
    assert "mean 'last'" in error_of(call("runs", "--runs-dir", tmp_path, "show", "lst"))
    several = error_of(call("runs", "--runs-dir", tmp_path, "show", "last"))
    assert all(f"{n}234 (last (learning_rate=0.00{n}), seed {n})" in several for n in (1, 2, 3))
    best = ok(call("runs", "--runs-dir", tmp_path, "show", "last", "--best")).stdout
    assert best.startswith(str(tmp_path / "wikigold--last--seed2--2234"))
    words = ("last (learning_rate=0.003)", "1234", "--format", "json")
    (compared,) = json.loads(call("compare", "--runs-dir", tmp_path, *words).stdout)["comparisons"]
    names = [run["name"][-4:] for row in compared["rows"] for run in row["runs"]]
    assert names == ["1234", "3234"]
    there = {"corpus": "sample", "splits": {"dev": SplitIdentity("9" * 64, "9" * 64, 1, 1)}}
    keys = {"layers": "last", "settings": {"batch_size": 3}, "signature": there}
    other = make_record("b--last--seed1--4234", **keys)
    write_json(tmp_path / other.name / RECORD_NAME, other)
    assert "batch_size" not in call("runs", "--runs-dir", tmp_path).stdout
    # In a narrow terminal scores stay beside their rows.
    narrow = in_format([runs_table(run_lines(find_runs(tmp_path)))], "text", width=62)
    lines = [line.split() for line in Text.from_ansi(narrow).plain.splitlines()]
    heads = [words for words in lines if words[:1] == ["id"]]
    assert heads[1:] == [["id", "row", "seed", "dev", "test"]]
    # The best one on dev is one of a text.
    shown = ("runs", "--runs-dir", tmp_path, "show", "last", "--best")
    several = error_of(call(*shown))
    assert "4234 (sample, last, seed 1)" in several
    assert several.endswith("--best --data sample\n")
    for data, name in (("wiki", "2234"), ("sample", "4234")):
        assert ok(call(*shown, "--data", data)).stdout.splitlines()[0].endswith(name)
    assert "'conll'" in error_of(call(*shown, "--data", "conll"))


def test_tags_and_a_note_are_kept_with_a_run(runs_dir):
    """And with the same run trained again; its record stays what it was."""
    where, folder = ("--runs-dir", runs_dir), runs_dir / "concat-1"
    before = (folder / RECORD_NAME).read_bytes()
    for words in (["tag", "paper", "best"], ["tag", "best", "--remove"], ["note", "for Table 2"]):
        shown = ok(call("runs", words[0], "concat-1", *words[1:], *where)).stdout
        assert ("paper" in shown, "for Table 2" in shown) == (words[0] == "tag", words[0] == "note")
    for bad in ("", "best,last"):
        assert repr(bad) in error_of(call("runs", "tag", "concat-1", bad, *where))
    (run,) = (run for run in find_runs(runs_dir) if run.name == "concat-1")
    assert run.notes == Notes(["paper"], "for Table 2")
    assert "for Table 2" in call("runs", "show", "concat-1", *where).stdout
    (line,) = json.loads(ok(call("runs", *where, "--tag", "paper", "--format", "json")).stdout)
    assert line["run"] == "concat-1"
    assert (folder / RECORD_NAME).read_bytes() == before
    move_into_place(shutil.copytree(runs_dir / "tuned-1", runs_dir / ".concat-1"), folder)
    assert run.notes == Notes(["paper"], "for Table 2")


def test_a_signature_is_a_line_that_names_what_a_score_depends_on(runs_dir):
    words = ("runs", "show", "concat-1", "--signature", "--runs-dir", runs_dir)
    line = ok(call(*words)).stdout
    assert line.count("\n") == 1
    parts = dict(part.split(":", 1) for part in line.rstrip("\n").split("|"))
    known = {"task": "entities", "row": "concat_last4", "seeds": "1", "epochs": "15", "lr": "0.001"}
    assert parts | known == parts
    lines = {line}
    read = ({"pooling": "mean"}, {"packing": "apart"}, {"store_dtype": "float32"})
    for more in ({"settings": {"epochs": 15, "dropout": 0.3}}, *({"signature": s} for s in read)):
        write_json(runs_dir / "concat-1" / RECORD_NAME, make_record("concat-1", **more))
        lines.add(ok(call(*words)).stdout)
    assert len(lines) == 5


def test_rm_asks_and_removes_what_was_named_and_nothing_else(runs_dir):
    words = ("runs", "rm", "concat-1", "last-1", "broken-1", "--runs-dir", runs_dir)
    before = sorted(runs_dir.rglob("*"))
    done = call(*words, input="n\n")
    assert (done.exit_code, sorted(runs_dir.rglob("*"))) == (1, before)
    assert "nothing" in done.stderr
    with owning(runs_dir / "last-1"):  # as while it trains
        assert "last-1" in error_of(call(*words, input="y\n"))
    assert "removed 3 runs" in ok(call(*words, input="y\n")).stdout
    assert [path.name for path in runs_dir.iterdir()] == ["tuned-1"]
    ok(call("runs", "rm", "tuned-1", "--yes", "--runs-dir", runs_dir))
    assert not list(runs_dir.iterdir())


def test_rm_leaves_a_run_that_another_process_took_while_the_question_waited(runs_dir, monkeypatch):
    with ExitStack() as training:

        def confirm(*args: object, **options: object) -> None:
            training.enter_context(owning(runs_dir / "last-1"))

        monkeypatch.setattr("typer.confirm", confirm)
        assert "last-1" in error_of(call("runs", "rm", "last-1", "--runs-dir", runs_dir))
        assert (runs_dir / "last-1").is_dir()


def test_a_number_of_a_layer_is_whole(tmp_path):
    for number in (1, 10):
        changes = {"layer_indices": [number], "signature": {"encoder_layers": 12}}
        record = make_record(str(number), layers=f"layer:{number}", **changes)
        write_json(tmp_path / str(number) / RECORD_NAME, record)
    for part, names in {"layer:1": {"1"}, "layer:10": {"10"}, "layer": {"1", "10"}}.items():
        assert {line["run"] for line in run_lines(find_runs(tmp_path), {"layers": part})} == names


@pytest.mark.parametrize("text", ["Ada saw Rome .", "so " * 200])  # longer than a file's name
def test_a_text_in_place_of_a_file_is_told_to_come_by_standard_input(tmp_path, text):
    told = error_of(call("predict", "last", text, "--runs-dir", tmp_path))
    assert f"echo '{text}'" in told


@pytest.mark.parametrize("command", ["runs show", "compare", "train --data", "train --model"])
def test_the_folder_of_an_unknown_user_is_not_there(command):
    assert "~nobody-here" in error_of(call(*command.split(), "~nobody-here"))


def write_runs(folder: Path, *changes: dict) -> None:
    """Runs of one row whose names begin with their corpus and end with their number."""
    for number, change in enumerate(changes, 1):
        corpus, scores = change.pop("corpus", "a"), change.pop("scores", {"f1": 0.5})
        name = f"{slug(corpus)}--last--seed{number}--{number}234"
        signature = {"corpus": corpus}
        record = make_record(name, layers="last", seed=number, signature=signature, **change)
        dev = dataclasses.replace(record.scores["dev"], values=scores)
        record = dataclasses.replace(record, scores={"dev": dev, "test": dev})
        write_json(folder / name / RECORD_NAME, record)


def test_the_best_of_several_measures_is_by_the_usual_one(tmp_path):
    """The best F1 is of another measure than the accuracy that the task has by default."""
    write_runs(
        tmp_path,
        {"task": "classification", "scores": {"accuracy": 0.6}},
        {"task": "classification", "scores": {"accuracy": 0.7}},
        {"task": "classification:macro_f1", "scores": {"macro_f1": 0.9, "accuracy": 0.5}},
    )
    shown = ok(call("runs", "--runs-dir", tmp_path, "show", "last", "--best")).stdout
    assert shown.splitlines()[0].endswith("2234")
    assert len(find_runs(tmp_path)) == 3


def test_runs_are_removed_on_the_corpus_that_is_named(tmp_path):
    """By ids, by a row's name, and all of a corpus. It is named as in the list.

    Folders of runs have parts of its name, in other letters.
    """
    long = "a corpus " * 9 + "of mine"
    write_runs(tmp_path, *({"corpus": name} for name in ("my corpus", long, long, "b")))
    given = ("runs", "--runs-dir", tmp_path)
    ok(call(*given, "show", "1234", "--data", "my corpus"))
    assert "my corpus" in error_of(call(*given, "show", "1234", "--data", "of mine"))
    for wrong in ("", "--data d", "last", "last --data d", "1234 --data mine"):
        error_of(call(*given, "rm", "--yes", *wrong.split()))
    error_of(call(*given, "rm", "--yes", "--data", ""))  # a variable of the shell that is not set
    assert len(find_runs(tmp_path)) == 4
    removed = [["2234", "--data", "of mine"], ["--data", "My corpus"], ["last", "--data", "B"]]
    for words in removed:
        ok(call(*given, "rm", "--yes", *words))
    assert [run.record.seed for run in find_runs(tmp_path)] == [3]
    ok(call(*given, "rm", "--yes", "--data", "of mine"))
    assert not list(tmp_path.iterdir())

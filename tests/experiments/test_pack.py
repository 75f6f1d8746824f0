"""Runs in a results file give the numbers of the runs in their folders."""

import dataclasses
import json
import random
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from featbert import compare as featbert_compare
from featbert.analysis.comparison import Comparison
from featbert.analysis.significance import run_estimate
from featbert.analysis.transfer import transfer_matrices
from featbert.data.corpus import Sentence
from featbert.errors import BusyError, InputError, MissingError
from featbert.experiments import pack
from featbert.experiments.pack import pack_runs, unpack_runs
from featbert.inference.evaluate import runs_elsewhere
from featbert.io import file_hash, owning
from featbert.runs.folder import TESTS
from featbert.runs.record import (
    ExperimentRecord,
    SearchRecord,
    TriedSettings,
    read_experiment_record,
    write_json,
)
from featbert.runs.results import listed_in, names_in, read_text, write_results
from featbert.runs.run import Run, check_usable, find_run, find_runs
from featbert.tasks.base import get_task
from tests.analysis.evaluation_records import evaluate
from tests.analysis.records import compare, make_record
from tests.experiments.experiment_files import SMALL
from tests.failing import failing
from tests.report.html.judged import usual
from tests.workspace import command as featbert
from tests.workspace import error_of, ok


def answered(folder: Path, name: str, seed: int, task_name: str, wrong: float, **changes) -> Run:
    """A finished run of a task of texts or labels, whose answers are wrong with a probability."""
    task, draw = get_task(task_name), random.Random(f"{name} {seed}")
    classes = ["1.234567", "2.5", "4.0"] if task.name == "regression" else ["x", "y", "z"]
    sentences = [
        Sentence(("a", "b"), (classes[n % 3],) * (1 if task.of_texts else 2), texts=("a b",))
        for n in range(40)
    ]
    gold = [list(sentence.tags or ()) for sentence in sentences]
    predicted = [
        row if draw.random() > wrong else [draw.choice(classes)] * len(row) for row in gold
    ]
    path = folder / f"{name}-{seed}" / task.predictions_name("dev")
    path.parent.mkdir(parents=True)
    task.write_predictions(path, sentences, predicted)
    signature = {"entity_types": changes.pop("classes", [])}
    scores = {"dev": task.score(gold, predicted)}
    record = make_record(
        path.parent.name, seed=seed, task=task_name, signature=signature, scores=scores, **changes
    )
    return recorded(Run(path.parent, record))


def recorded(run: Run) -> Run:
    """The run with the hashes of its predictions; its record is written."""
    hashes = {split: file_hash(run.predictions_path(split)) for split in run.record.scores}
    run = Run(run.folder, dataclasses.replace(run.record, predictions=hashes))
    write_json(run.folder / "record.json", run.record)
    return run


def analysed(runs: Iterable[Run]) -> Comparison:
    runs = [*runs]
    facets = [name for name, facet in runs[0].task.facets.items() if not facet.needs_train]
    (comparison,) = compare(runs, stats=True, by=facets)
    return comparison


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for run in usual(tmp_path / "runs", signature={"entity_types": ["LOC", "ORG", "PER"]}):
        recorded(run)
    return tmp_path / "runs"


@pytest.mark.parametrize(
    "task",
    ["entities", "labels", "classification:macro_f1", "classification:matthews", "regression"],
)
def test_tests_intervals_and_breakdowns_are_computed_from_counts(tmp_path, task: str) -> None:
    folder, file = tmp_path / "runs", tmp_path / "all.jsonl.xz"
    if task == "entities":
        for run in usual(folder):
            recorded(run)
    for seed in (1, 2, 3) if task != "entities" else ():
        answered(folder, "tuned", seed, task, 0.4, layers=None, classes=["x", "y"])
        answered(folder, "last", seed, task, 0.2, layers="last", classes=["x", "y", "z"])
    assert pack_runs(folder, file) == len(find_runs(folder))
    ours, theirs = analysed(find_runs(folder)), analysed(find_runs(file))
    assert theirs.differences == ours.differences != ()
    assert theirs.breakdowns == ours.breakdowns != ()
    assert theirs.notes == ours.notes
    assert [run.name for run in find_runs(file)] == [run.name for run in find_runs(folder)]
    expected = run_estimate(find_runs(folder).runs[0], "dev")
    assert run_estimate(find_runs(file).runs[0], "dev") == expected
    before = file.read_bytes()
    pack_runs(file, again := tmp_path / "again.jsonl.xz")
    pack_runs(folder, file)
    assert before == again.read_bytes() == file.read_bytes()


def experiment(folder: Path, rows: list[str], tried: list[str], failures=None) -> None:
    tries = [TriedSettings({}, tried, None, None, "failed", None, None)]
    search = SearchRecord("none", "last", "wikigold", "", "grid", tries, None, rows)
    record = ExperimentRecord(
        "trial", "", [], rows, [], [], [], False, {}, [search], failures or {}
    )
    write_json(folder / "trial.experiment.json", record)


def test_an_experiment_has_its_rows_what_was_tried_and_what_these_name(runs, tmp_path) -> None:
    based = find_run("last-1", runs)
    record = dataclasses.replace(based.record, epochs_from="tuned-1")
    signature = dataclasses.replace(record.signature, source="/home/me/wikigold")
    moved = dataclasses.replace(record, signature=signature, model_source="/home/me/model")
    write_json(based.folder / "record.json", moved)
    experiment(
        runs, ["last-1"], ["last-2", "never finished"], {"never finished": "/home/me is full"}
    )
    evaluate(find_run("last-2", runs), "de", source="/home/me/de")
    file = tmp_path / "trial.jsonl.xz"
    assert pack_runs(runs, file, "trial") == 3
    assert [run.name for run in find_runs(file)] == ["last-1", "last-2", "tuned-1"]
    packed = find_run("last-1", file)
    for work, missing in (
        (lambda: packed.predictions("dev"), r"dev\.conll"),
        (lambda: packed.counts("dev", ["PER", "MISC"]), "MISC"),
        (lambda: packed.counts("dev", facets=["type", "seen"]), "seen"),
        (lambda: check_usable(packed), "weights"),
    ):
        with pytest.raises(MissingError, match=missing):
            work()
    kept = find_run("last-1", file).record
    assert (kept.signature.source, kept.model_source) == ("wikigold", "all-MiniLM-L6-v2")
    assert [*read_experiment_record(file, "trial").failures] == ["never finished"]
    assert not [name for name in names_in(file) if "/home/me" in read_text(file / name)]
    assert len(transfer_matrices(find_runs(file))) == 1
    pack_runs(runs, text := tmp_path / "text.jsonl.xz", "trial", with_text=True)
    ours, theirs = (find_run("last-2", place).predictions("dev") for place in (runs, text))
    assert ours == theirs
    experiment(runs, ["last-1", "gone"], [])
    with pytest.raises(MissingError, match="gone"):
        pack_runs(runs, file, "trial")


def score_elsewhere(runs_dir: Path) -> None:
    """Each run is scored on another corpus, with the predictions of its own test part."""
    for run in find_runs(runs_dir):
        predictions = run.predictions_path("test")
        path = evaluate(run, "de", predictions=file_hash(predictions))
        shutil.copyfile(predictions, path.with_suffix(".conll"))


def test_evaluations_on_other_data_have_counts(runs, tmp_path) -> None:
    score_elsewhere(runs)
    pack_runs(runs, file := tmp_path / "all.jsonl.xz")
    both = [runs_elsewhere(find_runs(place), "wikiann-de") for place in (runs, file)]
    ours, theirs = map(analysed, both)
    assert theirs.differences == ours.differences != ()


def test_tests_outlive_their_predictions_and_are_marked(runs, tmp_path, caplog) -> None:
    tested = analysed(find_runs(runs))
    assert len([*(runs / TESTS).iterdir()]) == 10  # three rows and two pairs on two splits
    (runs / TESTS / "damaged.json").write_text("{")
    for run in find_runs(runs):
        run.predictions_path("dev").unlink()
    pack_runs(runs, file := tmp_path / "all.jsonl.xz")
    assert len(caplog.messages) == 2  # the training text is gone too
    kept = analysed(find_runs(file))
    assert kept.differences == tested.differences
    assert kept.rows[0].estimates == tested.rows[0].estimates
    assert len(kept.test_notes) == len(tested.test_notes) + 1


def test_unpacked_runs_give_the_same_results_and_are_removed_like_others(runs, tmp_path) -> None:
    score_elsewhere(runs)
    pack_runs(runs, file := tmp_path / "all.jsonl.xz")
    shutil.copytree(runs / "last-1", (folder := tmp_path / "unpacked") / "last-1")
    (unfinished := folder / "last-2" / "history.jsonl").parent.mkdir()
    unfinished.touch()
    with owning(unfinished.parent), pytest.raises(BusyError):  # as while it trains
        unpack_runs(file, folder)
    (others := unfinished.with_name("thesis.txt")).touch()
    with pytest.raises(InputError, match=others.name):
        unpack_runs(file, folder)
    others.unlink()
    n_before = len(find_runs(folder))
    n_copied, n_kept = unpack_runs(file, folder)
    assert (n_copied, n_kept) == (len(find_runs(runs)) - n_before, n_before)
    assert not unfinished.exists()
    assert (folder / "last-1/dev.conll").exists()  # a run that was there is left as it is
    assert analysed(find_runs(folder)).differences == analysed(find_runs(runs)).differences
    pack_runs(folder, again := tmp_path / "again.jsonl.xz")
    assert again.read_bytes() == file.read_bytes()
    pack_runs(folder, again, with_text=True)  # as far as there are predictions
    with_text = {name.partition("/")[0] for name in names_in(again) if name.endswith("dev.conll")}
    assert with_text == {"last-1"}
    ok(featbert("runs", "rm", "last-2", "--yes", "--runs-dir", folder))
    assert ok(featbert("runs", "unpack", file, "--runs-dir", folder)).exit_code == 0
    assert len(find_runs(folder)) == len(find_runs(runs))


def test_an_interrupted_unpacking_leaves_nothing_and_kept_tests_are_merged(runs, tmp_path) -> None:
    analysed(find_runs(runs))
    for run in find_runs(runs):
        run.predictions_path("dev").unlink()
    pack_runs(runs, file := tmp_path / "all.jsonl.xz")
    folder = tmp_path / "unpacked"
    with failing(pack, "write_text", at=4), pytest.raises(KeyboardInterrupt):
        unpack_runs(file, folder)
    assert not [*folder.iterdir()]
    (folder / TESTS).mkdir()
    unpack_runs(file, folder)
    kept_tests = [{p.name for p in listed_in(place / TESTS)} for place in (folder, file)]
    assert kept_tests[0] == kept_tests[1] != set()
    assert analysed(find_runs(folder)).differences == analysed(find_runs(file)).differences


def test_the_record_of_an_experiment_that_was_begun_is_continued_by_a_packed_one(
    runs, tmp_path, caplog
) -> None:
    """Its trials are no rows. A record with further runs is kept, with a notice."""
    caplog.set_level("INFO")
    experiment(runs, ["last-1"], ["last-1", "last-2"])
    pack_runs(runs, file := tmp_path / "trial.jsonl.xz", "trial")
    packed = read_experiment_record(runs, "trial")
    begun = dataclasses.replace(packed, rows=["last-1"], missing=["last-2"], searches=[])
    for rows, searches, n_notices in (
        (begun.rows, packed.searches, 0),
        ([*begun.rows, "last-9"], [], 1),
    ):
        folder = tmp_path / f"unpacked-{len(rows)}"
        shutil.copytree(runs / "last-1", folder / "last-1")
        shutil.copytree(runs / "last-1", folder / "last-9")
        write_json(folder / "trial.experiment.json", dataclasses.replace(begun, rows=rows))
        caplog.clear()
        unpack_runs(file, folder)
        assert json.loads((folder / "trial.experiment.json").read_text("utf-8"))["searches"] == [
            dataclasses.asdict(search) for search in searches
        ]
        notices = [line for line in caplog.messages if "trial.experiment.json" in line]
        assert len(notices) == n_notices


def test_an_experiment_goes_on_from_unpacked_runs(lab, tmp_path) -> None:
    settings = {"features": SMALL, "seeds": [1]}
    (first,) = lab.carry_out(**settings).runs
    pack_runs(lab.space.runs, file := tmp_path / "one.jsonl.xz", "trial")
    lab.space.runs.rename(tmp_path / "elsewhere")
    unpack_runs(file, lab.space.runs)
    runs = lab.carry_out(**settings | {"seeds": [1, 2]}).runs
    assert [run.record.seed for run in runs] == [1, 2]
    assert runs[0].record.cost == first.record.cost


@pytest.mark.parametrize("name", ["../stolen/record.json", "/tmp/x.json", "a//b", r"..\\x.json"])
def test_a_results_file_names_no_files_elsewhere(name: str, tmp_path) -> None:
    write_results(file := tmp_path / "foreign.jsonl.xz", {name: {}})
    with pytest.raises(InputError, match="foreign"):
        unpack_runs(file, tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_joined_results_files_are_refused_and_not_read_in_part(runs, tmp_path) -> None:
    pack_runs(runs, file := tmp_path / "trial.jsonl.xz")
    (joined := tmp_path / "joined.jsonl.xz").write_bytes(2 * file.read_bytes())
    assert "joined" in error_of(featbert("compare", joined))
    with pytest.raises(InputError, match="joined"):
        unpack_runs(joined, tmp_path / "unpacked")


def test_results_files_are_compared_as_one(runs, tmp_path, caplog) -> None:
    files = [tmp_path / f"{n}.jsonl.xz" for n in (1, 2)]
    for seed, file in enumerate(files, 1):
        experiment(runs, [f"last-{seed}", f"tuned-{seed}"], [])
        pack_runs(runs, file, "trial")
    (together,) = featbert_compare(files, stats=True)
    (whole,) = featbert_compare(
        [f"{way}-{seed}" for way in ("last", "tuned") for seed in (1, 2)], runs_dir=runs, stats=True
    )
    assert {row.seeds for row in together.rows} == {(1, 2)}
    assert together.rows == whole.rows
    (runs / "last-2" / "record.json").write_text("{", "utf-8")
    (note,) = (text for text in featbert_compare([files[0], runs]).notes if "last-2" in text)
    assert note in featbert_compare(runs_dir=runs).notes
    pack_runs(runs, tmp_path / "rest.jsonl.xz")
    assert note in caplog.text


def test_the_commands_read_a_results_file(runs, tmp_path) -> None:
    experiment(runs, ["last-1", "tuned-1"], [])
    file = tmp_path / "trial.jsonl.xz"
    ok(featbert("runs", "pack", "trial", "-o", file, "--runs-dir", runs))
    asked = ("compare", "--experiment", "trial", "--stats", "--format", "csv", "--runs-dir")
    assert ok(featbert(*asked, file)).stdout == ok(featbert(*asked, runs)).stdout
    # A results file or a folder of runs is named as a run is
    for place in (file, runs):
        every = ok(featbert("compare", "--format", "csv", "--runs-dir", place)).stdout
        assert ok(featbert("compare", place, "--format", "csv")).stdout == every
        assert "last-1" in error_of(featbert("export", place, tmp_path / "out"))
    assert "results files" in error_of(featbert("compare", "--from", file))
    assert "m.txt" in error_of(featbert("runs", "pack", "-o", tmp_path / "m.txt"))
    listed = ok(featbert("runs", "--runs-dir", file, "--format", "json")).stdout
    assert {line["run"] for line in json.loads(listed)} == {"last-1", "tuned-1"}
    assert "last-1" in ok(featbert("runs", "show", "last-1", "--runs-dir", file)).stdout
    assert "last-1" in ok(featbert("runs", "show", file / "last-1")).stdout
    assert "last-2" in error_of(featbert("runs", "show", "last-2", "--runs-dir", file))
    for words in (("rm", "last-1", "--yes"), ("tag", "last-1", "x"), ("note", "last-1", "x")):
        assert file.name in error_of(featbert("runs", *words, "--runs-dir", file))
    (tmp_path / "none").mkdir()
    assert "none" in error_of(featbert("runs", "pack", "-o", file, "--runs-dir", tmp_path / "none"))
    file.write_bytes(file.read_bytes()[:-9])
    assert file.name in error_of(featbert(*asked, file))

"""Run folders from anywhere: a record is read, and no path in it leads out of its folder."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from featbert import FeatbertError
from featbert.inference.evaluate import evaluation_path
from featbert.runs.record import (
    RECORD_NAME,
    ExperimentRecord,
    SplitIdentity,
    experiment_path,
    write_json,
)
from tests.analysis.records import rewrite
from tests.corpora import texts
from tests.workspace import error_of, ok


def test_predictions_of_a_split_that_is_a_path_are_not_read(runs, features_run):
    secret = runs.folder / "secret"
    secret.with_suffix(".conll").write_text("a O O\n", "utf-8")
    for split in ("../../secret", str(secret), "..", "", "dev\0", "dev/../dev"):
        with pytest.raises(FeatbertError):
            features_run.predictions(split)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"signature__encoder_weights": "", "model_source": "SWAP"}, "weights"),
        ({"model_source": "SWAP"}, "weights"),
        ({"model_source": "../../nowhere"}, "--model"),
        ({"signature__training_precision": "x\x1b[31m"}, "precision"),
        ({"signature__context": "../.."}, "context"),
        ({"settings": {"lstm_size": 10**12}}, ""),
        ({"weights": "0" * 64}, "weights"),
        ({"targets": {"classes": []}}, "classes"),
    ],
)
def test_a_record_that_does_not_fit_its_run_is_not_used(
    runs, features_run, changes, named, encoder_folder
):
    """Its checksum fits: it was made so."""

    def change(data: dict[str, Any]) -> None:
        for key, value in changes.items():
            table, _, name = key.rpartition("__")
            other = str(encoder_folder("roberta")) if value == "SWAP" else value
            (data[table] if table else data)[name] = other

    words = ("predict", features_run.folder, runs.corpus / "dev.conll", "--runs-dir", runs.runs)
    ok(runs.call(*words))
    rewrite(features_run.folder / RECORD_NAME, change)
    line = error_of(runs.call(*words))
    assert named in line
    assert line[:-1].isprintable()


def test_rows_of_an_experiment_that_are_paths_are_not_followed(runs, features_run):
    shutil.copytree(features_run.folder, runs.folder / "elsewhere")
    record: dict[str, Any] = {
        **dict.fromkeys(("name", "description"), "trial"),
        **{name: [] for name in ("vary", "missing", "published", "show", "searches")},
        **{name: {} for name in ("labels", "failures")},
        "transfer": False,
    }
    for row in ("../elsewhere", "/etc", "..", "", "a/../../b", "a\\b", "a\0"):
        write_json(experiment_path(runs.runs, "trial"), ExperimentRecord(**record, rows=[row]))
        assert repr(row) in error_of(runs.compare("--experiment", "trial"))


def test_nothing_outside_of_the_runs_directory_is_removed(runs, features_run, monkeypatch):
    monkeypatch.chdir(runs.folder)
    run = features_run
    outside = runs.folder / "outside"
    shutil.copytree(run.folder, outside)
    (runs.runs / "linked").symlink_to(outside)
    (runs.runs / "up").symlink_to(runs.folder)
    nested = run.folder / "nested"
    shutil.copytree(outside, nested)
    before = sorted(runs.folder.rglob("*"))
    names = ("../outside", outside, "outside", "linked", "up/outside", nested, f"{run.name}/nested")
    for name in (*names, "..", ".", "/", ""):
        error_of(runs.call("runs", "rm", name, "--yes", "--runs-dir", runs.runs))
        assert sorted(runs.folder.rglob("*")) == before


@settings(max_examples=30)
@given(name=texts)
def test_no_name_leads_out_of_its_folder(name):
    runs, identity = Path("runs"), SplitIdentity("a" * 64, "b" * 64, 1, 1)
    for hostile in (name, f"../{name}", f"/{name}", f"..\\{name}/..", f"\0{name}", f".{name}"):
        experiment = experiment_path(runs, hostile)
        evaluation = evaluation_path(runs / "run", hostile, "test", identity, {hostile: hostile})
        assert experiment.parent == runs
        assert evaluation.parent == runs / "run" / "evaluations"
        for made in (experiment.name, evaluation.name):
            assert made.isprintable()
            assert len(made.encode()) < 255


def test_an_experiment_with_a_hostile_name_writes_only_to_cache_and_runs(workspace):
    name = json.dumps("../../x\x1b[31m")
    file = workspace.experiment(
        f'name = {name}\n[features]\nlayers = ["last"]\nepochs = 1\nlstm_size = 4\n'
    )
    before = set(workspace.folder.rglob("*"))
    result = ok(workspace.carry_out(file, "--quiet"))
    assert (result.stderr, "\x1b" in result.stdout) == ("", False)
    assert result.stdout
    for path in set(workspace.folder.rglob("*")) - before:
        assert path.relative_to(workspace.folder).parts[0] in ("cache", "runs")
        assert path.name.isprintable()

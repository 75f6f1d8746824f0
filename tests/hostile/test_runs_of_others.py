"""Run folders from anywhere: a record is read, and no path in it leads out of its folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from featbert.errors import FeatbertError
from featbert.runs.evaluations import evaluation_path
from featbert.runs.experiment_record import (
    ExperimentRecord,
    experiment_path,
    write_experiment,
)
from featbert.runs.record import RECORD_NAME, SplitIdentity
from featbert.runs.run import Run, find_runs
from tests.hostile.budget import inputs
from tests.hostile.strategies import texts
from tests.kept_records import rewrite
from tests.workspace import Workspace, error_of


@pytest.fixture
def runs(finished: Workspace, tmp_path: Path) -> Workspace:
    """A copy of the finished runs to change."""
    shutil.copytree(finished.runs, tmp_path / "runs")
    return Workspace(tmp_path, finished.corpus, finished.model)


def change(folder: Path, **changes: Any) -> None:
    """Writes other values into a record, with a checksum that fits."""

    def apply(data: dict[str, Any]) -> None:
        for key, value in changes.items():
            table, _, name = key.rpartition("__")
            (data[table] if table else data)[name] = value

    rewrite(folder / RECORD_NAME, apply)


def features_run(runs: Workspace) -> Run:
    return next(run for run in find_runs(runs.runs) if run.record.layers == "last")


def predict(runs: Workspace, run: Run) -> Any:
    text = runs.folder / "words.txt"
    text.write_text("Smith said so\n", "utf-8")
    return runs.call("predict", run.folder, text, "--runs-dir", runs.runs)


def test_predictions_of_a_split_that_is_a_path_are_not_read(runs: Workspace) -> None:
    run = features_run(runs)
    secret = runs.folder / "secret.conll"
    secret.write_text("a O O\n", "utf-8")
    for split in ("../../secret", str(secret.with_suffix("")), "..", "", "dev\0", "dev/../dev"):
        with pytest.raises(FeatbertError):
            run.predictions(split)


def test_scores_of_a_split_that_is_a_path_lead_nowhere(runs: Workspace) -> None:
    run = features_run(runs)
    data = json.loads((run.folder / RECORD_NAME).read_text("utf-8"))
    for table in (data["scores"], data["signature"]["splits"]):
        table["../../secret"] = table["dev"]
    change(run.folder, scores=data["scores"], signature__splits=data["signature"]["splits"])
    for command in (("runs", "show", run.name), ("compare", "--by", "type"), ("runs",)):
        result = runs.call(*command, "--runs-dir", runs.runs)
        assert result.exit_code in (0, 1)
        assert "Traceback" not in result.stderr
        assert result.stderr.count("\n") <= 3


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"signature__encoder_weights": "", "model_source": "SWAP"}, "weights"),
        ({"model_source": "SWAP"}, "weights"),
        ({"model_source": "../../nowhere"}, "--model"),
        ({"signature__store_dtype": "load"}, "store_dtype"),
        ({"signature__encoder_precision": "__class__"}, "encoder_precision"),
        ({"signature__training_precision": "x\x1b[31m"}, "training_precision"),
        ({"signature__context": "../.."}, "context"),
        ({"signature__pooling": "all"}, "pooling"),
        ({"signature__casing": "shouted"}, "casing"),
        ({"signature__tag_scheme": "x"}, "tag_scheme"),
        ({"signature__encoder_layers": 10**12}, "encoder_layers"),
        ({"reading": {"encoding": ["utf-8"]}}, "reading.encoding"),
        ({"settings": {"lstm_size": "wide"}}, "settings"),
        ({"settings": {"lstm_size": 10**12}}, ""),
        ({"weights": "0" * 64}, "weights"),
        ({"labels": []}, "labels"),
        ({"layer_indices": [0]}, "layers"),
    ],
)
def test_a_record_that_lies_is_not_used(
    runs: Workspace, changes: dict[str, Any], told: str, tmp_path: Path, encoder_folder: Any
) -> None:
    run = features_run(runs)
    swap = {k: str(encoder_folder("roberta")) if v == "SWAP" else v for k, v in changes.items()}
    change(run.folder, **swap)
    line = error_of(predict(runs, run))
    assert told in line
    assert all(c.isprintable() for c in line[:-1])


def test_an_unchanged_run_can_be_used(runs: Workspace) -> None:
    assert predict(runs, features_run(runs)).exit_code == 0


@pytest.mark.parametrize("row", ["../elsewhere", "/etc", "..", "", "a/../../b", "a\\b", "a\0"])
def test_rows_of_an_experiment_that_are_paths_are_not_followed(runs: Workspace, row: str) -> None:
    run = features_run(runs)
    shutil.copytree(run.folder, runs.folder / "elsewhere")
    record = {
        **dict.fromkeys(("name", "description"), "trial"),
        **{name: [] for name in ("vary", "missing", "published", "show", "searches")},
        "rows": [row],
        "transfer": False,
        "labels": {},
        "failures": {},
    }
    write_experiment(runs.runs, ExperimentRecord(**record))
    assert repr(row) in error_of(runs.compare("--experiment", "trial"))


class TestRemoving:
    def remove(self, runs: Workspace, name: object) -> Any:
        return runs.call("runs", "rm", name, "--yes", "--runs-dir", runs.runs)

    def test_nothing_outside_of_the_runs_directory_is_removed(
        self, runs: Workspace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(runs.folder)
        outside = runs.folder / "outside"
        shutil.copytree(features_run(runs).folder, outside)
        (runs.runs / "linked").symlink_to(outside)
        (runs.runs / "up").symlink_to(runs.folder)
        (runs.folder / "outside-by-link").symlink_to(features_run(runs).folder)
        nested = features_run(runs).folder / "nested"
        shutil.copytree(outside, nested)
        encoder = runs.runs.parent / "encoder"
        shutil.copytree(runs.model, encoder)
        before = sorted(runs.folder.rglob("*"))
        for name in (
            "../outside",
            outside,
            "outside",
            "linked",
            "up/outside",
            "outside-by-link",
            nested,
            f"{features_run(runs).name}/nested",
            "../encoder",
            encoder,
            "..",
            ".",
            "/",
            "",
        ):
            error_of(self.remove(runs, name))
            assert sorted(runs.folder.rglob("*")) == before

    def test_links_within_a_run_are_removed_and_what_they_lead_to_stays(
        self, runs: Workspace
    ) -> None:
        keep = runs.folder / "keep"
        keep.mkdir()
        (keep / "thesis.tex").write_text("years of work", "utf-8")
        run = features_run(runs)
        (run.folder / "folder").symlink_to(keep)
        (run.folder / "file").symlink_to(keep / "thesis.tex")
        (run.folder / "circle").symlink_to(run.folder)
        assert self.remove(runs, run.name).exit_code == 0
        assert not run.folder.exists()
        assert (keep / "thesis.tex").read_text("utf-8") == "years of work"

    def test_a_run_is_removed_by_its_path_too(self, runs: Workspace) -> None:
        folder = features_run(runs).folder
        assert self.remove(runs, folder).exit_code == 0
        assert not folder.exists()


IDENTITY = SplitIdentity("a" * 64, "b" * 64, 1, 1)


@inputs(200)
@given(name=texts)
def test_no_name_leads_out_of_its_folder(name: str) -> None:
    runs = Path("runs")
    for hostile in (name, f"../{name}", f"/{name}", f"..\\{name}/..", f"\0{name}", f".{name}"):
        assert experiment_path(runs, hostile).parent == runs
        path = evaluation_path(runs / "run", hostile, "test", IDENTITY, {hostile: hostile})
        assert path.parent == runs / "run" / "evaluations"
        for made in (path.name, experiment_path(runs, hostile).name):
            assert made.isprintable()
            assert len(made.encode()) < 255


def test_a_store_of_an_experiment_with_a_hostile_name_lies_in_the_cache(
    workspace: Workspace,
) -> None:
    name = "../../x\x1b[31m"
    text = f"""name = {json.dumps(name)}
data = {json.dumps(str(workspace.corpus))}
model = {json.dumps(str(workspace.model))}
[features]
layers = ["last"]
epochs = 1
lstm_size = 4
"""
    file = workspace.folder / "trial.toml"
    file.write_text(text, "utf-8")
    before = set(workspace.folder.rglob("*"))
    where = ("--cache-dir", workspace.cache, "--runs-dir", workspace.runs)
    result = workspace.call("run", file, *where, "--quiet")
    assert result.exit_code == 0, result.stderr
    assert "\x1b" not in result.stdout + result.stderr
    made = set(workspace.folder.rglob("*")) - before
    for path in made:
        top = path.relative_to(workspace.folder).parts[0]
        assert top in ("cache", "runs")
        assert path.name.isprintable()

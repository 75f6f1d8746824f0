"""featbert adapt end to end on a tiny encoder: what it prints, writes and refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import Result

from featbert.features.store import FeatureStore
from featbert.runs.run import find_runs
from tests.processes import fresh_command
from tests.workspace import Workspace, error_of

NUMBER = r"\d+\.\d{4}"


def adapt(space: Workspace, *words: object) -> Result:
    where = ("--models-dir", space.folder / "models", "--device", "cpu", "--precision", "fp32")
    return space.call("adapt", "--model", space.model, "--data", space.corpus, *where, *words)


def written(space: Workspace) -> list[Path]:
    folder = space.folder / "models"
    return sorted(folder.iterdir()) if folder.exists() else []


def without_documents(space: Workspace) -> None:
    for path in space.corpus.iterdir():
        path.write_text(path.read_text("utf-8").replace("-DOCSTART- O\n\n", ""), "utf-8")


def test_losses_and_perplexity_by_epoch_then_the_folder(workspace: Workspace) -> None:
    result = adapt(workspace, "--epochs", 2)
    assert result.exit_code == 0, result.output
    before, first, second, fresh, unusual, folder = result.stdout.splitlines()
    dev = rf"dev MLM {NUMBER} NSP {NUMBER}  perplexity \d+\.\d\d"
    assert re.fullmatch(rf"epoch 0  {dev}", before)
    assert re.fullmatch(rf"epoch 1  train MLM {NUMBER} NSP {NUMBER}  {dev}", first)
    assert re.fullmatch(rf"epoch 2  train MLM {NUMBER} NSP {NUMBER}  {dev}", second)
    assert "cls.seq_relationship" in fresh
    assert re.search(r"\d+ unknown words", unusual)
    (model,) = written(workspace)
    assert folder.startswith(f"{model}: ")
    assert f"featbert finetune --model {model} --data {workspace.corpus}" in result.stderr
    record = json.loads((model / "adaptation.json").read_text("utf-8"))
    assert f"MLM {record['history'][2]['train_mlm']:.4f}" in second
    assert f"perplexity {record['history'][2]['dev_perplexity']:.2f}" in second


def test_extract_and_finetune_take_the_folder(workspace: Workspace) -> None:
    assert adapt(workspace, "--epochs", 1, "--quiet").exit_code == 0
    (model,) = written(workspace)
    space = Workspace(workspace.folder, workspace.corpus, model)
    assert space.extract().exit_code == 0
    assert workspace.extract().exit_code == 0
    adapted, base = (
        FeatureStore(next(workspace.cache.glob(f"tiny--{name}--????????.h5")))
        for name in (model.name, "tiny-bert")
    )
    assert adapted.manifest.hidden_size == base.manifest.hidden_size
    assert (adapted.read("dev", "last") != base.read("dev", "last")).any()
    assert space.finetune().exit_code == 0
    (run,) = find_runs(workspace.runs)
    assert run.record.signature.model == model.name


def test_the_same_again_shows_it_and_tags_play_no_part(workspace: Workspace) -> None:
    first = adapt(workspace, "--epochs", 1)
    (model,) = written(workspace)
    times = {p.name: p.stat().st_mtime_ns for p in model.iterdir()}
    for path in workspace.corpus.iterdir():
        lines = [line.split(" ")[0] for line in path.read_text("utf-8").split("\n")]
        path.write_text("\n".join(lines), "utf-8")
    again = adapt(workspace, "--epochs", 1)
    assert again.stdout.splitlines()[:-1] == first.stdout.splitlines()[:-1]
    assert {p.name: p.stat().st_mtime_ns for p in model.iterdir()} == times
    assert adapt(workspace, "--epochs", 1, "--overwrite").stdout == first.stdout
    assert (model / "model.safetensors").stat().st_mtime_ns != times["model.safetensors"]
    assert written(workspace) == [model]


def test_an_adapted_encoder_is_adapted_further(workspace: Workspace) -> None:
    out = workspace.folder / "first one"
    first = adapt(workspace, "--epochs", 1, "--out", out)
    assert f"--model '{out}' --data" in first.stderr  # quoted, for a shell
    words = ("--model", out, "--whole-word", "--share", 0.3, "--quiet")
    result = adapt(workspace, "--epochs", 1, *words)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "cls" not in result.stdout  # nothing is at random values


def test_without_documents_masked_words_alone(workspace: Workspace) -> None:
    without_documents(workspace)
    result = adapt(workspace, "--epochs", 1)
    assert result.exit_code == 0, result.output
    assert "NSP" not in result.stdout
    assert re.search(rf"epoch 1  train MLM {NUMBER}  dev MLM {NUMBER}  perplexity", result.stdout)
    assert error_of(adapt(workspace, "--epochs", 1, "--nsp", "on"))


REFUSED = {
    "shares": ("--mask-share", "0.8", "--random-share", "0.3"),
    "share": ("--share", "1.5"),
    "rate": ("--learning-rate", "-1"),
    "corpus": ("--data", "{folder}/nowhere"),
    "model": ("--model", "{folder}/nowhere"),
    "next sentence": ("--nsp", "on"),
    "folder": ("--out", "{folder}/tiny/train.conll"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_mistake_is_told_in_one_line_without_torch(name: str, workspace: Workspace) -> None:
    without_documents(workspace)
    words = [w.format(folder=workspace.folder) for w in REFUSED[name]]
    given = ("--model", workspace.model, "--data", workspace.corpus)
    ended = fresh_command("adapt", *given, *words, cwd=workspace.folder)
    assert error_of(ended)
    assert (ended.stdout, ended.light) == ("", True)
    assert not (workspace.folder / "cache").exists()

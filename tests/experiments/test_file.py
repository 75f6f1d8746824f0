"""Experiment files: read, checked, changed; every mistake is told at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from featbert.errors import MissingError
from featbert.experiments.file import ExperimentError, read_experiment
from featbert.training.settings import DEFAULTS

ROOT = Path(__file__).parents[2]


def write(folder: Path, text: str) -> Path:
    path = folder / "trial.toml"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    "path", sorted((ROOT / "experiments").glob("*.toml")), ids=lambda p: p.name
)
def test_every_shipped_file_reads(path: Path) -> None:
    experiment = read_experiment(path)
    assert experiment.name == path.stem
    assert experiment.description


def test_defaults(tmp_path: Path) -> None:
    experiment = read_experiment(write(tmp_path, "[finetune]\n"))
    assert experiment.name == "trial"
    assert experiment.data == "sample"
    assert experiment.settings("finetune") == DEFAULTS["finetune"]
    assert experiment.features is None


def test_settings_are_the_files(tmp_path: Path) -> None:
    text = '[features]\nlayers = ["first", "layer:2"]\nepochs = 3\nlearning_rate = 0.01\n'
    experiment = read_experiment(write(tmp_path, text))
    assert experiment.features is not None
    assert experiment.features.layers == ["embeddings", "layer:2"]
    settings = experiment.settings("features")
    assert (settings.epochs, settings.learning_rate) == (3, 0.01)
    assert settings.batch_size == DEFAULTS["features"].batch_size


def test_set_overrides_one_key(tmp_path: Path) -> None:
    path = write(tmp_path, "seeds = [1]\n[features]\nepochs = 3\n")
    changes = ["seeds=[4,5]", "features.epochs=7", "data=some/folder", "finetune.epochs=2"]
    experiment = read_experiment(path, changes)
    assert experiment.seeds == [4, 5]
    assert experiment.settings("features").epochs == 7
    assert experiment.data == "some/folder"
    assert experiment.settings("finetune").epochs == 2


def test_all_mistakes_are_told_together(tmp_path: Path) -> None:
    text = (
        'modell = "x"\nseeds = [1, 1]\ncontext = "page"\n'
        '[features]\nlayers = ["lastt"]\nepoch = 3\nlearning_rate = "fast"\n'
    )
    with pytest.raises(ExperimentError) as caught:
        read_experiment(write(tmp_path, text))
    message = str(caught.value)
    assert message.startswith("6 mistakes in ")
    assert "'modell' (did you mean 'model'?)" in message
    assert "'features.epoch' (did you mean 'epochs'?)" in message
    assert "did you mean 'last'?" in message
    for place in ("seeds: ", "context: ", "features.learning_rate: "):
        assert place in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "[features] or [finetune]"),
        ("[features]\nepochs = 0\n", "epochs of at least 1"),
        ("[features\n", "TOML expected"),
        ('vary = ["colour"]\n[finetune]\n', "colour"),
        ("[features]\nlayers = []\n", "features.layers"),
        ('[features]\nlayers = ["first", "embeddings"]\n', "once expected"),
        ("[features]\nepochs = true\n", "features.epochs"),
    ],
)
def test_one_mistake(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ExperimentError, match=r"mistake|TOML") as caught:
        read_experiment(write(tmp_path, text))
    assert told in str(caught.value)


@pytest.mark.parametrize("change", ["seeds", "=3", "features..epochs=1", "seeds.a=1"])
def test_a_wrong_change(tmp_path: Path, change: str) -> None:
    with pytest.raises(ExperimentError):
        read_experiment(write(tmp_path, "seeds = [1]\n[features]\n"), [change])


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, "")
    with pytest.raises(MissingError, match=r"did you mean 'trial.toml'"):
        read_experiment(tmp_path / "tral.toml")
